import { createServer } from 'node:net';
import type { Worker } from 'node:worker_threads';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openAdministration } from '../../src/admin/open.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { readSettings } from '../../src/config/settings.ts';
import { readTopology, requireNameservices } from '../../src/config/topology.ts';
import { startRouter } from '../../src/control/router.ts';
import { ListenError, type RouterServices, type RunningRouter } from '../../src/control/router-types.ts';
import type { MountEntry } from '../../src/mount/entry.ts';
import { escapeKey } from '../../src/state-store/record-names.ts';
import { decodeRouter, encodeMount } from '../../src/state-store/records.ts';
import { EchoNameNode } from '../support/echo-namenode.ts';
import { type MemoryDriver, MemoryStore } from '../support/memory-store.ts';
import { decodeResponse, RawClient } from '../support/raw-client.ts';
import { nextEvent, waitUntil, within } from '../support/wait.ts';
import { mount } from '../unit/mount-samples.ts';

/** A whole router in this process on a State Store that a test holds up, and whose threads it ends. */

const STANDBY = 'org.apache.hadoop.ipc.StandbyException';
/** Their table takes a while to be built. */
const MANY_MOUNTS = 20_000;

let threads: Worker[];
let log: { level: number; msg: string }[];
let memory: MemoryStore;
let driver: MemoryDriver;
let namenodes: readonly [EchoNameNode, EchoNameNode];
let services: RouterServices | null;
let router: RunningRouter | null;

const onWorker = (worker: Worker): void => void threads.push(worker);

beforeEach(async () => {
  threads = [];
  log = [];
  services = null;
  router = null;
  process.on('worker', onWorker);
  memory = new MemoryStore();
  driver = memory.driver();
  namenodes = [await EchoNameNode.start('ns0'), await EchoNameNode.start('ns1')];
});

afterEach(async () => {
  process.off('worker', onWorker);
  driver.reads.open();
  driver.writes.open();
  await router?.drain();
  for (const namenode of namenodes) await namenode[Symbol.asyncDispose]();
});

async function start(keys: Readonly<Record<string, string>> = {}, entries: readonly MountEntry[] = []): Promise<void> {
  const [ns0, ns1] = namenodes;
  const all = {
    'dfs.nameservices': 'ns0,ns1',
    'dfs.namenode.rpc-address.ns0': `127.0.0.1:${ns0.port}`,
    'dfs.namenode.rpc-address.ns1': `127.0.0.1:${ns1.port}`,
    'dfs.federation.router.monitor.namenode': 'ns0,ns1',
    'dfs.federation.router.monitor.localnamenode.enable': 'false',
    'dfs.federation.router.default.nameserviceId': 'ns0',
    'dfs.federation.router.rpc-address': '127.0.0.1:0',
    'dfs.federation.router.admin-address': '127.0.0.1:0',
    'dfs.federation.router.safemode.extension': '0s',
    'dfs.federation.router.safemode.checkperiod': '10ms',
    'switchyard.acceptors': '1',
    'switchyard.workers': '1',
    ...keys,
  };
  const overrides = Object.entries(all).map(([key, value]) => ({ key, value, origin: 'test' }));
  const readConfiguration = (): Configuration => new Configuration({ directory: null, overrides });
  const configuration = readConfiguration();
  const topology = requireNameservices(readTopology(configuration, new Set()), configuration);
  const settings = readSettings(configuration, topology, { HADOOP_USER_NAME: 'hdfs' });
  const lines = pino({ level: 'debug' }, { write: (line: string) => void log.push(JSON.parse(line)) });
  router = await startRouter({
    settings,
    topology,
    entries,
    driver,
    configuration,
    version: { version: '1', compileInfo: '', startedMs: 1 },
    log: lines,
    openAdministration: async (given) => {
      services = given;
      const opened = { settings, topology, configuration, readConfiguration, log: lines };
      const administration = await openAdministration(opened, given);
      return {
        adminAddress: administration.adminAddress,
        recordedAddress: administration.recordedAddress,
        httpAddress: '',
        stop: () => administration.stop(),
      };
    },
  });
}

function store(entry: MountEntry): void {
  memory.write('MountTable', escapeKey(entry.sourcePath), encodeMount(entry));
}

async function connect(user = 'alice'): Promise<RawClient> {
  return await RawClient.connect({ host: '127.0.0.1', port: Number(router?.rpc.split(':')[1]) }, { user });
}

/** Class of the exception, or where the call was answered and for what path. */
async function outcomeOf(client: RawClient, src: string): Promise<string> {
  const reply = await client.call({ method: 'getFileInfo', request: { src } });
  if (reply.status !== 'SUCCESS') return reply.exception;
  const { fs } = decodeResponse('getFileInfo', reply.body) as { fs: { owner: string; group: string } };
  return `${fs.group}:${fs.owner}`;
}

async function kill(thread: Worker | undefined): Promise<void> {
  if (thread === undefined) throw new Error('there is no such thread');
  const exit = nextEvent(thread, 'exit', 'the thread has ended');
  await thread.terminate();
  await exit;
}

/** Resolves when a call on a new connection is answered by the NameNode of this place. */
async function untilServed(src: string, place: string): Promise<void> {
  await waitUntil(async () => {
    try {
      using client = await connect();
      return (await outcomeOf(client, src)) === place;
    } catch {
      return false;
    }
  }, `${src} is served by ${place}`);
}

/** More changes of the mount table than there is memory for, one after the other; each must get into force. */
async function changeOften(): Promise<void> {
  for (let i = 0; i < 6; i++) {
    store(mount(`/m${i}`, ['ns1:/there']));
    await untilServed(`/m${i}`, 'ns1:/there');
  }
  expect(await services?.federation.live.everywhere()).toBe(true);
}

describe.each(['ring', 'inline'])('with the hand-off %s', (handoff) => {
  it.each(['first', 'last'])(
    'a thread that takes the place of the %s one goes by the newest mount table, and holds up no other',
    async (which) => {
      store(mount('/a', ['ns1:/a']));
      await start({ 'switchyard.handoff': handoff });
      await untilServed('/a/x', 'ns1:/a/x');
      store(mount('/b', ['ns1:/b']));
      await untilServed('/b/x', 'ns1:/b/x');
      const own = threads.filter(({ threadId }) => threadId > 0).slice(0, handoff === 'ring' ? 2 : 1);
      await kill(which === 'first' ? own[0] : own.at(-1));
      await untilServed('/b/x', 'ns1:/b/x');
      await changeOften();
    },
  );
});

describe('a store that is read late', () => {
  it.each(['true', 'false'])('no call is resolved without its mount table (safemode.enable %s)', async (enabled) => {
    driver.reads.shut();
    store(mount('/a', ['ns1:/a']));
    for (let i = 0; i < MANY_MOUNTS; i++) store(mount(`/many/${i}`, ['ns1:/many']));
    await start({ 'dfs.federation.router.safemode.enable': enabled });
    using client = await connect();
    expect(await outcomeOf(client, '/a/x')).toBe(STANDBY);
    const says = (status: string) => () =>
      Array.from(memory.records('RouterState').values(), ({ bytes }) => decodeRouter(bytes).record.status)[0] ===
      status;
    await waitUntil(says('SAFEMODE'), 'other routers know that it refuses calls');
    driver.reads.open();
    const seen = new Set<string>();
    await waitUntil(async () => {
      seen.add(await outcomeOf(client, '/a/x'));
      return seen.has('ns1:/a/x');
    }, 'the mount point is in force');
    expect([...seen]).toEqual([STANDBY, 'ns1:/a/x']);
    await waitUntil(says('RUNNING'), 'other routers know that it serves');
  });

  it.each(['true', 'false'])('an empty mount table is one, too (safemode.enable %s)', async (enabled) => {
    driver.reads.shut();
    await start({ 'dfs.federation.router.safemode.enable': enabled });
    using client = await connect();
    expect(await outcomeOf(client, '/a/x')).toBe(STANDBY);
    driver.reads.open();
    await waitUntil(async () => (await outcomeOf(client, '/a/x')) === 'ns0:/a/x', 'calls are let in');
  });

  it('mount points of the command line are not served before it either, and go before stored ones then', async () => {
    driver.failure = 'out of reach';
    store(mount('/a', ['ns1:/stored']));
    await start({ 'dfs.federation.router.cache.ttl': '50ms', 'dfs.federation.router.safemode.enable': 'false' }, [
      mount('/a', ['ns1:/given']),
    ]);
    using client = await connect();
    expect(await outcomeOf(client, '/a')).toBe(STANDBY);
    driver.failure = null;
    await waitUntil(async () => (await outcomeOf(client, '/a')) === 'ns1:/given', 'calls are let in');
  });
});

it('a mount point whose record could never be read is refused, not sent where its path leads without it', async () => {
  store(mount('/kept', ['ns1:/kept']));
  memory.write('MountTable', escapeKey('/broken'), Buffer.from([0x0a, 0x7f]));
  memory.write('MountTable', 'no path', Buffer.from([0x0a, 0x7f]));
  await start();
  await untilServed('/kept/x', 'ns1:/kept/x');
  using client = await connect();
  const reply = await client.call({ method: 'getFileInfo', request: { src: '/broken/x' } });
  expect([reply.exception, reply.message]).toEqual([
    'java.io.IOException',
    expect.stringContaining('(mount record that cannot be read)'),
  ]);
  expect(await outcomeOf(client, '/other/x')).toBe('ns0:/other/x');
  // One that breaks later, and one that is written anew.
  memory.write('MountTable', escapeKey('/late'), Buffer.from([0x0a, 0x7f]));
  await waitUntil(async () => (await outcomeOf(client, '/late/x')) === 'java.io.IOException', 'it is refused, too');
  store(mount('/broken', ['ns1:/mended']));
  await untilServed('/broken/x', 'ns1:/mended/x');
  memory.erase('MountTable', escapeKey('/late'));
  await untilServed('/late/x', 'ns0:/late/x');
});

describe('the end', () => {
  it('comes in bounded time while the store hangs, during the start and later', async () => {
    await start();
    driver.reads.shut();
    driver.writes.shut();
    await within(router?.drain() ?? Promise.reject(new Error('no router')), 'the router has ended');
    expect(driver.isClosed).toBe(true);
    expect(log.filter(({ level }) => level >= 50)).toEqual([]);
  });

  it('says SHUTDOWN in the record of the router though the store cannot be read any more', async () => {
    await start();
    await waitUntil(() => memory.names('RouterState').length === 1, 'the router is in its record');
    driver.reads.shut();
    await router?.drain();
    const [record] = memory.records('RouterState').values();
    expect(record?.bytes.toString('latin1')).toContain('SHUTDOWN');
  });
});

it('an admin port that is taken is named, with what to do, and nothing stays behind', async () => {
  const holder = createServer();
  holder.listen(0, '127.0.0.1');
  await nextEvent(holder, 'listening', 'another has the port');
  const { port } = holder.address() as { port: number };
  const failed = start({ 'dfs.federation.router.admin-address': `127.0.0.1:${port}` });
  await expect(failed).rejects.toThrow(ListenError);
  await expect(failed).rejects.toThrow(/admin-address.*EADDRINUSE.*choose another port/);
  holder.close();
  expect(driver.isClosed).toBe(true);
  await waitUntil(() => threads.every(({ threadId }) => threadId < 0), 'all threads have ended');
});
