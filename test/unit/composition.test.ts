import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Answer, tellingFailure } from '../../src/composed/answer.ts';
import { type Composition, compose, MAX_PARTS_AT_ONCE, type Target } from '../../src/composed/composition.ts';
import { Refused } from '../../src/composed/refused.ts';
import { clientMethod, otherRequest } from '../../src/composed/request.ts';
import { InlineRouter } from '../support/inline-router.ts';
import { RawClient, type RawReply } from '../support/raw-client.ts';
import { fileStatus, type NameNodeCall, RETRIABLE, ScriptedNameNode } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/** What every composed call relies on, with compositions made by the tests. */

const SOON_MS = 120;
const NOT_FOUND = 'java.io.FileNotFoundException';
const TRUE = Buffer.from([0x08, 1]);

let ns0: ScriptedNameNode;
let ns1: ScriptedNameNode;
let router: InlineRouter;
let client: RawClient;

beforeEach(async () => {
  ns0 = await ScriptedNameNode.start('ns0');
  ns1 = await ScriptedNameNode.start('ns1');
});

afterEach(async () => {
  client[Symbol.dispose]();
  await router[Symbol.asyncDispose]();
  await ns0[Symbol.asyncDispose]();
  await ns1[Symbol.asyncDispose]();
});

/** A router whose calls all go the way of `run`. */
async function start(
  run: (composition: Composition) => ReturnType<Parameters<typeof compose>[2]>,
  settings: { callBudgetMs?: number; memoryBytes?: number } = {},
): Promise<void> {
  router = await InlineRouter.start({
    nameservices: { ns0: ns0.port, ns1: ns1.port },
    mounts: ['/m=ns0:/m'],
    settings: { mountStatusTimeoutMs: SOON_MS, ...settings },
  });
  router.engine.handle = (call) => compose(router.engine, call, run);
  client = await RawClient.connect(router, { user: 'alice' });
}

const at = (nameservice: number, path: string | null = null): Target => ({
  nameservice,
  path: path === null ? null : Buffer.from(path),
  prefixBytes: path === null ? 0 : path.length,
});

const remove = { method: 'delete', request: { src: '/m/f', recursive: false } };

async function ask(call = remove): Promise<RawReply> {
  client.send(call);
  return await client.receive();
}

/** Calls, those of requests that were given up included, and all memory that was claimed have been given back. */
async function expectNothingHeld(): Promise<void> {
  await waitUntil(() => router.engine.calls.inUse === 0, 'all calls have ended');
  await waitUntil(() => router.block.usedKib === 0, 'the budget is free again');
}

it('gives a change the ids of its client, and further ones to the same nameservice ids that a retry derives again', async () => {
  await start(async (composition) => {
    await composition.askAll(composition.own, [at(0, '/a'), { ...at(0, '/b'), place: 1 }, at(1, '/c')]);
    return TRUE;
  });
  const seen: { path: string; id: string; callId: number }[][] = [];
  for (const retryCount of [0, 1]) {
    client.send({ ...remove, callId: 77, retryCount });
    await client.receive();
    const calls = [...ns0.calls.splice(0), ...ns1.calls.splice(0)];
    seen.push(calls.map((call) => ({ path: call.path, id: call.clientId.toString('hex'), callId: call.callId })));
  }
  const own = client.clientId.toString('hex');
  expect(seen[0]).toEqual([
    { path: '/a', id: own, callId: 77 },
    { path: '/b', id: expect.not.stringContaining(own), callId: 77 },
    { path: '/c', id: own, callId: 77 },
  ]);
  expect(seen[1]).toEqual(seen[0]);
  await expectNothingHeld();
});

it('keeps the header of the client for requests of another method, and puts the path of the target in', async () => {
  await start(async (composition) => {
    const asked = otherRequest(composition.call, clientMethod('getFileInfo'), { src: '/m/f' });
    const answer = await composition.ask(asked, at(1, '/target/f'));
    return answer.ok ? TRUE : Buffer.alloc(0);
  });
  client.send({ ...remove, header: { callerContext: { context: 'job:7' } } });
  expect((await client.receive()).status).toBe('SUCCESS');
  const [call] = ns1.calls as [NameNodeCall];
  expect(call.method).toBe('getFileInfo');
  expect(call.path).toBe('/target/f');
  expect(call.clientId).toEqual(client.clientId);
  expect(call.context).toContain('job:7');
});

it('tells of an exception with its class and the path of the client', async () => {
  ns0.handler = (call) => call.fail(NOT_FOUND, `File ${call.path} is not there\n\tat a line of the stack`);
  await start(async (composition) => {
    const answer = await composition.ask(composition.own, at(0, '/target/f'));
    throw tellingFailure([answer]) ?? new Error('no failure');
  });
  const reply = await ask();
  expect(reply.exception).toBe(NOT_FOUND);
  expect(reply.message.split('\n')[0]).toBe('File /m/f is not there');
});

it('gives up on a nameservice that nobody answers for, and not on one that is slow', async () => {
  await ns0.stop();
  const slow: NameNodeCall[] = [];
  ns1.handler = (call) => slow.push(call);
  const answers: Answer[] = [];
  await start(async (composition) => {
    const dead = composition.ask(composition.own, at(0)).then((answer) => answers.push(answer));
    const late = composition.ask(composition.own, at(1)).then((answer) => answers.push(answer));
    await dead;
    // The one that was reached is still waited for.
    for (const call of slow) call.succeed({ result: true });
    await late;
    return TRUE;
  });
  expect((await ask()).status).toBe('SUCCESS');
  expect(answers.map(({ ok, nameservice }) => [nameservice, ok])).toEqual([
    [0, false],
    [1, true],
  ]);
  const [dead] = answers;
  expect(dead?.ok === false && dead.unavailable).toBe(true);
  expect(dead?.ok === false && dead.refused.message).toContain('ns0');
  await expectNothingHeld();
});

it('ends with its budget although a nameservice keeps the request', async () => {
  const kept: NameNodeCall[] = [];
  ns1.handler = (call) => kept.push(call);
  await start(
    async (composition) => {
      const answers = await composition.askAll(composition.own, [at(0), at(1)]);
      throw tellingFailure(answers) ?? new Error('no failure');
    },
    { callBudgetMs: 2 * SOON_MS },
  );
  const reply = await ask();
  expect(reply.exception).toBe('org.apache.hadoop.ipc.StandbyException');
  expect(reply.message).toContain('ns1 did not answer delete in time');
  // What comes later ends its own request, and nothing else.
  for (const call of kept) call.succeed({ result: true });
  await expectNothingHeld();
});

it('has no more requests on their way at once than the limit', async () => {
  const waiting: NameNodeCall[] = [];
  let most = 0;
  ns0.handler = (call) => {
    waiting.push(call);
    most = Math.max(most, waiting.length);
    if (waiting.length === MAX_PARTS_AT_ONCE || ns0.calls.length === 3 * MAX_PARTS_AT_ONCE) {
      for (const each of waiting.splice(0)) each.succeed({ fs: fileStatus() });
    }
  };
  await start(async (composition) => {
    const asked = otherRequest(composition.call, clientMethod('getFileInfo'), { src: '/m/f' });
    const answers = await composition.askAll(
      asked,
      Array.from({ length: 3 * MAX_PARTS_AT_ONCE }, () => at(0)),
    );
    expect(answers.every(({ ok }) => ok)).toBe(true);
    return TRUE;
  });
  expect((await ask()).status).toBe('SUCCESS');
  expect(most).toBe(MAX_PARTS_AT_ONCE);
  await expectNothingHeld();
});

it('sends nothing more once the call has its answer', async () => {
  ns0.handler = (call) => call.fail(NOT_FOUND, 'not there');
  const inLine = Promise.withResolvers<Answer[]>();
  await start(async (composition) => {
    const targets = Array.from({ length: MAX_PARTS_AT_ONCE + 5 }, () => at(0));
    const asked = composition.askAll(composition.own, targets);
    asked.then(inLine.resolve, inLine.reject);
    throw new Refused(RETRIABLE, 'ended early');
  });
  expect((await ask()).exception).toBe(RETRIABLE);
  const answers = await inLine.promise;
  expect(answers.slice(-5).map((answer) => answer.ok || answer.refused.message)).toEqual(
    Array.from({ length: 5 }, () => 'The call was answered without this part of it'),
  );
  expect(ns0.calls).toHaveLength(MAX_PARTS_AT_ONCE);
  await expectNothingHeld();
});

it('ends the call and not the thread when its code fails', async () => {
  await start(async () => {
    throw new TypeError('a defect');
  });
  const reply = await ask();
  expect(reply.exception).toBe('java.io.IOException');
  expect(router.count('callsBroken')).toBe(1);
  await expectNothingHeld();
});

it('ends with the exception that its code refuses the call with', async () => {
  await start(async () => {
    throw new Refused(RETRIABLE, 'later');
  });
  expect(await ask()).toMatchObject({ exception: RETRIABLE, message: 'later' });
});

it('goes on when its client has gone, and answers nobody', async () => {
  const kept: NameNodeCall[] = [];
  ns0.handler = (call) => kept.push(call);
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  await start(async (composition) => {
    const first = composition.ask(composition.own, at(0));
    resolve();
    await first;
    // Nothing is sent any more.
    await composition.ask(composition.own, at(1));
    return TRUE;
  });
  client.send(remove);
  await asked;
  await ns0.until(() => kept.length === 1, 'the first request has come');
  client.socket.resetAndDestroy();
  await waitUntil(() => router.count('clientsClosed') === 1, 'the client is gone');
  for (const call of kept) call.succeed({ result: true });
  await expectNothingHeld();
  expect(ns1.calls).toEqual([]);
});
