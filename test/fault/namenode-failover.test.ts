import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAILOVER_CASES, NAMED } from '../support/failover/cases.ts';
import { playRounds } from '../support/failover/rounds.ts';
import { Stage } from '../support/failover/stage.ts';

/** What clients feel when something happens to the active NameNode: how long they wait, and no error. `npm run bench:failover` measures it. */

const CLIENTS = 4;
/** Shorter than by default: silence, then a probe of at least a second. */
const HUNG_AFTER_MS = 500;
/** Far above what it takes (bench:failover), far below what waiting for a time-out of the client or for a second chance takes. */
const SERVED_WITHIN_MS = 8000;

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.start({
    nameservices: FAILOVER_CASES.map(({ id }) => id),
    named: NAMED,
    // What workers do not find out by themselves no heartbeat tells them meanwhile.
    set: [`switchyard.namenode.hung-after=${HUNG_AFTER_MS}ms`, 'dfs.federation.router.heartbeat.interval=3600000'],
  });
});

afterAll(async () => {
  await stage[Symbol.asyncDispose]();
});

describe.concurrent('clients go on without an error when', () => {
  it.each(FAILOVER_CASES)('$title', async (each) => {
    const { firstMs, allMs, errors, calls } = await playRounds(stage, each, 2, CLIENTS);
    expect(errors).toEqual([]);
    expect(calls).toBeGreaterThanOrEqual(2 * CLIENTS);
    for (const ms of [...firstMs, ...allMs]) expect(ms).toBeLessThan(SERVED_WITHIN_MS);
  });
});
