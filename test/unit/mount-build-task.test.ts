import { Piscina } from 'piscina';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BUILD_TASK_FILE, type BuildResult, type BuildTask } from '../../src/mount/build-task.ts';
import { MountSnapshot } from '../../src/mount/snapshot.ts';
import { lookUp, mount } from './mount-samples.ts';

let pool: Piscina<BuildTask, BuildResult>;
beforeAll(() => {
  pool = new Piscina({ filename: BUILD_TASK_FILE, minThreads: 1, maxThreads: 1 });
});
afterAll(() => pool.close());

it('builds in another thread, into the memory given when it fits', async () => {
  const entries = [mount('/a', ['ns0:/x'], { quota: { ...mount('/', []).quota, namespaceQuota: 5n } })];
  const first = await pool.run({ entries, nameservices: ['ns0'], epoch: 8, buffer: null });
  const snapshot = MountSnapshot.from(first.buffer);
  expect([first.epoch, first.mounts, snapshot.epoch]).toEqual([8, 1, 8]);
  expect(lookUp(snapshot, '/a/f').target).toBe('ns0:/x/f');
  expect(snapshot.entryOf(0)).toEqual(entries[0]);

  await pool.run({ entries: [mount('/b', ['ns1:/y'])], nameservices: ['ns0'], epoch: 9, buffer: first.buffer });
  const second = MountSnapshot.from(first.buffer);
  expect([second.epoch, lookUp(second, '/b').target]).toEqual([9, 'ns1:/y']);
});

it('rejects with the reason', async () => {
  const entries = [mount('/a', [])];
  await expect(pool.run({ entries, nameservices: [], epoch: 1, buffer: null })).rejects.toThrow(
    /mount '\/a' has no destination/,
  );
});
