import { expect, it } from 'vitest';
import { decodePlain, encode, messageType } from '../../src/wire/messages.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { InlineRouter } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';
import { ScriptedNameNode } from '../support/scripted-namenode.ts';
import { delimited } from '../wire/vectors.ts';

const STATE = messageType('hadoop.hdfs.RouterFederatedStateProto');
const CALLS = 60;
/** What the scripted NameNode tells with each reply. */
const STATE_ID = 4711;

/** A message that no other call is answered with, of 0 to 3,000 bytes; the router does not look into it. */
function bodyOf(call: number): Buffer {
  return delimited(Buffer.alloc(call % 7 === 0 ? 50 * call : 5 * call, call));
}

it.each([
  ['as they come', 0],
  ['in pieces of 1 byte', 1],
  ['in pieces of 50 bytes', 50],
  ['in pieces of 1000 bytes', 1000],
])('answers with state ids, many at a time and out of order, %s, are as if each came alone', async (_, sliceBytes) => {
  await using namenode = await ScriptedNameNode.start();
  await using proxy = await FaultProxy.start({ port: namenode.port });
  proxy.toClient.sliceBytes = sliceBytes;
  await using router = await InlineRouter.start({
    nameservices: { ns0: proxy.port },
    mounts: ['/=ns0:/'],
    keys: { 'dfs.federation.router.observer.read.default': 'true' },
  });
  namenode.handler = () => {};
  using client = await RawClient.connect(router, { user: 'alice' });
  const routerFederatedState = encode(STATE, { namespaceStateIds: { ns0: STATE_ID - 1 } });
  for (let call = 0; call < CALLS; call++) {
    // Every other client brings a state id too.
    const header = call % 2 === 0 ? { routerFederatedState } : { routerFederatedState, stateId: 1 };
    client.send({ method: 'getFileInfo', request: { src: `/${call}` }, callId: call, header });
  }
  await namenode.waitForCall({ method: 'getFileInfo' }, CALLS);
  const calls = namenode.callsOf({ method: 'getFileInfo' }).reverse();
  for (const call of calls) call.succeedWith(bodyOf(call.callId));

  for (const { header } of calls) {
    expect(header['routerFederatedState']).toBeUndefined();
    expect(header['stateId']).toBeUndefined();
  }
  const replies = new Map<number, Awaited<ReturnType<RawClient['receive']>>>();
  for (let i = 0; i < CALLS; i++) {
    const reply = await client.receive();
    replies.set(reply.callId, reply);
  }
  expect(replies.size).toBe(CALLS);
  for (const [callId, { status, clientId, retryCount, header, body }] of replies) {
    expect({ status, clientId, retryCount }).toEqual({ status: 'SUCCESS', clientId: client.clientId, retryCount: 0 });
    expect(header['stateId']).toBeUndefined();
    const state = decodePlain(STATE, header['routerFederatedState'] as Buffer);
    expect(state).toEqual({ namespaceStateIds: { ns0: STATE_ID } });
    expect(body.equals(bodyOf(callId))).toBe(true);
  }
});
