import { Piscina } from 'piscina';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BUILD_TASK_FILE, type BuildResult, type BuildTask } from '../../src/mount/build-task.ts';
import { MountSnapshot } from '../../src/mount/snapshot.ts';
import { lookUp, mount } from './mount-samples.ts';

let pool: Piscina<BuildTask, BuildResult | null>;
beforeAll(() => {
  pool = new Piscina({ filename: BUILD_TASK_FILE, minThreads: 1, maxThreads: 1 });
});
afterAll(() => pool.close());

const ALL = { removed: [], base: null, nameservices: ['ns0'] };

async function build(task: BuildTask): Promise<BuildResult> {
  const result = await pool.run(task);
  if (result === null) throw new Error('it does not have the base');
  return result;
}

it('builds in another thread, into the memory given when it fits', async () => {
  const entries = [mount('/a', ['ns0:/x'], { quota: { ...mount('/', []).quota, namespaceQuota: 5n } })];
  const first = await build({ ...ALL, entries, epoch: 8, buffer: null });
  const snapshot = MountSnapshot.from(first.buffer);
  expect([first.epoch, first.mounts, snapshot.epoch]).toEqual([8, 1, 8]);
  expect(lookUp(snapshot, '/a/f').target).toBe('ns0:/x/f');
  expect(snapshot.entryOf(0)).toEqual(entries[0]);

  await build({ ...ALL, entries: [mount('/b', ['ns1:/y'])], epoch: 9, buffer: first.buffer });
  const second = MountSnapshot.from(first.buffer);
  expect([second.epoch, lookUp(second, '/b').target]).toEqual([9, 'ns1:/y']);
});

it('takes what has changed since the table that it built last, and nothing of another', async () => {
  const entries = ['/a', '/b', '/c'].map((path) => mount(path, ['ns0:/x']));
  await build({ ...ALL, entries, epoch: 20, buffer: null });
  const changes = { entries: [mount('/b', ['ns0:/changed']), mount('/d', ['ns0:/new'])], removed: ['/c'] };
  const { buffer } = await build({ ...ALL, ...changes, base: 20, epoch: 21, buffer: null });
  const snapshot = MountSnapshot.from(buffer);
  const targets = ['/a', '/b', '/c', '/d'].map((path) => lookUp(snapshot, path).target);
  expect(targets).toEqual(['ns0:/x', 'ns0:/changed', '', 'ns0:/new']);
  expect(await pool.run({ ...ALL, ...changes, base: 20, epoch: 22, buffer: null })).toBeNull();
});

it('rejects with the reason', async () => {
  const entries = [mount('/a', [])];
  await expect(pool.run({ ...ALL, entries, nameservices: [], epoch: 1, buffer: null })).rejects.toThrow(
    /mount '\/a' has no destination/,
  );
});
