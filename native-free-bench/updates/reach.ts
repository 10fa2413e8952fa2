/** How long a new mount entry takes to the first call that another router routes by it. */

import { setTimeout as sleep } from 'node:timers/promises';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { Administrator } from './administrator.ts';
import { entryAt, USER } from './mount-table.ts';
import { type Router, untilRouted } from './setup.ts';

/** Entries are added apart, and at no fixed beat: each is alone on its way. */
const LEAST_PAUSE_MS = 200;
const MORE_PAUSE_MS = 137;
const STEP_MS = 59;

export interface Reached {
  /** From the request to the answer of the router that was asked. */
  readonly answeredMs: number;
  /** From the request to the first call that the other router has routed. */
  readonly routedMs: number;
}

/** Adds so many entries through `one`, and removes them again. */
export async function measureReach(one: Router, other: Router, count: number): Promise<Reached[]> {
  using administrator = await Administrator.connect(one.adminPort);
  using client = await HdfsClient.connect({ host: '127.0.0.1', port: other.port, user: USER });
  const all: Reached[] = [];
  for (let i = 0; i < count; i++) {
    const sourcePath = `/added/${i}`;
    const begunMs = performance.now();
    const answered = administrator.add(entryAt(sourcePath, 0)).then(() => performance.now());
    const [answeredMs, routedMs] = await Promise.all([answered, untilRouted(client, `${sourcePath}/x`)]);
    all.push({ answeredMs: answeredMs - begunMs, routedMs: routedMs - begunMs });
    await sleep(LEAST_PAUSE_MS + ((i * STEP_MS) % MORE_PAUSE_MS));
  }
  for (let i = 0; i < count; i++) await administrator.remove(`/added/${i}`);
  return all;
}
