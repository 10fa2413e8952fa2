import { describe, expect, it } from 'vitest';
import { GENERIC_REFRESH_PROTOCOL, META_PROTOCOL, REFRESH_CALL_QUEUE_PROTOCOL } from '../../src/admin/messages.ts';
import { NameNodeLookup } from '../../src/admin/path-lookup.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { readSettings } from '../../src/config/settings.ts';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { RemoteError, type RpcClient } from '../../src/control/rpc-client.ts';
import { JAVA } from '../../src/control/rpc-server/remote-exception.ts';
import { emptyEntry, type MountEntry } from '../../src/mount/entry.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { MountSnapshot } from '../../src/mount/snapshot.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { decode, encode, messageType, type Plain } from '../../src/wire/messages.ts';
import { AdminRig, mountMessage, ROUTER_USER } from '../support/admin-rig.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { within } from '../support/wait.ts';
import { mount } from '../unit/mount-samples.ts';

async function refusalOf(work: Promise<unknown>): Promise<RemoteError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof RemoteError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

async function paths(rig: AdminRig, user = ROUTER_USER, srcPath = '/'): Promise<string[]> {
  const { entries } = await rig.call(user, 'getMountTableEntries', { srcPath });
  return (entries as Plain[]).map((entry) => String(entry['srcPath']));
}

async function entryOf(rig: AdminRig, srcPath: string): Promise<Plain | undefined> {
  const { entries } = await rig.call(ROUTER_USER, 'getMountTableEntries', { srcPath });
  return (entries as Plain[]).find((entry) => entry['srcPath'] === srcPath);
}

describe('mount entries through the admin port', () => {
  it('are added once, changed, listed by path and removed', async () => {
    await using rig = await AdminRig.start();
    for (const path of ['/b', '/a', '/a-x', '/a/c']) {
      expect(await rig.call(ROUTER_USER, 'addMountTableEntry', { entry: mountMessage(path) })).toEqual({
        status: true,
      });
    }
    expect(await rig.call(ROUTER_USER, 'addMountTableEntry', { entry: mountMessage('/a') })).toEqual({ status: false });
    expect(await paths(rig)).toEqual(['/a', '/a/c', '/a-x', '/b']);
    expect(await paths(rig, ROUTER_USER, '/a')).toEqual(['/a', '/a/c']);
    const changed = mountMessage('/a', { readOnly: true, destinations: [{ nameserviceId: 'ns1', path: '/z' }] });
    expect(await rig.call(ROUTER_USER, 'updateMountTableEntry', { entry: changed })).toEqual({ status: true });
    expect(await entryOf(rig, '/a')).toMatchObject({
      readOnly: true,
      destinations: [{ nameserviceId: 'ns1', path: '/z' }],
    });
    expect(await rig.call(ROUTER_USER, 'removeMountTableEntry', { srcPath: '/b' })).toEqual({ status: true });
    expect(await rig.call(ROUTER_USER, 'removeMountTableEntry', { srcPath: '/b' })).toEqual({ status: false });
    expect(await paths(rig)).toEqual(['/a', '/a/c', '/a-x']);
  });

  it('hold the marks that a tool names as false, as Java routers store them', async () => {
    await using rig = await AdminRig.start();
    const type = messageType('hadoop.hdfs.MountTableRecordProto');
    const stored = (): object => decode(type, rig.store?.records('MountTable').get('/a')?.raw.bytes ?? Buffer.alloc(0));
    const named = (): string[] => ['readOnly', 'faultTolerant'].filter((mark) => Object.hasOwn(stored(), mark));
    await rig.call(ROUTER_USER, 'addMountTableEntry', { entry: mountMessage('/a') });
    expect(named()).toEqual([]);
    await rig.call(ROUTER_USER, 'updateMountTableEntry', { entry: mountMessage('/a', { readOnly: false }) });
    expect(named()).toEqual(['readOnly']);
    expect(Object.hasOwn((await entryOf(rig, '/a')) ?? {}, 'readOnly')).toBe(true);
    await rig.call(ROUTER_USER, 'updateMountTableEntry', { entry: mountMessage('/a', { faultTolerant: false }) });
    expect(named()).toEqual(['readOnly', 'faultTolerant']);
    expect(stored()).toMatchObject({ readOnly: false, faultTolerant: false });
  });

  it('of several in one call: none when one is wrong, else each that can be, with the names of the others', async () => {
    await using rig = await AdminRig.start();
    const add = (entry: object[]): Promise<Plain> => rig.call(ROUTER_USER, 'addMountTableEntries', { entry });
    const wrong = await refusalOf(add([mountMessage('/x'), mountMessage('/y', { destinations: [] })]));
    expect(wrong.className).toBe(JAVA.ILLEGAL_ARGUMENT);
    expect(await paths(rig)).toEqual([]);
    expect(await add([mountMessage('/x_1')])).toEqual({ status: true, failedEntriesKeys: [] });
    expect(await add([mountMessage('/x_1'), mountMessage('/y')])).toEqual({
      status: false,
      failedEntriesKeys: ['/x_1'],
    });
    expect(await paths(rig)).toEqual(['/x_1', '/y']);
    expect((await refusalOf(add([]))).className).toBe(JAVA.ILLEGAL_ARGUMENT);
  });

  it('are for those whom the entries above allow, else for superusers', async () => {
    await using rig = await AdminRig.start();
    const add = (user: string, path: string, more: object = {}): Promise<Plain> =>
      rig.call(user, 'addMountTableEntry', { entry: mountMessage(path, more) });
    const update = (user: string, path: string): Promise<Plain> =>
      rig.call(user, 'updateMountTableEntry', { entry: mountMessage(path, { ownerName: 'alice' }) });
    expect((await refusalOf(add('alice', '/home'))).className).toBe(JAVA.ACCESS_CONTROL);
    expect((await refusalOf(update('alice', '/home'))).className).toBe(JAVA.ACCESS_CONTROL);
    expect(await add('boss', '/home', { ownerName: 'alice', mode: 0o750 })).toEqual({ status: true });
    expect(await add('alice', '/home/alice')).toEqual({ status: true });
    const bob = await refusalOf(add('bob', '/home/bob'));
    expect(bob.text).toBe(
      'Permission denied while accessing mount table /home: user bob does not have WRITE permissions.',
    );
    expect(await update('alice', '/home')).toEqual({ status: true });
    expect((await refusalOf(rig.call('bob', 'removeMountTableEntry', { srcPath: '/home' }))).className).toBe(
      JAVA.ACCESS_CONTROL,
    );
    expect(await rig.call('bob', 'removeMountTableEntry', { srcPath: '/nowhere' })).toEqual({ status: false });
    await add('boss', '/secret', { mode: 0o700 });
    expect(await paths(rig, 'bob')).not.toContain('/secret');
    expect(await paths(rig, 'bob', '')).not.toContain('/secret');
    expect(await paths(rig)).toContain('/secret');
  });

  it('are for everyone when permissions are off', async () => {
    await using rig = await AdminRig.start({ set: { 'dfs.permissions.enabled': 'false' } });
    expect(await rig.call('bob', 'addMountTableEntry', { entry: mountMessage('/x') })).toEqual({ status: true });
  });

  it('keep an order of newer Hadoop', async () => {
    await using rig = await AdminRig.start();
    const type = messageType('hadoop.hdfs.MountTableRecordProto');
    const destinations = ['ns0', 'ns1'].map((nameserviceId) => ({ nameserviceId, path: '/x' }));
    const record = decode(
      type,
      Buffer.concat([
        encode(type, { ...mountMessage('/x', { destinations }), destOrder: undefined }),
        Buffer.from([0x30, 5]),
      ]),
    );
    expect(await rig.call(ROUTER_USER, 'addMountTableEntry', { entry: record })).toEqual({ status: true });
    expect(rig.store?.records('MountTable').get('/x')?.record.entry.order).toBe('LEADER_FOLLOWER');
  });

  it('are refused without an entry, with components that are too long, and where the destination must exist', async () => {
    const lookup = {
      locationsOf: () => [],
      exists: ({ path }: { path: string }) => Promise.resolve(path === '/there'),
    };
    await using rig = await AdminRig.start({
      lookup,
      set: {
        'dfs.federation.router.fs-limits.max-component-length': '8',
        'dfs.federation.router.admin.mount.check.enable': 'true',
      },
    });
    const add = (entry?: object): Promise<Plain> => rig.call(ROUTER_USER, 'addMountTableEntry', { entry });
    expect((await refusalOf(add())).className).toBe(JAVA.ILLEGAL_ARGUMENT);
    expect((await refusalOf(add(mountMessage('/far-too-long')))).className).toBe(JAVA.NAME_TOO_LONG);
    const missing = await refusalOf(add(mountMessage('/x')));
    expect(missing.text).toBe('File not found in downstream nameservices: ns0');
    expect(await add(mountMessage('/there'))).toEqual({ status: true });
  });

  it('show the use of their quotas, whose limits go to the destinations', async () => {
    const pushed: string[] = [];
    await using rig = await AdminRig.start({
      usage: { usageOf: () => ({ files: 7n, bytes: 8n, types: { SSD: 9n } }) },
      quotas: {
        push: async (entry, whole, types) => void pushed.push(`${entry.sourcePath} ${whole} ${types.join()}`),
        reset: async (entry: MountEntry) => void pushed.push(`reset ${entry.sourcePath}`),
      },
    });
    const quota = (more: object): object => ({
      quota: { fileAndDirectoryCount: 0, quota: -1, spaceConsumed: 0, spaceQuota: -1, ...more },
    });
    const update = (more: object): Promise<Plain> =>
      rig.call(ROUTER_USER, 'updateMountTableEntry', { entry: mountMessage('/q', more) });
    await rig.call(ROUTER_USER, 'addMountTableEntry', { entry: mountMessage('/q') });
    await update({ readOnly: true });
    await update(quota({ quota: 100 }));
    await update(quota({ quota: 100, typeQuotaInfos: { typeQuotaInfo: [{ type: 'SSD', quota: 5, consumed: 0 }] } }));
    const { quota: shown } = (await entryOf(rig, '/q')) as { quota: Plain };
    expect(shown).toMatchObject({ quota: 100, fileAndDirectoryCount: 7, spaceConsumed: 8 });
    expect(shown['typeQuotaInfos']).toEqual({ typeQuotaInfo: [{ type: 'SSD', quota: 5, consumed: 9 }] });
    await rig.call(ROUTER_USER, 'removeMountTableEntry', { srcPath: '/q' });
    expect(pushed).toEqual(['/q true ', '/q false SSD', 'reset /q']);
  });

  it('cannot be changed while the State Store fails, and without one', async () => {
    await using rig = await AdminRig.start();
    if (rig.driver !== null) rig.driver.failure = 'the disk is full';
    const failed = await refusalOf(rig.call(ROUTER_USER, 'addMountTableEntry', { entry: mountMessage('/x') }));
    expect(failed.text).toContain('the disk is full');
    expect(await rig.call(ROUTER_USER, 'refreshMountTableEntries')).toEqual({ result: false });
    await using bare = await AdminRig.start({ memory: null });
    const none = await refusalOf(bare.call(ROUTER_USER, 'getMountTableEntries', { srcPath: '/' }));
    expect(none.className).toBe(JAVA.STATE_STORE_UNAVAILABLE);
    const disable = await refusalOf(bare.call(ROUTER_USER, 'disableNameservice', { nameServiceId: 'ns0' }));
    expect(disable.className).toBe(JAVA.STATE_STORE_UNAVAILABLE);
  });
});

describe('the router through the admin port', () => {
  it('enters and leaves safe mode for superusers', async () => {
    await using rig = await AdminRig.start();
    expect(await rig.call('bob', 'getSafeMode')).toEqual({ isInSafeMode: false });
    expect(await rig.call('boss', 'enterSafeMode')).toEqual({ status: true });
    expect(await rig.call('bob', 'getSafeMode')).toEqual({ isInSafeMode: true });
    const refusal = await refusalOf(rig.call('bob', 'leaveSafeMode'));
    expect(refusal).toMatchObject({ className: JAVA.ACCESS_CONTROL, text: 'bob is not a super user' });
    expect(await rig.call(ROUTER_USER, 'leaveSafeMode')).toEqual({ status: true });
    expect(await rig.call('bob', 'getSafeMode')).toEqual({ isInSafeMode: false });
    await using off = await AdminRig.start({ safeMode: false });
    expect(await off.call(ROUTER_USER, 'enterSafeMode')).toEqual({ status: false });
    expect(await off.call(ROUTER_USER, 'getSafeMode')).toEqual({ isInSafeMode: false });
  });

  it('disables and enables nameservices, one right after the other', async () => {
    await using rig = await AdminRig.start();
    const ask = (user: string, method: string, nameServiceId: string): Promise<Plain> =>
      rig.call(user, method, { nameServiceId });
    expect((await refusalOf(ask('bob', 'disableNameservice', 'ns0'))).className).toBe(JAVA.ACCESS_CONTROL);
    expect(await ask(ROUTER_USER, 'disableNameservice', 'ns9')).toEqual({ status: false });
    expect(await ask(ROUTER_USER, 'disableNameservice', 'ns1')).toEqual({ status: true });
    expect(await ask(ROUTER_USER, 'disableNameservice', 'ns1')).toEqual({ status: false });
    expect(await ask(ROUTER_USER, 'disableNameservice', 'ns0')).toEqual({ status: true });
    expect(await rig.call('bob', 'getDisabledNameservices')).toEqual({ nameServiceIds: ['ns0', 'ns1'] });
    expect(await ask(ROUTER_USER, 'enableNameservice', 'ns0')).toEqual({ status: true });
    expect(await ask(ROUTER_USER, 'enableNameservice', 'ns0')).toEqual({ status: false });
    expect(await rig.call('bob', 'getDisabledNameservices')).toEqual({ nameServiceIds: ['ns1'] });
  });

  it('reads the rules of proxy users anew, for superusers', async () => {
    await using rig = await AdminRig.start();
    const login = (): Promise<RpcClient> => rig.connect('alice', { realUser: 'oozie' });
    const get = async (client: RpcClient): Promise<unknown> =>
      await client.call(
        'org.apache.hadoop.hdfs.protocolPB.RouterAdminProtocol',
        'getSafeMode',
        'hadoop.hdfs.GetSafeModeRequestProto',
        'hadoop.hdfs.GetSafeModeResponseProto',
        {},
      );
    expect(await refusalOf(get(await login()))).toMatchObject({ className: JAVA.AUTHORIZATION, fatal: true });
    rig.overrides = { ...rig.overrides, 'hadoop.proxyuser.oozie.users': '*', 'hadoop.proxyuser.oozie.hosts': '*' };
    expect((await refusalOf(rig.call('bob', 'refreshSuperUserGroupsConfiguration'))).className).toBe(
      JAVA.ACCESS_CONTROL,
    );
    expect(await rig.call(ROUTER_USER, 'refreshSuperUserGroupsConfiguration')).toEqual({ status: true });
    expect(await get(await login())).toMatchObject({ response: { isInSafeMode: false } });
    rig.overrides = { ...rig.overrides, 'hadoop.proxyuser.oozie.hosts': '1.2.3.4/99' };
    expect((await refusalOf(rig.call(ROUTER_USER, 'refreshSuperUserGroupsConfiguration'))).text).toContain(
      'is no network',
    );
    expect(await get(await login())).toMatchObject({ response: { isInSafeMode: false } });
  });

  it('refuses a connection without a user', async () => {
    await using rig = await AdminRig.start();
    expect(await refusalOf(rig.call('', 'getSafeMode'))).toMatchObject({ className: JAVA.ACCESS_CONTROL, fatal: true });
  });

  it('answers the refresh protocols and tells their versions', async () => {
    await using rig = await AdminRig.start();
    const client = await rig.connect(ROUTER_USER);
    const refresh = (identifier: string): Promise<{ response: Plain }> =>
      client.call(
        GENERIC_REFRESH_PROTOCOL,
        'refresh',
        'hadoop.common.GenericRefreshRequestProto',
        'hadoop.common.GenericRefreshResponseCollectionProto',
        { identifier, args: [] },
      );
    const fairness = async (): Promise<unknown> =>
      (await refresh('RefreshFairnessPolicyController')).response['responses'];
    expect(await fairness()).toMatchObject([
      { exitStatus: 0, userMessage: expect.stringMatching(/\.NoRouterRpcFairnessPolicyController$/) },
    ]);
    const unknown = await refusalOf(refresh('x'));
    expect(unknown).toMatchObject({
      className: JAVA.ILLEGAL_ARGUMENT,
      text: "Identifier 'x' does not exist in RefreshRegistry. Valid options are: RefreshFairnessPolicyController",
    });
    const queue = (by: RpcClient): Promise<unknown> =>
      by.call(
        REFRESH_CALL_QUEUE_PROTOCOL,
        'refreshCallQueue',
        'hadoop.common.RefreshCallQueueRequestProto',
        'hadoop.common.RefreshCallQueueResponseProto',
        {},
      );
    rig.overrides['dfs.federation.router.handler.count'] = '7';
    expect(await queue(client)).toMatchObject({ response: {} });
    expect(rig.admission?.capacity).toBe(700);
    rig.overrides['dfs.federation.router.handler.count'] = '0';
    expect((await refusalOf(queue(await rig.connect('bob')))).className).toBe(JAVA.ACCESS_CONTROL);
    expect(await refusalOf(queue(client))).toMatchObject({
      className: JAVA.IO,
      text: expect.stringContaining('dfs.federation.router.handler.count = "0": out of range'),
    });
    expect(await fairness()).toMatchObject([{ exitStatus: -1, userMessage: expect.stringContaining('out of range') }]);
    expect(rig.admission?.capacity).toBe(700);
    const versions = async (protocol: string): Promise<unknown> => {
      const stem = 'hadoop.common.GetProtocolVersions';
      const answer = await client.call(
        META_PROTOCOL,
        'getProtocolVersions',
        `${stem}RequestProto`,
        `${stem}ResponseProto`,
        { protocol },
      );
      return answer.response['protocolVersions'];
    };
    expect(await versions(GENERIC_REFRESH_PROTOCOL)).toEqual([{ rpcKind: 'RPC_PROTOCOL_BUFFER', versions: [1] }]);
    expect(await versions('x')).toEqual([]);
  });
});

describe('other routers', () => {
  it('are told of a change before it is answered; those that are gone do not hold it up', async () => {
    // Without news of its own, as a Java router.
    const memory = new MemoryStore({ isVersioned: false });
    const set = { 'dfs.federation.router.mount-table.cache.update': 'true' };
    await using one = await AdminRig.start({ memory, set, routerId: 'one:8888' });
    await using two = await AdminRig.start({ memory, set, routerId: 'two:8888' });
    const gone = await AdminRig.start({ memory, set, routerId: 'gone:8888' });
    await Promise.all([one, two, gone].map((rig) => rig.register()));
    await gone.administration.stop();
    expect(await one.call(ROUTER_USER, 'addMountTableEntry', { entry: mountMessage('/x') })).toEqual({ status: true });
    expect(await paths(two)).toEqual(['/x']);
    expect(one.lines.filter((line) => line.includes('a router was not told'))).toHaveLength(1);
    await two.call(ROUTER_USER, 'removeMountTableEntry', { srcPath: '/x' });
    expect(await paths(one)).toEqual([]);
    await gone[Symbol.asyncDispose]();
  });

  it('are found by name, as Java routers write it, where the admin address is numeric', async () => {
    const set = { 'dfs.federation.router.mount-table.cache.update': 'true' };
    const lookUpName = (): Promise<string> => Promise.resolve('localhost');
    await using one = await AdminRig.start({ memory: new MemoryStore({ isVersioned: false }), set, lookUpName });
    const { port, adminAddress } = one.administration;
    await one.register();
    expect(one.routers?.all().map((record) => record.adminAddress)).toEqual([`localhost:${port}`]);
    // What it prints at the start stays as it was configured.
    expect(adminAddress).toBe(`127.0.0.1:${port}`);
    // A change of its own does not come back to it over that address.
    await one.administration.stop();
    const superuser = await one.administration.access.callerOf(ROUTER_USER);
    expect(await one.administration.mounts.add(superuser, mount('/x', ['ns0:/x']))).toBe(true);
    expect(one.lines.filter((line) => line.includes('a router was not told'))).toEqual([]);
  });

  it('that do not answer are waited for as long as configured', async () => {
    const memory = new MemoryStore({ isVersioned: false });
    const update = 'dfs.federation.router.mount-table.cache.update';
    await using one = await AdminRig.start({
      memory,
      set: { [update]: 'true', [`${update}.timeout`]: '100ms' },
      routerId: 'one:8888',
    });
    await using two = await AdminRig.start({ memory, routerId: 'two:8888' });
    await Promise.all([one, two].map((rig) => rig.register()));
    two.driver?.reads.shut();
    const added = one.call(ROUTER_USER, 'addMountTableEntry', { entry: mountMessage('/x') });
    expect(await within(added, 'the answer')).toEqual({ status: true });
    expect(one.lines.some((line) => /not all routers|was not told/.test(line))).toBe(true);
    two.driver?.reads.open();
  });
});

describe('getDestination', () => {
  it('names the nameservices that have the path, as the caller sees them, else the first', async () => {
    await using simulator = await startSimulator({ nameservices: ['ns0', 'ns1'], superuser: ROUTER_USER });
    const addresses = new Map(
      simulator.nameservices.map(({ id, namenodes }) => [
        id,
        namenodes.map(({ port }, i) => ({ id: `nn${i}`, host: '127.0.0.1', port })),
      ]),
    );
    for (const [id, path] of [
      ['ns0', '/data/both'],
      ['ns1', '/data/both'],
      ['ns1', '/data/one'],
    ] as const) {
      using client = await HdfsClient.connect({
        ...(addresses.get(id)?.[0] as { host: string; port: number }),
        user: ROUTER_USER,
      });
      await client.mkdirs(path);
    }
    const entry: MountEntry = {
      ...emptyEntry('/m', { routerUser: ROUTER_USER, superGroup: 'supergroup' }),
      destinations: ['ns0', 'ns1'].map((nameservice) => ({ nameservice, path: '/data' })),
      order: 'LEADER_FOLLOWER',
      dateCreated: 1,
      dateModified: 1,
    };
    const snapshot = MountSnapshot.from(buildSnapshot([entry], ['ns0', 'ns1'], 1, null));
    const settings = readSettings(new Configuration({ directory: null, overrides: [] }), { nameservices: [] }, {});
    const lookup = new NameNodeLookup({
      settings,
      snapshot: () => snapshot,
      defaultNameservice: null,
      isDisabled: () => false,
      // Standby first: it sends on to the active one.
      namenodesOf: (id) => (addresses.get(id) ?? []).toReversed(),
    });
    await using rig = await AdminRig.start({ lookup });
    const ask = async (srcPath: string): Promise<unknown> =>
      (await rig.call(ROUTER_USER, 'getDestination', { srcPath }))['destinations'];
    expect(await ask('/m/both')).toEqual(['ns0', 'ns1']);
    expect(await ask('/m/one/')).toEqual(['ns1']);
    expect(await ask('/m/none')).toEqual(['ns0']);
    expect(await ask('/m')).toEqual(['ns0', 'ns1']);
    expect((await refusalOf(ask('/elsewhere'))).className).toBe(JAVA.RESOLVE);
    expect((await refusalOf(ask('relative'))).className).toBe(JAVA.ILLEGAL_ARGUMENT);
  });
});
