import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { type Answer, DENIED, IO, SimulatorCaller } from './simulator-caller.ts';

let nn: SimulatorCaller;

beforeEach(async () => {
  nn = await SimulatorCaller.start();
});

afterEach(async () => {
  await nn.checkStandby();
  await nn[Symbol.asyncDispose]();
});

const safeMode = (action: string): Promise<Answer> => nn.ask('setSafeMode', { action: `SAFEMODE_${action}` });

describe('administration', () => {
  it.each([
    ['saveNamespace', {}],
    ['rollEdits', {}],
    ['restoreFailedStorage', { arg: 'check' }],
    ['refreshNodes', {}],
    ['finalizeUpgrade', {}],
    ['rollingUpgrade', { action: 'QUERY' }],
    ['metaSave', { filename: 'f' }],
    ['setBalancerBandwidth', { bandwidth: 1 }],
    ['getMostRecentCheckpointTxId', {}],
    ['isRollingUpgrade', {}],
  ])('%s is for the superuser', async (method, request) => {
    expect(await nn.ask(method, request, 'bob')).toContain(
      `${DENIED}: Access denied for user bob. Superuser privilege`,
    );
    if (method !== 'saveNamespace') expect(await nn.ask(method, request)).toBeTypeOf('object');
    const calls = await nn.simulator.control({ op: 'calls', method });
    expect(calls.map((call) => call.user)).toEqual(method === 'saveNamespace' ? ['bob'] : ['bob', 'root']);
  });

  it('saves images in safe mode, and remembers the last one', async () => {
    const recent = async (): Promise<unknown> => ((await nn.ask('getMostRecentCheckpointTxId')) as Plain)['txId'];
    const applied = async (): Promise<unknown> => (await nn.simulator.control({ op: 'status' }))[0]!.appliedTxId;
    await nn.mkdirs('/a');
    expect(await nn.ask('saveNamespace')).toBe(
      `${IO}: Safe mode should be turned ON in order to create namespace image.`,
    );
    expect(await recent()).toBe(0);
    await safeMode('ENTER');
    expect(await nn.ask('saveNamespace')).toEqual({ saved: true });
    expect(await recent()).toBe(await applied());
    expect(await nn.ask('saveNamespace', { timeWindow: 3600, txGap: 10 })).toEqual({ saved: false });
    await safeMode('LEAVE');
    await nn.mkdirs('/b');
    await safeMode('ENTER');
    expect(await nn.ask('saveNamespace', { timeWindow: 3600, txGap: 0 })).toEqual({ saved: true });
    expect(await recent()).toBe(await applied());
  });

  it('keeps what it was told about failed storage and bandwidth', async () => {
    const restore = (arg: string): Promise<Answer> => nn.ask('restoreFailedStorage', { arg });
    expect(await restore('check')).toEqual({ result: false });
    expect(await restore('true')).toEqual({ result: true });
    expect(await restore('check')).toEqual({ result: true });
    expect(await restore('false')).toEqual({ result: false });
    expect(await nn.ask('setBalancerBandwidth', { bandwidth: 2 ** 41 })).toBe(
      'java.lang.IllegalArgumentException: Bandwidth should not exceed maximum limit 1099511627776 bytes per second',
    );
  });

  it('upgrades in steps, and the standby knows', async () => {
    const upgrade = (action: string): Promise<Answer> => nn.ask('rollingUpgrade', { action });
    expect(await upgrade('QUERY')).toEqual({});
    expect(await upgrade('FINALIZE')).toEqual({});
    const started = (await upgrade('START')) as { rollingUpgradeInfo: Plain };
    expect(started.rollingUpgradeInfo).toMatchObject({ status: { finalized: false }, finalizeTime: 0 });
    expect(await upgrade('QUERY')).toEqual(started);
    expect(await nn.ask('isRollingUpgrade')).toEqual({ isRollingUpgrade: true });
    expect(await upgrade('START')).toBe(
      'org.apache.hadoop.hdfs.protocol.RollingUpgradeException: Failed to start rolling upgrade since a rolling ' +
        'upgrade is already in progress. Existing rolling upgrade info:',
    );
    expect(await upgrade('FINALIZE')).toMatchObject({
      rollingUpgradeInfo: { status: { finalized: true }, startTime: started.rollingUpgradeInfo['startTime'] },
    });
    expect(await nn.ask('isRollingUpgrade')).toEqual({ isRollingUpgrade: false });
    expect(await nn.ask('upgradeStatus')).toEqual({ upgradeFinalized: true });
  });

  it('knows groups, and refreshes them for whoever asks', async () => {
    expect(await nn.ask('getGroupsForUser', { user: 'carol' })).toEqual({ groups: ['staff', 'editors'] });
    expect(await nn.ask('refreshUserToGroupsMappings', {}, 'bob')).toEqual({});
    expect(await nn.ask('refreshSuperUserGroupsConfiguration', {}, 'bob')).toEqual({});
  });
});

describe('the call log', () => {
  it('has the first path of a request, wherever its message keeps it', async () => {
    await nn.ask('allowSnapshot', { snapshotRoot: '/a' });
    await nn.ask('reencryptEncryptionZone', { zone: '/b', action: 'START_REENCRYPT' });
    await nn.ask('addCacheDirective', { info: { path: '/c', pool: 'p' } });
    await nn.ask('getBatchedListing', { paths: ['/d', '/e'], startAfter: Buffer.alloc(0), needLocation: false });
    const calls = await nn.simulator.control({ op: 'calls', nameservice: 'ns0' });
    expect(calls.map((call) => call.path)).toEqual(['/a', '/b', '/c', '/d']);
  });
});
