import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_PARTS_AT_ONCE } from '../../src/composed/composition.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { InlineRouter, type InlineRouterOptions, type MountRecord } from '../support/inline-router.ts';
import { RawClient, type RawReply } from '../support/raw-client.ts';
import { answerPlainly, fileStatus, type NameNodeCall, ScriptedNameNode } from '../support/scripted-namenode.ts';
import { createRequest, mkdirsRequest, severalMount } from '../support/several-mounts.ts';
import { waitUntil } from '../support/wait.ts';

/** What happens between the requests of one call: a failover, a new mount table, the end of its time, the same call again. */

const NOT_FOUND = 'java.io.FileNotFoundException';
const SOON_MS = 100;
/** Far more than a test takes. */
const BUDGET_MS = 60_000;
const DIRECTORY: Plain = { ...fileStatus(), fileType: 'IS_DIR', childrenNum: 0 };

let ns0: ScriptedNameNode;
let ns1: ScriptedNameNode;
const opened: (Disposable | AsyncDisposable)[] = [];

beforeEach(async () => {
  ns0 = await ScriptedNameNode.start('ns0');
  ns1 = await ScriptedNameNode.start('ns1');
});

afterEach(async () => {
  await disposeOpened(opened);
  await ns0[Symbol.asyncDispose]();
  await ns1[Symbol.asyncDispose]();
});

async function start(
  mount: MountRecord = severalMount('SPACE'),
  options: Partial<InlineRouterOptions> = {},
): Promise<{ router: InlineRouter; client: RawClient }> {
  const router = await InlineRouter.start({
    nameservices: { ns0: ns0.port, ns1: ns1.port },
    mounts: [mount],
    ...options,
    settings: { mountStatusTimeoutMs: SOON_MS, callBudgetMs: BUDGET_MS, ...options.settings },
  });
  opened.push(router);
  const client = await RawClient.connect(router, { user: 'alice' });
  opened.push(client);
  return { router, client };
}

/** A NameNode with these statuses, by path; changes succeed. */
function holding(statuses: Record<string, Plain>): (call: NameNodeCall) => void {
  return (call) => {
    const status = statuses[call.path] ?? (/^\/m\d$/.test(call.path) ? DIRECTORY : null);
    if (call.method === 'getFileInfo') call.succeed(status === null ? {} : { fs: status });
    else answerPlainly(call);
  };
}

describe('a nameservice whose NameNodes change their roles', () => {
  const moved = { src: '/m/f', dst: '/m/g' };
  const calls = {
    rename: { method: 'rename', request: moved },
    rename2: { method: 'rename2', request: { ...moved, overwriteDest: false } },
    concat: { method: 'concat', request: { trg: '/m/g', srcs: ['/m/f'] } },
  };

  it.each(Object.keys(calls) as (keyof typeof calls)[])('%s waits for the one that may have the file', async (name) => {
    const { client } = await start();
    ns0.handler = holding({});
    ns1.handler = holding({ '/m1/f': fileStatus(1), ...(name === 'concat' ? { '/m1/g': fileStatus(2) } : {}) });
    ns1.state = 'standby';
    client.send(calls[name]);
    // All are asked again when the time is over after which others could have answered instead.
    await ns0.waitForCall({ method: 'getFileInfo', path: '/m0/f' }, 2);
    ns1.state = 'active';
    expect(await client.receive()).toMatchObject({ status: 'SUCCESS' });
    expect(ns1.callsOf({ method: name }).length).toBe(1);
  });
});

describe('the end of the time of a call', () => {
  it('starts nothing elsewhere that may be done already where no answer came from', async () => {
    const mount = severalMount('SPACE', { faultTolerant: true });
    const { router, client } = await start(mount, { settings: { callBudgetMs: 4 * SOON_MS, hungAfterMs: BUDGET_MS } });
    ns0.handler = (call) => (call.method === 'create' ? undefined : holding({})(call));
    ns1.handler = holding({});
    expect((await client.call({ method: 'create', request: createRequest('/m/f') })).exception).not.toBe('');
    for (const call of ns0.callsOf({ method: 'create' })) call.succeed({});
    await waitUntil(() => router.engine.calls.inUse === 0, 'the parts have ended');
    expect(ns1.callsOf({ method: 'create' })).toEqual([]);
  });
});

describe('a mount table that changes between two requests', () => {
  it('a nameservice that only the old table names is one that cannot be asked', async () => {
    const mount = severalMount('SPACE', {
      destinations: [
        { nameserviceId: 'ns0', path: '/m0' },
        { nameserviceId: 'elsewhere', path: '/m1' },
      ],
    });
    const { router, client } = await start(mount);
    ns0.handler = (call) => {
      router.swapMounts([severalMount('SPACE')]);
      call.fail(NOT_FOUND, call.path);
    };
    const reply = await client.call({ method: 'getXAttrs', request: { src: '/m/f', xAttrs: [] } });
    expect(reply.exception).not.toBe('');
    expect(router.count('callsBroken')).toBe(0);
  });
});

describe('several locations in one nameservice', () => {
  const twice = severalMount('RANDOM', {
    destinations: [
      { nameserviceId: 'ns0', path: '/m0' },
      { nameserviceId: 'ns0', path: '/m1' },
      { nameserviceId: 'ns1', path: '/m0' },
      { nameserviceId: 'ns1', path: '/m1' },
    ],
  });

  it('each gets the ids that it got before when a call comes again', async () => {
    const { client } = await start(twice);
    ns0.handler = holding({});
    ns1.handler = holding({});
    const ids = async (retryCount: number): Promise<string[]> => {
      const before = [ns0, ns1].map(({ calls }) => calls.length);
      const request = { src: '/m/d', recursive: true };
      await client.result({ method: 'delete', request, callId: 7, retryCount });
      return [ns0, ns1]
        .flatMap(({ calls }, i) =>
          calls.slice(before[i]).map(({ path, clientId }) => `ns${i} ${path} ${clientId.toString('hex')}`),
        )
        .sort();
    };
    const first = await ids(0);
    expect(new Set(first).size).toBe(4);
    // RANDOM: another order each time.
    for (let again = 1; again <= 12; again++) expect(await ids(again)).toEqual(first);
  });

  it('a directory that moved in one of them before the call came again moves in the other', async () => {
    const mount = severalMount('SPACE', {
      destinations: [
        { nameserviceId: 'ns0', path: '/m0' },
        { nameserviceId: 'ns0', path: '/m1' },
      ],
    });
    const { client } = await start(mount);
    const request = { src: '/m/d', dst: '/m/e', overwriteDest: false };
    const known: string[] = [];
    // With a retry cache: what came before is not done again.
    const moving =
      (statuses: Record<string, Plain>) =>
      (call: NameNodeCall): void => {
        if (call.method !== 'rename2') holding(statuses)(call);
        else {
          const id = `${call.clientId.toString('hex')} ${call.callId}`;
          if (known.includes(id)) call.succeed();
          else if (statuses[String(call.path)] === undefined) call.fail(NOT_FOUND, call.path);
          else {
            known.push(id);
            statuses[String(call.request['dst'])] = statuses[call.path] as Plain;
            delete statuses[call.path];
            call.succeed();
          }
        }
      };
    const tree: Record<string, Plain> = { '/m0/d': DIRECTORY, '/m1/d': DIRECTORY };
    ns0.handler = (call) => {
      // The second location is not reached by the first call.
      if (call.method === 'rename2' && call.path === '/m1/d') call.fail('java.io.IOException', 'not now');
      else moving(tree)(call);
    };
    await client.call({ method: 'rename2', request, callId: 7 });
    expect(Object.keys(tree).sort()).toEqual(['/m0/e', '/m1/d']);
    ns0.handler = moving(tree);
    await client.call({ method: 'rename2', request, callId: 7, retryCount: 1 });
    expect(Object.keys(tree).sort()).toEqual(['/m0/e', '/m1/e']);
  });
});

describe('a file that moved before the call came again', () => {
  it('has moved; another one that has its old name now stays', async () => {
    const { client } = await start();
    ns0.handler = holding({ '/m0/g': fileStatus(1) });
    ns1.handler = holding({ '/m1/f': fileStatus(2) });
    const request = { src: '/m/f', dst: '/m/g', overwriteDest: true };
    // The NameNode of ns0 knows the call by its ids.
    expect(await client.result({ method: 'rename2', request, callId: 7, retryCount: 1 })).toEqual({});
    expect(ns0.callsOf({ method: 'rename2' }).map(({ callId }) => callId)).toEqual([7]);
    expect(ns1.callsOf({ method: 'rename2' })).toEqual([]);
  });
});

describe('many locations in a nameservice that is dead', () => {
  const EACH = 200;
  const many = severalMount('SPACE', {
    destinations: Array.from({ length: 2 * EACH }, (_, i) => ({ nameserviceId: `ns${i % 2}`, path: `/m${i}` })),
  });

  it.each([
    ['all at once', { method: 'setPermission', request: { src: '/m', permission: { perm: 0o700 } } }, 4 * SOON_MS],
    ['one after the other', { method: 'append', request: { src: '/m/f', clientName: 'writer' } }, BUDGET_MS],
  ])('are given up together: asked %s', async (_how, call, callBudgetMs) => {
    const { router, client } = await start(many, { settings: { callBudgetMs } });
    await ns1.stop();
    ns0.handler = (asked) => (asked.method === 'append' ? asked.fail(NOT_FOUND, asked.path) : asked.succeed());
    client.send(call);
    await ns0.waitForCall({ method: call.method }, EACH);
    if (call.method === 'append') await ns1.listen();
    await client.receive();
    // Those to ns0, and to ns1 no more than are on their way at one time.
    expect(router.count('partsSent')).toBeLessThanOrEqual(EACH + MAX_PARTS_AT_ONCE);
  });
});

describe('bytes that are no text', () => {
  it('are a path like any other', async () => {
    const { router, client } = await start(severalMount('HASH_ALL'));
    for (const namenode of [ns0, ns1]) namenode.handler = holding({});
    const NAME = '@@@';
    const asBytes = (call: Parameters<RawClient['send']>[0]): Promise<RawReply> => {
      const sent = client.socket.write;
      client.socket.write = ((frame: Buffer) => {
        for (let at = frame.indexOf(NAME); at >= 0; at = frame.indexOf(NAME)) frame.fill('fffec0', at, at + 3, 'hex');
        return sent.call(client.socket, frame);
      }) as typeof sent;
      const callId = client.send(call);
      client.socket.write = sent;
      expect(callId).toBeGreaterThanOrEqual(0);
      return client.receive();
    };
    for (const call of [
      { method: 'create', request: createRequest(`/m/d/${NAME}`) },
      { method: 'mkdirs', request: mkdirsRequest(`/m/${NAME}/e`) },
      { method: 'delete', request: { src: `/m/${NAME}`, recursive: true } },
      { method: 'setPermission', request: { src: `/m/${NAME}`, permission: { perm: 0o700 } } },
    ]) {
      expect(await asBytes(call), call.method).toMatchObject({ status: 'SUCCESS' });
    }
    const moved = await asBytes({ method: 'rename', request: { src: `/m/${NAME}`, dst: `/m/x${NAME}` } });
    expect(moved).toMatchObject({ status: 'SUCCESS' });
    expect(router.count('callsBroken')).toBe(0);
    await waitUntil(() => router.engine.calls.inUse === 0, 'all parts have ended');
  });
});

describe('a defect in how a call ends', () => {
  it('is told to the client, and nothing is left behind', async () => {
    const { router, client } = await start();
    ns0.handler = (call) => call.succeed({ xAttrs: [] });
    const { engine } = router;
    const { succeed } = engine;
    engine.succeed = () => {
      engine.succeed = succeed;
      throw new Error('made by the test');
    };
    const reply = await client.call({ method: 'getXAttrs', request: { src: '/m/f', xAttrs: [] } });
    expect(reply.message).toContain('made by the test');
    expect(router.count('callsBroken')).toBe(1);
    expect(engine.calls.inUse).toBe(0);
    expect(await client.result({ method: 'getXAttrs', request: { src: '/m/f', xAttrs: [] } })).toEqual({ xAttrs: [] });
  });
});
