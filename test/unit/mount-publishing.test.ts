import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import type { MountEntry } from '../../src/mount/entry.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { SnapshotPool } from '../../src/mount/snapshot-pool.ts';
import { allocateEpochWords, announceEpoch } from '../../src/shared/epochs.ts';
import { mount } from './mount-samples.ts';

const SNAPSHOTS = 200;

/** Tables of different sizes, all of whose mounts name their epoch (see mount-reader-thread.ts). */
function tableOf(epoch: number): MountEntry[] {
  const entries: MountEntry[] = [];
  const size = 20 + ((epoch * 37) % 150);
  for (let i = 0; i < size; i++) entries.push(mount(`/m/${i}`, [`ns${epoch % 3}:/e${epoch}/${i}`]));
  return entries;
}

interface Report {
  lookups: number;
  epochs: number;
  mismatches: string[];
}

it('a thread that keeps looking up while 200 snapshots are published never sees half a table', async () => {
  const words = allocateEpochWords(1);
  const pool = new SnapshotPool(words);
  let thread: Worker | null = null;
  let wakePublisher = (): void => {};
  let lastMoved = 0;
  const publish = async (): Promise<void> => {
    let slot = pool.take();
    while (slot === null) {
      await new Promise<void>((resolve) => {
        wakePublisher = resolve;
      });
      slot = pool.take();
    }
    const buffer = buildSnapshot(tableOf(slot.epoch), ['ns0', 'ns1', 'ns2'], slot.epoch, slot.buffer);
    expect(pool.publish(slot, buffer)).toBe(true);
    thread?.postMessage({ buffer, epoch: slot.epoch });
  };

  await publish();
  const first = pool.current;
  announceEpoch(words, 0, first?.epoch ?? 0);
  thread = new Worker(new URL('./mount-reader-thread.ts', import.meta.url), {
    workerData: { words, thread: 0, first: first?.buffer },
  });
  const report = new Promise<Report>((resolve, reject) => {
    thread?.on('error', reject);
    thread?.on('message', (message: { moved: number } | Report) => {
      if ('lookups' in message) return resolve(message);
      lastMoved = message.moved;
      wakePublisher();
    });
  });
  const finished = once(thread, 'exit');
  const started = new Promise<void>((resolve) => {
    wakePublisher = resolve;
  });
  await Promise.race([started, report]);
  for (let published = 1; published < SNAPSHOTS; published++) await Promise.race([publish(), report]);
  thread.postMessage('stop');
  const { lookups, epochs, mismatches } = await report;
  await finished;
  expect(mismatches).toEqual([]);
  expect([epochs, lastMoved]).toEqual([SNAPSHOTS, SNAPSHOTS]);
  expect(lookups).toBeGreaterThan(SNAPSHOTS);
  expect(pool.buffers).toBeLessThanOrEqual(4);
}, 30_000);
