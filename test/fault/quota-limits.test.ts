import { describe, expect, it } from 'vitest';
import { Configuration } from '../../src/config/configuration.ts';
import { readMonitored } from '../../src/control/membership/addresses.ts';
import { openQuotas } from '../../src/control/quota/quotas.ts';
import { RemoteError, RpcClient } from '../../src/control/rpc-client.ts';
import type { Topology } from '../../src/shared/settings.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { makeTree } from '../support/make-tree.ts';
import { MethodClient } from '../support/method-cluster.ts';
import { limitedMount } from '../support/quota-mounts.ts';
import { recordLog } from '../support/store-routers.ts';
import { ThreadRouter } from '../support/thread-router.ts';
import { waitUntil } from '../support/wait.ts';

const NAMES = 'org.apache.hadoop.hdfs.protocol.NSQuotaExceededException';
const USER = 'router';

async function open(host: string, port: number): Promise<MethodClient> {
  return new MethodClient(await RpcClient.connect({ host, port, user: USER }), new Set());
}

/** Whether a call that changes nothing and that a limit stops is stopped now. */
async function isStopped(client: MethodClient, src: string): Promise<boolean> {
  try {
    await client.call('ClientProtocol.setReplication', { src, replication: 1 });
    return false;
  } catch (error) {
    if (error instanceof RemoteError && error.className === NAMES) return true;
    throw error;
  }
}

describe.each(['ring', 'inline'] as const)('limits of mount points with the %s hand-off', (handoff) => {
  it('stop writes once usage over all destinations has reached them, and no longer when it has gone down', async () => {
    await using simulator = await startSimulator({ superuser: USER, namenodes: 2, nameservices: ['ns0', 'ns1'] });
    const topology: Topology = { nameservices: simulator.nameservices };
    // Each directory alone stays below the limit: no NameNode refuses anything.
    const entries = [limitedMount('/m', ['ns0:/x', 'ns1:/x'], { names: 6 }), limitedMount('/free', ['ns0:/free'])];
    const keys = { 'dfs.federation.router.quota.enable': 'true' };
    await using router = await ThreadRouter.start({ handoff, topology, entries, keys });
    const configuration = new Configuration({ directory: null, overrides: [] });
    const log = recordLog();
    const quotas = openQuotas({
      configuration,
      settings: router.settings,
      namenodes: readMonitored(configuration, topology),
      block: router.block,
      entries: () => entries,
      reload: async () => true,
      onUsage: (usage) => router.tell({ kind: 'quota-usage', usage }),
      log: log.log,
    });
    if (quotas === null) throw new Error('quotas are off');
    const { service } = quotas;
    const [ns0, ns1] = topology.nameservices.map(({ namenodes }) => namenodes[0]?.port ?? 0) as [number, number];
    using direct0 = await open('127.0.0.1', ns0);
    using direct1 = await open('127.0.0.1', ns1);
    using client = await open(router.host, router.port);
    await makeTree(direct0, ['/x/a', '/free/']);
    await makeTree(direct1, ['/x/b']);

    await service.start();
    expect(service.usageOf('/m')).toMatchObject({ files: 4n });
    await makeTree(client, ['/m/c']);
    await makeTree(direct1, ['/x/d']);
    // Known only after the next count; both NameNodes have room.
    await makeTree(client, ['/m/e']);
    await service.refresh();
    expect(service.usageOf('/m')).toMatchObject({ files: 7n });
    await waitUntil(() => isStopped(client, '/m/e'), 'the thread has the new figures');
    const refusal = { className: NAMES, message: expect.stringContaining('quota=6 file count=7') };
    await expect(makeTree(client, ['/m/f'])).rejects.toMatchObject(refusal);
    await expect(makeTree(client, ['/m/sub/'])).rejects.toMatchObject(refusal);
    await makeTree(client, ['/free/f']);

    // The limit is at the NameNodes too.
    const { usage } = await direct1.call<{ usage: object }>('ClientProtocol.getQuotaUsage', { path: '/x' });
    expect(usage).toMatchObject({ quota: 6, fileAndDirectoryCount: expect.any(Number) });

    await direct0.call('ClientProtocol.delete', { src: '/x/a', recursive: true });
    await direct1.call('ClientProtocol.delete', { src: '/x/b', recursive: true });
    await service.refresh();
    expect(service.usageOf('/m')).toMatchObject({ files: 5n });
    await waitUntil(async () => !(await isStopped(client, '/m/e')), 'the thread has the figures after that');
    await makeTree(client, ['/m/f']);
    await service.stop();
    expect(log.lines.filter(({ level }) => level >= 40)).toEqual([]);
  });
});

describe.each(['ring', 'inline'] as const)('figures with the %s hand-off', (handoff) => {
  it('lead the order LOCAL to the nameservice of the client', async () => {
    await using simulator = await startSimulator({ superuser: USER, namenodes: 1, nameservices: ['ns0', 'ns1'] });
    const topology: Topology = { nameservices: simulator.nameservices };
    const entry = { ...limitedMount('/m', ['ns0:/x', 'ns1:/x']), order: 'LOCAL' as const };
    await using router = await ThreadRouter.start({ handoff, topology, entries: [entry] });
    using client = await open(router.host, router.port);
    using direct1 = await open('127.0.0.1', topology.nameservices[1]?.namenodes[0]?.port ?? 0);
    const isAtHome = async (name: string): Promise<boolean> => {
      await makeTree(client, [`/m/${name}`]);
      const { fs } = await direct1.call<{ fs?: object }>('ClientProtocol.getFileInfo', { src: `/x/${name}` });
      return fs !== undefined;
    };
    expect(await isAtHome('before')).toBe(false);
    router.tell({ kind: 'order-figures', data: { clients: [['127.0.0.1', 'ns1']], available: [] } });
    let files = 0;
    await waitUntil(() => isAtHome(`f${files++}`), 'a file is made in the nameservice of the client');
  });
});
