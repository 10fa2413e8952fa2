import { describe, expect, it } from 'vitest';
import type { MonitoredNamenode } from '../../src/control/membership/addresses.ts';
import { NamenodeCalls } from '../../src/control/quota/namenode-calls.ts';
import { ControlBlock, createControlBlock } from '../../src/shared/control-block.ts';
import { IO, type NameNodeCall, ScriptedNameNode } from '../support/scripted-namenode.ts';

const HOST = '127.0.0.1';
const USAGE = { fileAndDirectoryCount: 1, quota: -1, spaceConsumed: 0, spaceQuota: -1 };

function callsTo(namenodes: readonly ScriptedNameNode[], callTimeoutMs: number): NamenodeCalls {
  return new NamenodeCalls({
    namenodes: namenodes.map(({ port }, index): MonitoredNamenode => {
      const address = { host: HOST, port };
      const id = { nameservice: 0, index, nameserviceId: 'ns0', namenodeId: `nn${index}` };
      return {
        ...id,
        rpc: address,
        service: address,
        lifeline: address,
        web: address,
        webScheme: 'http',
        webAddress: '',
      };
    }),
    block: new ControlBlock(createControlBlock(1), 1),
    user: 'router',
    connectTimeoutMs: 2_000,
    callTimeoutMs,
  });
}

function ask(calls: NamenodeCalls, path: string, nameservice = 'ns0'): Promise<object> {
  return calls.call(nameservice, 'getQuotaUsage', { path });
}

function answer(call: NameNodeCall): void {
  call.succeed({ usage: USAGE });
}

describe('a batch of calls to active NameNodes', () => {
  it('uses one connection, and passes on what a NameNode has against a call', async () => {
    await using namenode = await ScriptedNameNode.start();
    namenode.handler = (call) => (call.request['path'] === '/bad' ? call.fail(IO, 'no') : answer(call));
    using calls = callsTo([namenode], 10_000);
    const all = await Promise.allSettled(['/a', '/bad', '/b'].map((path) => ask(calls, path)));
    expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    await expect(ask(calls, '/bad')).rejects.toMatchObject({ className: IO });
    expect(namenode.peers).toHaveLength(1);
  });

  it('gives up one slow call alone while others are answered', async () => {
    await using namenode = await ScriptedNameNode.start();
    await using other = await ScriptedNameNode.start('nn1', 'standby');
    namenode.handler = (call) => {
      if (call.request['path'] !== '/slow') answer(call);
    };
    using calls = callsTo([namenode, other], 1_500);
    const slow = ask(calls, '/slow');
    await ask(calls, '/a');
    await expect(slow).rejects.toMatchObject({ code: 'TIMEOUT' });
    await ask(calls, '/b');
    expect(other.peers).toHaveLength(0);
  });

  it('leaves a NameNode that answers nothing for the next one, with all that waits there', async () => {
    await using silent = await ScriptedNameNode.start('nn0');
    await using active = await ScriptedNameNode.start('nn1');
    silent.handler = () => {};
    active.handler = answer;
    using calls = callsTo([silent, active], 1_500);
    await Promise.all(['/a', '/b', '/c'].map((path) => ask(calls, path)));
    expect(active.calls).toHaveLength(3);
  });

  it('does not ask again where nobody answered, and names everyone with the reason', async () => {
    await using gone = await ScriptedNameNode.start('nn0');
    await using standby = await ScriptedNameNode.start('nn1', 'standby');
    await gone.stop();
    using calls = callsTo([gone, standby], 10_000);
    const refusal = {
      name: 'NameserviceUnreachable',
      nameservice: 'ns0',
      message: expect.stringMatching(/^nameservice ns0: .*ECONNREFUSED; .*is standby$/),
    };
    await expect(ask(calls, '/a')).rejects.toMatchObject(refusal);
    standby.state = 'active';
    await expect(ask(calls, '/a')).rejects.toMatchObject(refusal);
    await expect(ask(calls, '/a', 'ns9')).rejects.toThrow('not configured here');
  });

  it('ends with what is under way', async () => {
    await using namenode = await ScriptedNameNode.start();
    namenode.handler = () => {};
    const calls = callsTo([namenode], 10_000);
    const open = ask(calls, '/a');
    await namenode.waitForCall({ method: 'getQuotaUsage' });
    calls[Symbol.dispose]();
    await expect(open).rejects.toThrow('given up');
    await expect(ask(calls, '/b')).rejects.toThrow('given up');
    await namenode.until(() => namenode.openPeers().length === 0, 'the connection is closed');
  });
});
