import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { InlineRouter, type InlineRouterOptions } from '../support/inline-router.ts';
import { decodeResponse, RawClient } from '../support/raw-client.ts';
import { answerPlainly, fileStatus, IO, type NameNodeCall, ScriptedNameNode } from '../support/scripted-namenode.ts';
import { createRequest, mkdirsRequest, severalMount } from '../support/several-mounts.ts';
import { waitUntil } from '../support/wait.ts';

/** Mounts with several destinations while one of their nameservices is dead, silent or of another opinion. */

const NOT_FOUND = 'java.io.FileNotFoundException';
const STANDBY = 'org.apache.hadoop.ipc.StandbyException';
const ACCESS_CONTROL = 'org.apache.hadoop.security.AccessControlException';
const SOON_MS = 100;
/** What cannot be reached is given up after it, at the latest. */
const BUDGET_MS = 600;

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

/** SPACE without figures is the order of the record: ns0, then ns1. */
async function start(
  mount: object = severalMount('SPACE'),
  options: Partial<InlineRouterOptions> = {},
): Promise<{ router: InlineRouter; client: RawClient }> {
  const router = await InlineRouter.start({
    nameservices: { ns0: ns0.port, ns1: ns1.port },
    mounts: [mount as ReturnType<typeof severalMount>],
    ...options,
    settings: { mountStatusTimeoutMs: SOON_MS, callBudgetMs: BUDGET_MS, ...options.settings },
  });
  opened.push(router);
  const client = await RawClient.connect(router, { user: 'alice' });
  opened.push(client);
  return { router, client };
}

const create = (src: string) => ({ method: 'create', request: createRequest(src) });
const remove = (src: string, recursive: boolean) => ({ method: 'delete', request: { src, recursive } });
const mkdirs = (src: string) => ({ method: 'mkdirs', request: mkdirsRequest(src) });
const permit = { method: 'setPermission', request: { src: '/m/d', permission: { perm: 0o700 } } };
const blocksOf = (src: string) => ({ method: 'getBlockLocations', request: { src, offset: 0, length: 1 } });

const directory = (childrenNum: number): Plain => ({ ...fileStatus(), fileType: 'IS_DIR', childrenNum });

/** A NameNode with nothing but the directories of these paths. */
function holding(...directories: string[]): (call: NameNodeCall) => void {
  return (call) => {
    if (call.method !== 'getFileInfo') answerPlainly(call);
    else call.succeed(directories.includes(call.path) ? { fs: directory(0) } : {});
  };
}

const methodsAt = (namenode: ScriptedNameNode): string[] => namenode.calls.map(({ method }) => method);

describe('one location after the other', () => {
  it('passes over a nameservice that is dead', async () => {
    const { client } = await start();
    await ns0.stop();
    ns1.handler = (call) =>
      call.succeed({ locations: { fileLength: 7, blocks: [], underConstruction: false, isLastBlockComplete: true } });
    expect(await client.result(blocksOf('/m/f'))).toMatchObject({ locations: { fileLength: 7 } });
    expect(ns1.calls.map(({ path }) => path)).toEqual(['/m1/f']);
  });

  it('waits for the one that could not be asked when no other has it', async () => {
    const { client } = await start(severalMount('SPACE'), { settings: { callBudgetMs: 60_000 } });
    ns0.state = 'standby';
    ns1.handler = (call) => call.fail(NOT_FOUND, `File does not exist: ${call.path}`);
    client.send(blocksOf('/m/f'));
    await ns1.waitForCall({ method: 'getBlockLocations' });
    ns0.state = 'active';
    ns0.handler = (call) =>
      call.succeed({ locations: { fileLength: 7, blocks: [], underConstruction: false, isLastBlockComplete: true } });
    const reply = await client.receive();
    expect(decodeResponse('getBlockLocations', reply.body)).toMatchObject({ locations: { fileLength: 7 } });
  });

  it('tells who refuses rather than who does not know the path, with the path of the client', async () => {
    const { client } = await start();
    ns0.handler = (call) => call.fail(NOT_FOUND, `File does not exist: ${call.path}`);
    ns1.handler = (call) => call.fail(ACCESS_CONTROL, `Permission denied: inode="${call.path}"`);
    expect(await client.call(blocksOf('/m/f'))).toMatchObject({
      exception: ACCESS_CONTROL,
      message: 'Permission denied: inode="/m/f"',
    });
    ns1.handler = ns0.handler;
    expect(await client.call(blocksOf('/m/f'))).toMatchObject({
      exception: NOT_FOUND,
      message: 'File does not exist: /m/f',
    });
  });

  it('translates the paths of the answer', async () => {
    const { client } = await start(severalMount('SPACE'));
    ns0.handler = (call) => call.fail(NOT_FOUND, call.path);
    ns1.handler = (call) => call.succeed({ targetPath: '/m1/d/target' });
    expect(await client.result({ method: 'getLinkTarget', request: { path: '/m/d' } })).toEqual({
      targetPath: '/m/d/target',
    });
  });
});

describe('create', () => {
  it('needs every nameservice: any may have the file', async () => {
    const { client } = await start();
    ns0.handler = holding('/m0');
    await ns1.stop();
    const reply = await client.call(create('/m/f'));
    expect(reply).toMatchObject({ exception: STANDBY });
    expect(reply.message).toContain('in ns1');
    expect(methodsAt(ns0)).not.toContain('create');
  });

  it('with fault tolerance goes to the next one, and says where', async () => {
    const { client } = await start(severalMount('SPACE', { faultTolerant: true }));
    ns1.handler = holding('/m1');
    await ns0.stop();
    const { fs } = (await client.result(create('/m/f'))) as { fs: Plain };
    expect(fs['namespace']).toBe('ns1');
    expect(ns1.callsOf({ method: 'create' }).map(({ path }) => path)).toEqual(['/m1/f']);
  });

  it('with fault tolerance waits for a nameservice that does not answer no longer than for a failover, once', async () => {
    const { client } = await start(severalMount('SPACE', { faultTolerant: true }));
    ns0.handler = () => {};
    ns1.handler = holding('/m1');
    // More missing directories than are asked for at one time.
    const above = '/m/1/2/3/4/5/6/7/8/9/10';
    const { fs } = (await client.result(create(`${above}/f`))) as { fs: Plain };
    expect(fs['namespace']).toBe('ns1');
    expect(methodsAt(ns0)).toEqual(['getFileInfo', 'getFileInfo']);
    expect(await client.result(mkdirs(`${above}/d`))).toEqual({ result: true });
    expect(methodsAt(ns0)).toEqual(Array.from({ length: 4 }, () => 'getFileInfo'));
  });

  it('is not made a second time where the first may have been executed', async () => {
    const { client } = await start(severalMount('SPACE', { faultTolerant: true }));
    ns1.handler = holding('/m1');
    ns0.handler = (call) => {
      if (call.method === 'create') {
        ns0.state = 'standby';
        call.reset();
      } else holding('/m0')(call);
    };
    expect((await client.call(create('/m/f'))).exception).not.toBe('');
    expect(methodsAt(ns1)).not.toContain('create');
  });

  it('reaches the NameNode with the ids of the client, and makes only the parents that are missing', async () => {
    const { client } = await start();
    ns0.handler = holding('/m0', '/m0/d');
    ns1.handler = holding('/m1');
    await client.result({ ...create('/m/d/f'), callId: 77 });
    expect(ns1.callsOf({ method: 'mkdirs' }).map(({ request }) => request)).toMatchObject([
      { src: '/m1/d', masked: { perm: 0o644 }, createParent: true },
    ]);
    const [created, ...more] = ns0.callsOf({ method: 'create' });
    expect(more).toEqual([]);
    expect(created?.callId).toBe(77);
    expect(created?.clientId.equals(client.clientId)).toBe(true);
    expect(methodsAt(ns0)).not.toContain('mkdirs');
  });
});

/** With HASH and LOCAL; the parent is in each of the nameservices once, so once not where the order says. */
describe('directories in one location', () => {
  const LOCAL = severalMount('LOCAL');
  const asked = (namenode: ScriptedNameNode) => namenode.callsOf({ method: 'getFileInfo' }).map(({ path }) => path);
  const SICK = [
    ['dead', async (namenode: ScriptedNameNode) => await namenode.stop()],
    [
      'silent',
      async (namenode: ScriptedNameNode) => {
        namenode.handler = () => {};
      },
    ],
  ] as const;

  for (const [how, spoil] of SICK) {
    for (const [sick, well] of [
      [0, 1],
      [1, 0],
    ] as const) {
      it(`create and mkdirs go to the parent in ns${well} although ns${sick} is ${how}`, async () => {
        const { client } = await start(LOCAL);
        const namenodes = [ns0, ns1] as const;
        namenodes[well].handler = holding(`/m${well}`, `/m${well}/d`);
        await spoil(namenodes[sick]);
        await client.result(create('/m/d/f'));
        expect(await client.result(mkdirs('/m/d/e'))).toEqual({ result: true });
        expect(namenodes[well].callsOf({ method: 'create' }).map(({ path }) => path)).toEqual([`/m${well}/d/f`]);
        expect(namenodes[well].callsOf({ method: 'mkdirs' }).map(({ path }) => path)).toEqual([`/m${well}/d/e`]);
      });
    }
  }

  for (const [how, spoil] of SICK) {
    it(`a change of a directory is made where it is although another nameservice is ${how}`, async () => {
      const { client } = await start(LOCAL);
      ns1.handler = holding('/m1', '/m1/d');
      await spoil(ns0);
      expect((await client.call(permit)).exception).toBe('');
      expect(ns1.callsOf({ method: 'setPermission' }).map(({ path }) => path)).toEqual(['/m1/d']);
    });
  }

  it('a change of a file asks no other nameservice', async () => {
    const { client } = await start(LOCAL);
    const namenodes = [ns0, ns1];
    for (const each of namenodes) {
      each.handler = (call) => {
        if (call.method === 'getFileInfo') call.succeed({ fs: fileStatus() });
        else answerPlainly(call);
      };
    }
    expect((await client.call(permit)).exception).toBe('');
    const [asked, other] = namenodes.toSorted((a, b) => b.calls.length - a.calls.length);
    expect(methodsAt(asked as ScriptedNameNode)).toEqual(['getFileInfo', 'setPermission']);
    expect(methodsAt(other as ScriptedNameNode)).toEqual([]);
  });

  it('create is refused while one that could not be asked may have the parent, or the file', async () => {
    const { client } = await start(LOCAL);
    ns1.handler = holding('/m1');
    await ns0.stop();
    for (const path of ['/m/d/f', '/m/f']) {
      const reply = await client.call(create(path));
      expect(reply).toMatchObject({ exception: STANDBY });
      expect(reply.message).toContain('in ns0');
    }
    expect(methodsAt(ns1)).not.toContain('create');
  });

  it('create waits for one that is slow while no other has the parent', async () => {
    const { client } = await start(LOCAL, { settings: { callBudgetMs: 60_000 } });
    ns1.handler = holding('/m1');
    const late = holding('/m0', '/m0/d');
    let unanswered = 2;
    ns0.handler = (call) => {
      if (unanswered > 0) unanswered--;
      else late(call);
    };
    await client.result(create('/m/d/f'));
    expect(ns0.callsOf({ method: 'create' }).map(({ path }) => path)).toEqual(['/m0/d/f']);
    expect(methodsAt(ns1)).not.toContain('create');
  });

  it('one round of questions where the parent is there, and one for what is above it', async () => {
    const { client } = await start(LOCAL);
    for (const [i, namenode] of [ns0, ns1].entries())
      namenode.handler = holding(`/m${i}`, ...(i === 0 ? ['/m0/d'] : []));
    await client.result(create('/m/d/f'));
    for (const [i, namenode] of [ns0, ns1].entries()) {
      expect(asked(namenode).toSorted()).toEqual([`/m${i}/d`, `/m${i}/d/f`]);
      namenode.calls.length = 0;
    }
    await client.result(mkdirs('/m/d/x/y/z'));
    for (const [i, namenode] of [ns0, ns1].entries()) {
      expect(asked(namenode).toSorted()).toEqual([`/m${i}/d`, `/m${i}/d/x`, `/m${i}/d/x/y`, `/m${i}/d/x/y/z`]);
    }
    expect(ns0.callsOf({ method: 'mkdirs' }).map(({ path }) => path)).toEqual(['/m0/d/x/y/z']);
    expect(methodsAt(ns1)).not.toContain('mkdirs');
  });
});

describe('directories everywhere', () => {
  it('mkdirs: made where it can be; that one nameservice has it not is counted', async () => {
    const { router, client } = await start();
    ns0.handler = holding('/m0');
    await ns1.stop();
    expect(await client.result(mkdirs('/m/d'))).toEqual({ result: true });
    expect(router.count('divergences')).toBe(1);
  });

  it('delete: not recursive, refused before anything is deleted when a nameservice could not be asked', async () => {
    const { client } = await start();
    ns0.handler = holding('/m0', '/m0/d');
    await ns1.stop();
    expect(await client.call(remove('/m/d', false))).toMatchObject({ exception: STANDBY });
    expect(methodsAt(ns0)).not.toContain('delete');
  });

  it('delete: a file is deleted although the other nameservice could not be asked', async () => {
    const { router, client } = await start();
    ns0.handler = (call) => (call.method === 'getFileInfo' ? call.succeed({ fs: fileStatus(1) }) : answerPlainly(call));
    await ns1.stop();
    expect(await client.result(remove('/m/f', false))).toEqual({ result: true });
    expect(router.count('divergences')).toBe(1);
  });

  it('delete: false is not said while a nameservice that may have the path could not be asked', async () => {
    const { client } = await start();
    ns0.handler = (call) => call.succeed({ result: false });
    await ns1.stop();
    expect(await client.call(remove('/m/f', true))).toMatchObject({ exception: STANDBY });
  });

  it('delete: one that fills between question and deletion is told', async () => {
    const { client } = await start();
    const NOT_EMPTY = 'org.apache.hadoop.fs.PathIsNotEmptyDirectoryException';
    ns0.handler = holding('/m0', '/m0/d');
    ns1.handler = (call) =>
      call.method === 'delete' ? call.fail(NOT_EMPTY, `\`${call.path} is non empty'`) : holding('/m1', '/m1/d')(call);
    expect(await client.call(remove('/m/d', false))).toMatchObject({
      exception: NOT_EMPTY,
      message: "`/m/d is non empty'",
    });
  });

  it('setPermission: success where it could be made', async () => {
    const { router, client } = await start();
    await ns1.stop();
    expect(await client.result(permit)).toEqual({});
    expect(router.count('divergences')).toBe(1);
    ns0.handler = (call) => call.fail(NOT_FOUND, call.path);
    const reply = await client.call(permit);
    expect(reply.exception).toBe(STANDBY);
    expect(reply.message).toContain('in ns1');
  });

  it('createEncryptionZone: one nameservice that cannot make it is told, and before it is made elsewhere if possible', async () => {
    const { client } = await start();
    const zone = { method: 'createEncryptionZone', request: { src: '/m/d', keyName: 'k' } };
    ns0.handler = holding('/m0', '/m0/d');
    ns1.handler = (call) =>
      call.method === 'getFileInfo' ? call.succeed({ fs: directory(3) }) : call.fail(IO, 'non-empty directory');
    expect(await client.call(zone)).toMatchObject({ exception: IO, message: 'non-empty directory' });
    expect(methodsAt(ns0)).not.toContain('createEncryptionZone');
    ns1.handler = (call) =>
      call.method === 'getFileInfo' ? call.succeed({ fs: directory(0) }) : call.fail(IO, 'no key provider');
    expect(await client.call(zone)).toMatchObject({ exception: IO, message: 'no key provider' });
    await ns1.stop();
    expect(await client.call(zone)).toMatchObject({ exception: STANDBY });
    expect(methodsAt(ns0).filter((method) => method === 'createEncryptionZone')).toHaveLength(1);
  });

  it('setReplication: false is not said while a nameservice that may have the file could not be asked', async () => {
    const { client } = await start();
    ns0.handler = (call) => call.succeed({ result: false });
    await ns1.stop();
    const set = { method: 'setReplication', request: { src: '/m/f', replication: 2 } };
    expect(await client.call(set)).toMatchObject({ exception: STANDBY });
  });
});

describe('snapshots', () => {
  const between = { snapshotRoot: '/m/d', fromSnapshot: 'a', toSnapshot: 'b' };

  it('createSnapshot: in all locations, with the path of the client', async () => {
    const { client } = await start();
    for (const namenode of [ns0, ns1]) {
      namenode.handler = (call) => call.succeed({ snapshotPath: `${call.request['snapshotRoot']}/.snapshot/s` });
    }
    const request = { snapshotRoot: '/m/d', snapshotName: 's' };
    expect(await client.result({ method: 'createSnapshot', request })).toEqual({ snapshotPath: '/m/d/.snapshot/s' });
    expect([methodsAt(ns0), methodsAt(ns1)]).toEqual([['createSnapshot'], ['createSnapshot']]);
  });

  it('createSnapshot: under one name, also when the client gives none', async () => {
    const { client } = await start();
    for (const namenode of [ns0, ns1]) {
      namenode.handler = (call) => call.succeed({ snapshotPath: `/x/.snapshot/${call.request['snapshotName']}` });
    }
    await client.result({ method: 'createSnapshot', request: { snapshotRoot: '/m/d' } });
    const [first, second] = [ns0, ns1].map((namenode) => namenode.calls[0]?.request['snapshotName']);
    expect(first).toMatch(/^s\d{8}-\d{6}\.\d{3}$/);
    expect(second).toBe(first);
  });

  it('getSnapshotDiffReport: what differs in any location, once', async () => {
    const { client } = await start();
    for (const [i, namenode] of [ns0, ns1].entries()) {
      namenode.handler = (call) =>
        call.succeed({
          diffReport: {
            snapshotRoot: call.request['snapshotRoot'],
            fromSnapshot: 'a',
            toSnapshot: 'b',
            diffReportEntries: ['', `file${i}`].map((name) => ({
              fullpath: Buffer.from(name),
              modificationLabel: 'M',
            })),
          },
        });
    }
    const { diffReport } = (await client.result({ method: 'getSnapshotDiffReport', request: between })) as {
      diffReport: { snapshotRoot: string; diffReportEntries: Plain[] };
    };
    expect(diffReport.snapshotRoot).toBe('/m/d');
    expect(diffReport.diffReportEntries.map(({ fullpath }) => String(fullpath))).toEqual(['', 'file0', 'file1']);
  });

  it('getSnapshotDiffReport: all locations must answer', async () => {
    const { client } = await start();
    const diffReport = { snapshotRoot: '/m0/d', fromSnapshot: 'a', toSnapshot: 'b', diffReportEntries: [] };
    ns0.handler = (call) => call.succeed({ diffReport });
    await ns1.stop();
    expect(await client.call({ method: 'getSnapshotDiffReport', request: between })).toMatchObject({
      exception: STANDBY,
    });
  });

  it('getSnapshotDiffReportListing: clients are sent to the whole report', async () => {
    const { client } = await start();
    expect(await client.call({ method: 'getSnapshotDiffReportListing', request: between })).toMatchObject({
      exception: 'org.apache.hadoop.ipc.RpcNoSuchMethodException',
      header: { errorDetail: 'ERROR_NO_SUCH_METHOD' },
    });
  });
});

describe('the end of a call', () => {
  it('leaves nothing behind when the client goes away', async () => {
    const { router, client } = await start();
    ns0.handler = () => {};
    ns1.handler = () => {};
    client.send(permit);
    await ns0.waitForCall({ method: 'setPermission' });
    client.socket.destroy();
    for (const namenode of [ns0, ns1]) {
      await namenode.waitForCall({ method: 'setPermission' });
      for (const call of namenode.calls) call.succeed({});
    }
    await waitUntil(() => router.engine.calls.inUse === 0, 'the parts have ended');
  });
});
