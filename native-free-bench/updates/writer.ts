/**
 * Changes mount entries at a fixed rate, one after the other over the whole table, in a process of its own:
 *
 *   writer.ts ZOOKEEPER ENTRIES RATE            into ZooKeeper, as another router does
 *   writer.ts ZOOKEEPER ENTRIES RATE ADMIN-PORT through a router's admin port
 *
 * It prints {"ready":true}, begins on the message `begin` and ends on `end`, which it answers with what it has made. An update is made when it
 * is due, whether those before were answered or not.
 */

import { driverFor } from '../harness/running-zookeeper.ts';
import { Administrator } from './administrator.ts';
import { entryAt, sourceOf, writeEntry } from './mount-table.ts';

export interface Written {
  readonly made: number;
  readonly failed: number;
  readonly firstError: string;
  /** Between `begin` and `end`. */
  readonly seconds: number;
}

const TICK_MS = 10;
/** Updates without an answer; what is due beyond has failed. */
const MAX_OPEN = 512;

const [, , zookeeper = '', entries = '', rate = '', adminPort = ''] = process.argv;
const update = adminPort === '' ? await overZooKeeper(zookeeper) : await overAdminPort(Number(adminPort));

let next = 0;
let made = 0;
let failed = 0;
let firstError = '';
let begunMs = 0;
let due = 0;
let timer: NodeJS.Timeout | undefined;
const open = new Set<Promise<void>>();

process.on('message', (message) => void onMessage(message));
process.on('disconnect', () => process.exit());
console.log(JSON.stringify({ ready: true }));

async function onMessage(message: unknown): Promise<void> {
  if (message === 'begin') {
    made = failed = due = 0;
    begunMs = performance.now();
    timer = setInterval(makeDue, TICK_MS);
    process.send?.(true);
  } else if (message === 'end') {
    clearInterval(timer);
    await Promise.all(open);
    const written: Written = { made, failed, firstError, seconds: (performance.now() - begunMs) / 1_000 };
    process.send?.(written);
  }
}

function makeDue(): void {
  const dueNow = Math.floor(((performance.now() - begunMs) / 1_000) * Number(rate));
  for (; due < dueNow; due++) {
    if (open.size >= MAX_OPEN) {
      failed++;
      continue;
    }
    const work = updateNext().finally(() => open.delete(work));
    open.add(work);
  }
}

async function updateNext(): Promise<void> {
  const index = next++;
  try {
    await update(sourceOf(index % Number(entries)), 1 + Math.floor(index / Number(entries)));
    made++;
  } catch (error) {
    failed++;
    firstError ||= error instanceof Error ? error.message : String(error);
  }
}

async function overZooKeeper(address: string): Promise<(sourcePath: string, revision: number) => Promise<void>> {
  const driver = driverFor(address);
  await driver.start();
  return (sourcePath, revision) => writeEntry(driver, entryAt(sourcePath, revision));
}

async function overAdminPort(port: number): Promise<(sourcePath: string, revision: number) => Promise<void>> {
  const administrator = await Administrator.connect(port);
  return (sourcePath, revision) => administrator.update(entryAt(sourcePath, revision));
}
