import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { InlineRouter } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';
import {
  answerPlainly,
  fileStatus,
  type NameNodeCall,
  ScriptedNameNode,
  STANDBY,
} from '../support/scripted-namenode.ts';

/** The caller's home directory, whose trash may be in a nameservice that is down, or that refuses. */

const SOON_MS = 150;
const HOME = '/user/alice';
const TRASH = `${HOME}/.Trash`;
const STRICT = { 'dfs.federation.router.client.allow-partial-listing': 'false' };
const ACCESS_CONTROL = 'org.apache.hadoop.security.AccessControlException';
const MISSING = 'java.io.FileNotFoundException';

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

/** The home directory is ns0's; what is deleted below `/one` goes to the trash of ns1. */
async function start(keys: Readonly<Record<string, string>> = {}): Promise<RawClient> {
  const router = await InlineRouter.start({
    nameservices: { ns0: ns0.port, ns1: ns1.port },
    mounts: ['/user=ns0:/user', '/one=ns1:/one'],
    keys,
    settings: { mountStatusTimeoutMs: SOON_MS, callBudgetMs: 2 * SOON_MS },
  });
  opened.push(router);
  const client = await RawClient.connect(router, { user: 'alice' });
  opened.push(client);
  return client;
}

const directory: Plain = { ...fileStatus(0, ''), fileType: 'IS_DIR' };
const listing = { method: 'getListing', request: { src: HOME, startAfter: Buffer.alloc(0), needLocation: false } };
const remove = { method: 'delete', request: { src: HOME, recursive: true } };
const summary = { method: 'getContentSummary', request: { path: HOME } };

function holdsHome(call: NameNodeCall): void {
  const counts = { length: 5, fileCount: 1, directoryCount: 1, quota: -1, spaceConsumed: 5, spaceQuota: -1 };
  switch (call.method) {
    case 'getListing':
      call.succeed({ dirList: { partialListing: [fileStatus(1, 'a')], remainingEntries: 0 } });
      break;
    case 'getFileInfo':
      call.succeed({});
      break;
    case 'delete':
      call.succeed({ result: true });
      break;
    case 'getContentSummary':
      if (call.request['path'] === TRASH) call.fail(MISSING, `File does not exist: ${TRASH}`);
      else call.succeed({ summary: counts });
      break;
    default:
      answerPlainly(call);
  }
}

function holdsTrash(call: NameNodeCall): void {
  if (call.method === 'getFileInfo') call.succeed({ fs: directory });
  else answerPlainly(call);
}

function namesOf(response: Plain): string[] {
  const { partialListing } = response['dirList'] as { partialListing: Plain[] };
  return partialListing.map(({ path }) => String(path));
}

describe('a home directory, when the nameservice of some of its trash', () => {
  it('is down: is listed and counted without it, or fails with its name', async () => {
    const client = await start();
    ns0.handler = holdsHome;
    ns1.state = 'standby';
    expect(namesOf(await client.result(listing))).toEqual(['a']);
    expect(await client.result(summary)).toMatchObject({ summary: { fileCount: 1, directoryCount: 1 } });
    const strict = await start(STRICT);
    const refused = { exception: STANDBY, message: expect.stringContaining('getFileInfo in ns1 ') };
    expect(await strict.call(listing)).toMatchObject(refused);
  });

  it('is down: is neither deleted nor renamed', async () => {
    const client = await start();
    ns0.handler = holdsHome;
    ns1.state = 'standby';
    const refused = { exception: STANDBY, message: expect.stringContaining('getFileInfo in ns1 ') };
    expect(await client.call(remove)).toMatchObject(refused);
    expect(await client.call({ method: 'rename', request: { src: HOME, dst: '/user/b' } })).toMatchObject(refused);
    expect(ns0.callsOf({ method: 'delete' })).toHaveLength(0);
    expect(ns0.callsOf({ method: 'rename' })).toHaveLength(0);
  });

  it('has none of it: goes with its own nameservice alone', async () => {
    const client = await start();
    ns0.handler = holdsHome;
    ns1.handler = (call) => (call.method === 'getFileInfo' ? call.succeed({}) : answerPlainly(call));
    expect(await client.result(remove)).toEqual({ result: true });
    expect(ns1.callsOf({ method: 'delete' })).toHaveLength(0);
  });

  it('does not let the trash be deleted: the refusal says what is left', async () => {
    const client = await start();
    ns0.handler = holdsHome;
    ns1.handler = (call) => {
      if (call.method === 'delete') call.fail(ACCESS_CONTROL, 'Permission denied: user=alice');
      else holdsTrash(call);
    };
    expect(await client.call(remove)).toMatchObject({
      exception: ACCESS_CONTROL,
      message: `${HOME} is deleted, but not what of ${TRASH} is in ns1 (delete that again): Permission denied: user=alice`,
    });
    expect(ns1.callsOf({ method: 'delete' })[0]?.path).toBe(TRASH);
  });

  it('has it, but its own refuses: nothing is deleted', async () => {
    const client = await start();
    ns1.handler = holdsTrash;
    ns0.handler = (call) => {
      if (call.method === 'delete') call.fail(ACCESS_CONTROL, 'Permission denied: user=alice');
      else holdsHome(call);
    };
    expect(await client.call(remove)).toMatchObject({ exception: ACCESS_CONTROL });
    expect(ns1.callsOf({ method: 'delete' })).toHaveLength(0);
  });
});

describe('a home directory that its own nameservice does not have', () => {
  it('is missing, whatever trash there is elsewhere', async () => {
    const client = await start();
    ns1.handler = holdsTrash;
    ns0.handler = (call) => {
      if (call.method === 'getListing') call.succeed({});
      else if (call.method === 'getContentSummary') call.fail(MISSING, `File does not exist: ${call.request['path']}`);
      else holdsHome(call);
    };
    expect(await client.result(listing)).toEqual({});
    expect(await client.call(summary)).toMatchObject({ exception: MISSING, message: `File does not exist: ${HOME}` });
  });
});
