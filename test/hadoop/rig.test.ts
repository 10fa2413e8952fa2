import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RawClient } from '../support/raw-client.ts';
import { directEndpoint, Rig } from './support.ts';

/** What other tests take for granted of the rig itself. */

/** With three, the order of nameservices inside Hadoop's MiniDFSCluster is not that of their names. */
const NAMESERVICES = 3;

let rig: Rig;

beforeAll(async () => {
  rig = await Rig.start({ nameservices: NAMESERVICES });
});

afterAll(async () => {
  await rig?.[Symbol.asyncDispose]();
});

async function hung(): Promise<(string | null)[]> {
  const { namenodes } = (await rig.ctl({ op: 'status' })) as { namenodes: { ns: string; hung: string | null }[] };
  return namenodes.filter(({ ns }) => ns === 'ns0').map((namenode) => namenode.hung);
}

/** The NameNodes, as `ns0.nn0`, whose port takes no connection. */
async function unreachable(): Promise<string[]> {
  const reached = await Promise.all(rig.up.namenodes.map(({ rpc }) => listens(rpc)));
  return rig.up.namenodes.filter((_, i) => !reached[i]).map(({ ns, nn }) => `${ns}.${nn}`);
}

async function listens(address: string): Promise<boolean> {
  const { host, port } = directEndpoint(address);
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** What the NameNode of that address says to a read: a standby refuses it. */
async function readAt(rpc: string): Promise<string> {
  using client = await RawClient.connect(directEndpoint(rpc), { user: rig.up.user });
  return (await client.call({ method: 'getFileInfo', request: { src: '/' } })).status;
}

describe('control requests', () => {
  it('resume ends what hang began, without a mode both', async () => {
    const at = { ns: 'ns0', nn: 'nn0' };
    await rig.ctl({ op: 'hang', ...at });
    expect(await hung()).toEqual(['rpc', null]);
    await rig.ctl({ op: 'hang', ...at, mode: 'lock' });
    await rig.ctl({ op: 'resume', ...at });
    expect(await hung()).toEqual([null, null]);
  });

  it.each(['ns0', 'ns1', 'ns2'])('stop, start and failover reach the NameNode they name, in %s', async (ns) => {
    expect((await rig.active(ns)).nn).toBe('nn0');
    await rig.ctl({ op: 'stop', ns, nn: 'nn0' });
    expect(await unreachable()).toEqual([`${ns}.nn0`]);
    await rig.ctl({ op: 'failover', ns, to: 'nn1' });
    expect((await rig.active(ns)).nn).toBe('nn1');
    expect(await readAt(rig.namenode(ns, 'nn1').rpc)).toBe('SUCCESS');
    await rig.ctl({ op: 'start', ns, nn: 'nn0' });
    expect(await unreachable()).toEqual([]);
    expect(await readAt(rig.namenode(ns, 'nn0').rpc)).toBe('ERROR');
  });
});
