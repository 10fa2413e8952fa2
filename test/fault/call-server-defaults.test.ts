import { expect, it } from 'vitest';
import { InlineRouter } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';
import { answerPlainly, type NameNodeCall, ScriptedNameNode } from '../support/scripted-namenode.ts';

const CALL = { method: 'getServerDefaults', request: {} };
const DEFAULTS = {
  blockSize: 134_217_728,
  bytesPerChecksum: 512,
  writePacketSize: 65_536,
  replication: 3,
  fileBufferSize: 4096,
};

function answer(call: NameNodeCall): void {
  if (call.method === 'getServerDefaults') call.succeed({ serverDefaults: DEFAULTS });
  else answerPlainly(call);
}

it('one answer of getServerDefaults serves all clients for its time, also while no NameNode answers', async () => {
  await using namenode = await ScriptedNameNode.start('ns0');
  namenode.handler = answer;
  await using router = await InlineRouter.start({
    nameservices: { ns0: namenode.port },
    mounts: ['/a=ns0:/a'],
    settings: { serverDefaultsMs: 60_000 },
  });
  using alice = await RawClient.connect(router, { user: 'alice' });
  using bob = await RawClient.connect(router, { user: 'bob' });
  expect(await alice.result(CALL)).toMatchObject({ serverDefaults: DEFAULTS });
  namenode.handler = () => {};
  expect(await bob.result(CALL)).toMatchObject({ serverDefaults: DEFAULTS });
  expect(await alice.result(CALL)).toMatchObject({ serverDefaults: DEFAULTS });
  expect(namenode.calls.filter(({ method }) => method === CALL.method)).toHaveLength(1);
});

it('with a period of 0 every call is asked anew, and an error is not kept', async () => {
  await using namenode = await ScriptedNameNode.start('ns0');
  namenode.handler = (call) => call.fail('java.io.IOException', 'not today');
  await using router = await InlineRouter.start({
    nameservices: { ns0: namenode.port },
    mounts: ['/a=ns0:/a'],
    settings: { serverDefaultsMs: 0 },
  });
  using client = await RawClient.connect(router, { user: 'alice' });
  expect(await client.call(CALL)).toMatchObject({ exception: 'java.io.IOException', message: 'not today' });
  namenode.handler = answer;
  expect(await client.result(CALL)).toMatchObject({ serverDefaults: DEFAULTS });
  expect(await client.result(CALL)).toMatchObject({ serverDefaults: DEFAULTS });
  expect(namenode.calls.filter(({ method }) => method === CALL.method)).toHaveLength(3);
});
