import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RawCall, RawClient, RawReply } from '../support/raw-client.ts';
import { ScriptedCluster } from '../support/scripted-cluster.ts';
import { answerPlainly, IO, type NameNodeCall, type ScriptedNameNode } from '../support/scripted-namenode.ts';

/** What becomes of calls that were in flight when the connection to the NameNode was lost: nobody knows whether they were executed. */

let cluster: ScriptedCluster;
let namenode: ScriptedNameNode;

beforeAll(async () => {
  cluster = await ScriptedCluster.start({ nameservices: { ns0: ['active'] } });
  namenode = cluster.namenode('ns0');
});

afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
});

interface Kind {
  readonly name: string;
  make(src: string): RawCall;
}

const PERMISSION = { perm: 0o755 };
const READ: Kind = { name: 'a read', make: (src) => ({ method: 'getFileInfo', request: { src } }) };
const IDEMPOTENT: Kind = {
  name: 'an idempotent change',
  make: (src) => ({ method: 'mkdirs', request: { src, masked: PERMISSION, createParent: true } }),
};
const AT_MOST_ONCE: readonly Kind[] = [
  { name: 'delete', make: (src) => ({ method: 'delete', request: { src, recursive: true } }) },
  { name: 'rename', make: (src) => ({ method: 'rename', request: { src, dst: `${src}-to` } }) },
  {
    name: 'create',
    make: (src) => ({
      method: 'create',
      request: {
        src,
        masked: PERMISSION,
        clientName: 'writer',
        createFlag: 1,
        createParent: true,
        replication: 3,
        blockSize: 1_048_576,
      },
    }),
  },
  { name: 'append', make: (src) => ({ method: 'append', request: { src, clientName: 'writer' } }) },
];
const SIXTEEN = Buffer.from('00112233445566778899aabbccddeeff', 'hex');

let paths = 0;

/** Lets the first sending of the call end with its connection; the NameNode answers every later one. */
async function loseOnce(call: RawCall, client: RawClient): Promise<[RawReply, NameNodeCall[]]> {
  const { src } = call.request as { src: string };
  namenode.handler = (each) => {
    if (each.path === src && namenode.callsOf({ path: src }).length === 1) each.reset();
    else answerPlainly(each);
  };
  const reply = await client.call(call);
  // Whatever is still on its way to the NameNode came before this.
  expect((await client.call(READ.make(`/ns0/after-${paths++}`))).status).toBe('SUCCESS');
  return [reply, namenode.callsOf({ path: src })];
}

function expectSame(first: NameNodeCall, again: NameNodeCall): void {
  expect([again.method, again.callId, again.clientId, again.context, again.request]).toEqual([
    first.method,
    first.callId,
    first.clientId,
    first.context,
    first.request,
  ]);
  expect(again.connection).not.toBe(first.connection);
}

describe('a connection lost with a call in flight', () => {
  it.each([READ, IDEMPOTENT])('$name is sent again, whatever its client id', async ({ make }) => {
    for (const clientId of [SIXTEEN, Buffer.alloc(0), Buffer.from('short')]) {
      using client = await cluster.connect('alice', clientId);
      const [reply, sent] = await loseOnce(make(`/ns0/lost-${paths++}`), client);
      expect([reply.status, reply.exception]).toEqual(['SUCCESS', '']);
      expect(sent).toHaveLength(2);
      expectSame(sent[0] as NameNodeCall, sent[1] as NameNodeCall);
    }
  });

  it.each(AT_MOST_ONCE)('$name is sent again under the ids of the retry cache', async ({ make }) => {
    using client = await cluster.connect('alice', SIXTEEN);
    const [reply, sent] = await loseOnce({ ...make(`/ns0/lost-${paths++}`), retryCount: 2 }, client);
    expect([reply.status, reply.exception, reply.retryCount]).toEqual(['SUCCESS', '', 2]);
    expect(sent).toHaveLength(2);
    const [first, again] = sent as [NameNodeCall, NameNodeCall];
    expectSame(first, again);
    // The header, and the context for NameNodes that take the ids from there.
    expect(again.clientId).toEqual(SIXTEEN);
    expect(again.context).toContain(`,clientId:${SIXTEEN.toString('hex')},clientCallId:${reply.callId}`);
  });

  it.each(AT_MOST_ONCE)('$name without an id for the retry cache is never sent twice', async ({ name, make }) => {
    for (const clientId of [Buffer.alloc(0), Buffer.from('short'), Buffer.alloc(17, 1)]) {
      using client = await cluster.connect('alice', clientId);
      const [reply, sent] = await loseOnce(make(`/ns0/lost-${paths++}`), client);
      expect([reply.status, reply.exception]).toEqual(['ERROR', IO]);
      expect(reply.message).toContain(`was lost while ${name} was in flight`);
      expect(reply.message).toContain('may have been executed');
      expect(sent).toHaveLength(1);
    }
  });
});

describe('a change whose client has gone', () => {
  it('is not sent again after the connection was lost', async () => {
    using staying = await cluster.connect();
    const leaving = await cluster.connect();
    namenode.handler = () => {};
    const [gone, read] = [`/ns0/gone-${paths++}`, `/ns0/read-${paths++}`];
    leaving.send(IDEMPOTENT.make(gone));
    const call = await namenode.waitForCall({ path: gone });
    const reading = staying.call(READ.make(read));
    await namenode.waitForCall({ path: read });
    await cluster.vanish(leaving);
    namenode.handler = answerPlainly;
    call.reset();
    expect((await reading).status).toBe('SUCCESS');
    expect(namenode.callsOf({ path: read })).toHaveLength(2);
    expect(namenode.callsOf({ path: gone })).toHaveLength(1);
  });

  it('is not sent again when it waits for its turn to be sent alone', async () => {
    const leaving = await cluster.connect();
    using staying = await cluster.connect();
    const [slow, gone] = [`/ns0/slow-${paths++}`, `/ns0/gone-${paths++}`];
    // Eight suspects that get no answer keep all lone connections busy; the ninth waits behind them.
    namenode.handler = () => {};
    for (let i = 0; i < 8; i++) staying.send(READ.make(`${slow}-${i}`));
    await namenode.waitForCall({ path: `${slow}-7` });
    leaving.send(IDEMPOTENT.make(gone));
    const call = await namenode.waitForCall({ path: gone });
    call.reset();
    for (let i = 0; i < 8; i++) await namenode.waitForCall({ path: `${slow}-${i}` }, 2);
    await cluster.vanish(leaving);
    namenode.handler = answerPlainly;
    for (let i = 0; i < 8; i++) answerPlainly(namenode.callsOf({ path: `${slow}-${i}` })[1] as NameNodeCall);
    for (let i = 0; i < 8; i++) expect((await staying.receive()).status).toBe('SUCCESS');
    // One more of those that go alone would come after it.
    const last = `/ns0/last-${paths++}`;
    const [reply] = await loseOnce(READ.make(last), staying);
    expect(reply.status).toBe('SUCCESS');
    expect(namenode.callsOf({ path: gone })).toHaveLength(1);
  });
});
