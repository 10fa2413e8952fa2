import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { RemoteError, RpcError } from '../../src/control/rpc-client.ts';
import { ALL_MOUNT, FAULTS, FILES_OF_EACH, SimulatedNamenodes } from './namenodes.ts';

const SICK = 'ns1';
const PATIENCE_MS = 60;
let namenodes: SimulatedNamenodes;

beforeAll(async () => {
  namenodes = await SimulatedNamenodes.start(2);
});

afterAll(async () => await namenodes[Symbol.asyncDispose]());

/** What one call meets: '' for an answer within a short time. */
async function outcomeOf(id: string, timeoutMs = PATIENCE_MS): Promise<string> {
  try {
    using client = await HdfsClient.connect({
      host: '127.0.0.1',
      port: namenodes.portOf(id),
      user: 'alice',
      timeoutMs,
    });
    return (await client.getFileInfo(`/${id}/f0`)) === undefined ? 'missing' : '';
  } catch (error) {
    if (error instanceof RemoteError) return error.className;
    if (error instanceof RpcError) return error.code;
    throw error;
  }
}

const MET = {
  dead: 'CONNECT',
  hung: 'TIMEOUT',
  standby: 'org.apache.hadoop.ipc.StandbyException',
  slow: 'TIMEOUT',
  erroring: 'org.apache.hadoop.ipc.RetriableException',
  flapping: 'CONNECT',
} as const;

describe.each(FAULTS)('%s', (fault) => {
  it('is met at the sick nameservice alone, and not any more when it is healed', async () => {
    await namenodes.makeSick(SICK, fault);
    let met = await outcomeOf(SICK);
    // A flapping one is gone from some moment on.
    while (fault === 'flapping' && met !== MET[fault]) met = await outcomeOf(SICK);
    expect(met).toBe(MET[fault]);
    expect(await outcomeOf('ns0', 5_000)).toBe('');
    await namenodes.heal(SICK, fault);
    expect(await outcomeOf(SICK, 5_000)).toBe('');
  });
});

it('knows its mounts and files, and those of a nameservice that was added', async () => {
  expect(namenodes.pathsOf(['ns0'])).toHaveLength(FILES_OF_EACH);
  expect(namenodes.mounts).toEqual([
    { path: '/ns0', nameservices: ['ns0'] },
    { path: '/ns1', nameservices: ['ns1'] },
    { path: ALL_MOUNT, nameservices: ['ns0', 'ns1'] },
  ]);
  namenodes.add('other', 4711);
  expect(namenodes.portOf('other')).toBe(4711);
  expect(namenodes.mounts).toContainEqual({ path: '/other', nameservices: ['other'] });
  expect(namenodes.mounts).toContainEqual({ path: ALL_MOUNT, nameservices: ['ns0', 'ns1'] });
});
