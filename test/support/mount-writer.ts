/**
 * A process that changes mount entries in a ZooKeeper as a router does: `mount-writer.ts HOST:PORT PARENT-PATH NAME COUNT`. Says {"ready":true} to
 * its parent, does on each message what that names, and answers with a `Changed`.
 *
 *   distinct   adds COUNT entries that no other process adds
 *   common     adds COUNT entries that every process adds
 *   counter    adds 1 to the bytes of one entry, COUNT times
 */
import pino from 'pino';
import { Configuration } from '../../src/config/configuration.ts';
import { readStoreSettings } from '../../src/config/store-settings.ts';
import { MountRecords } from '../../src/control/store/mount-records.ts';
import { StateStore } from '../../src/control/store/state-store.ts';
import { OPEN_ACL } from '../../src/state-store/zookeeper/protocol.ts';
import { ZooKeeperDriver } from '../../src/state-store/zookeeper-driver.ts';
import { DEFAULTS, mount } from '../unit/mount-samples.ts';

export const COUNTER = '/counter';
export type Step = 'distinct' | 'common' | 'counter';

/** How many changes ended in which way; for `common` the paths of the entries that this process has added. */
export interface Changed {
  readonly kinds: Readonly<Record<string, number>>;
  readonly added: readonly string[];
}

const AT_ONCE = 16;

const [, , address = '', parentPath = '', name = '', count = ''] = process.argv;
const colon = address.lastIndexOf(':');
const driver = new ZooKeeperDriver({
  servers: [{ host: address.slice(0, colon), port: Number(address.slice(colon + 1)) }],
  chroot: '',
  parentPath,
  timeoutMs: 20_000,
  numRetries: 3,
  retryIntervalMs: 100,
  acl: OPEN_ACL,
  auth: [],
});
const store = new StateStore({
  driver,
  settings: readStoreSettings(new Configuration({ directory: null, overrides: [] })),
  defaults: DEFAULTS,
  routerId: `${name}:8888`,
  log: pino({ level: 'silent' }),
});
const mounts = new MountRecords(store);
await store.start();
process.on('message', (step) => void run(step as Step).then((changed) => process.send?.(changed)));
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });

async function run(step: Step): Promise<Changed> {
  const kinds: Record<string, number> = {};
  const added: string[] = [];
  let next = 0;
  const changeNext = async (): Promise<void> => {
    while (next < Number(count)) {
      const path = step === 'counter' ? COUNTER : `/${step === 'common' ? 'common' : name}/${next}`;
      next++;
      const kind = await change(step, path);
      kinds[kind] = (kinds[kind] ?? 0) + 1;
      if (kind === 'done' && step === 'common') added.push(path);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, changeNext));
  return { kinds, added };
}

async function change(step: Step, path: string): Promise<string> {
  try {
    if (step !== 'counter') return (await mounts.add(mount(path, [`ns0:/${name}`]))).kind;
    const result = await mounts.update(path, (entry) => {
      if (entry === null) return null;
      return { ...entry, quota: { ...entry.quota, spaceConsumed: entry.quota.spaceConsumed + 1n } };
    });
    return result.kind;
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }
}
