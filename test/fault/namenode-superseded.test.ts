import { afterEach, beforeEach, expect, it } from 'vitest';
import { NameNodeState } from '../../src/shared/control-block.ts';
import { InlineRouter } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';
import { ScriptedNameNode } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/** An active NameNode that is frozen while another one takes over: what it has in flight does not wait for it until it counts as hung. */

let first: ScriptedNameNode;
let second: ScriptedNameNode;

beforeEach(async () => {
  first = await ScriptedNameNode.start('nn0');
  second = await ScriptedNameNode.start('nn1', 'standby');
});

afterEach(async () => {
  first.thaw();
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
});

const status = (src: string) => ({ method: 'getFileInfo', request: { src } });

it('calls that it holds go to the one that membership has found active', async () => {
  await using router = await InlineRouter.start({
    nameservices: { ns0: [first.port, second.port] },
    mounts: ['/=ns0:/'],
    settings: { hungAfterMs: 3_600_000 },
  });
  using client = await RawClient.connect(router, { user: 'alice' });
  expect((await client.call(status('/before'))).status).toBe('SUCCESS');
  first.freeze();
  client.send(status('/during'));
  await waitUntil(() => router.engine.pool.namenodes[0]?.[0]?.inFlight === 1, 'the first one has it');
  second.state = 'active';
  // As the main thread says what heartbeats have told it.
  router.block.setActive(0, 1);
  router.block.proveState(0, 0, NameNodeState.UNAVAILABLE);
  const reply = await client.receive(30_000);
  expect([reply.status, reply.message]).toEqual(['SUCCESS', '']);
  expect(second.calls.map(({ path }) => path)).toEqual(['/during']);
  expect(router.count('namenodesHung')).toBe(1);
});
