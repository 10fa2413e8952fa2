import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { InlineRouter, type InlineRouterOptions, type MountRecord } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';
import { fileStatus, IO, type NameNodeCall, ScriptedNameNode } from '../support/scripted-namenode.ts';

/** Answers that no sound NameNode gives, and extreme ones that it may give, in calls over two nameservices. */

const STRICT = { 'dfs.federation.router.client.allow-partial-listing': 'false' };
const DEFAULT_NS0 = { 'dfs.federation.router.default.nameserviceId': 'ns0' };
const LARGEST = 2n ** 63n - 1n;
const GARBAGE = Buffer.from([3, 0x0a, 5, 1]);

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

const MANY: MountRecord = {
  srcPath: '/m',
  destinations: [
    { nameserviceId: 'ns0', path: '/m0' },
    { nameserviceId: 'ns1', path: '/m1' },
  ],
  destOrder: 'HASH_ALL',
};

async function start(options: Partial<InlineRouterOptions> = {}): Promise<{ router: InlineRouter; client: RawClient }> {
  const router = await InlineRouter.start({
    nameservices: { ns0: ns0.port, ns1: ns1.port },
    mounts: [MANY],
    ...options,
  });
  opened.push(router);
  const client = await RawClient.connect(router, { user: 'alice' });
  opened.push(client);
  return { router, client };
}

const listing = (src: string, startAfter: string | Buffer = '') => ({
  method: 'getListing',
  request: { src, startAfter: Buffer.from(startAfter as string), needLocation: false },
});
const page = (names: readonly (string | Buffer)[], remainingEntries = 0, more: object = {}) => ({
  dirList: {
    partialListing: names.map((name) => ({ ...fileStatus(1), path: Buffer.from(name as string), ...more })),
    remainingEntries,
  },
});

function answers(message: object): (call: NameNodeCall) => void {
  return (call) => call.succeed(message);
}

function namesOf(response: Plain): Buffer[] {
  return (response['dirList'] as { partialListing: Plain[] }).partialListing.map(({ path }) => path as Buffer);
}

describe('a page of a listing', () => {
  it.each<[string, string, readonly string[]]>([
    ['is not in order', '', ['b', 'a']],
    ['has a name twice', '', ['a', 'a']],
    ['starts again from the front', 'b', ['a', 'c']],
    ['repeats the last name', 'b', ['b', 'c']],
    ['has an empty name among others', '', ['', 'a']],
  ])('that %s is a failure with its name', async (_, startAfter, names) => {
    const { router, client } = await start({ keys: STRICT });
    ns0.handler = answers(page(['x']));
    ns1.handler = answers(page(names, 7));
    expect(await client.call(listing('/m', startAfter))).toMatchObject({
      exception: IO,
      message:
        'The answer of the NameNode to getListing cannot be read: that of ns1 is not in order behind the last page (nameservice ns1)',
    });
    expect(router.count('callsBroken')).toBe(0);
  });

  it('has names of any bytes, and goes on after them', async () => {
    const { client } = await start({ mounts: [MANY, '/m/mount=ns1:/mount'] });
    const [low, high] = [Buffer.from([0x01, 0xff]), Buffer.from([0xff, 0x80, 0xfe])];
    const after: string[] = [];
    ns0.handler = (call) => {
      if (call.method !== 'getListing') return call.succeed({});
      const { startAfter } = call.request as { startAfter: Buffer };
      after.push(startAfter.toString('hex'));
      call.succeed(startAfter.length === 0 ? page([low], 1) : page([high]));
    };
    ns1.handler = (call) => call.succeed(call.method === 'getListing' ? page([]) : {});
    const first = await client.result(listing('/m'));
    expect([namesOf(first), (first['dirList'] as Plain)['remainingEntries']]).toEqual([[low], 2]);
    const second = await client.result(listing('/m', low));
    expect([namesOf(second), (second['dirList'] as Plain)['remainingEntries']]).toEqual([
      [Buffer.from('mount'), high],
      0,
    ]);
    expect(after).toEqual(['', low.toString('hex')]);
  });

  it('has children of all that are counted, and none below zero', async () => {
    const { client } = await start();
    const counts = async (...each: number[]): Promise<unknown> => {
      for (const [i, childrenNum] of each.entries()) {
        (i === 0 ? ns0 : ns1).handler = answers(page(['d'], 0, { fileType: 'IS_DIR', childrenNum }));
      }
      const { dirList } = (await client.result(listing('/m'))) as { dirList: { partialListing: Plain[] } };
      return dirList.partialListing.map(({ childrenNum }) => childrenNum);
    };
    expect(await counts(2, -1)).toEqual([2]);
    expect(await counts(0x7fff_ffff, 0x7fff_ffff)).toEqual([0x7fff_ffff]);
  });

  it('of a location that fails later: the listing goes on without it, or fails', async () => {
    for (const keys of [{}, STRICT]) {
      const { client } = await start({ keys });
      ns0.handler = answers(page(['a'], 1));
      ns1.handler = answers(page(['b'], 1));
      expect(namesOf(await client.result(listing('/m'))).map(String)).toEqual(['a']);
      ns0.handler = (call) => call.fail(IO, 'a disk is full');
      ns1.handler = answers(page(['b', 'c']));
      const reply = await client.call(listing('/m', 'a'));
      if (keys === STRICT) expect(reply.message).toBe('a disk is full (nameservice ns0)');
      else expect(namesOf(await client.result(listing('/m', 'a'))).map(String)).toEqual(['b', 'c']);
    }
  });
});

describe('numbers', () => {
  const summary = (count: number | bigint) => ({
    summary: {
      length: count,
      fileCount: count,
      directoryCount: 1,
      quota: -1,
      spaceConsumed: count,
      spaceQuota: -1,
    },
  });
  const summaryOf = (path: string) => ({ method: 'getContentSummary', request: { path } });

  it('of content summaries are exact beyond the safe integers, and stop at the largest long', async () => {
    const { client } = await start();
    ns0.handler = answers(summary(2n ** 60n + 1n));
    ns1.handler = answers(summary(2));
    expect(await client.result(summaryOf('/m'))).toMatchObject({
      summary: { length: 2n ** 60n + 3n, fileCount: 2n ** 60n + 3n },
    });
    ns1.handler = answers(summary(LARGEST));
    expect(await client.result(summaryOf('/m'))).toMatchObject({ summary: { length: LARGEST, fileCount: LARGEST } });
  });

  it('that cannot be read name their nameservice', async () => {
    const { router, client } = await start({ keys: DEFAULT_NS0 });
    ns0.handler = answers(summary(1));
    ns1.handler = (call) => call.succeedWith(GARBAGE);
    expect(await client.call(summaryOf('/m'))).toMatchObject({
      exception: IO,
      message: expect.stringMatching(
        /^The answer of the NameNode to getContentSummary cannot be read: that of ns1 is not valid/,
      ),
    });
    ns0.handler = (call) =>
      call.succeed(
        call.method === 'upgradeStatus'
          ? { upgradeFinalized: true }
          : call.method === 'rollEdits'
            ? { newSegmentTxId: 1 }
            : {},
      );
    for (const method of ['upgradeStatus', 'rollEdits', 'getDatanodeReport']) {
      const request = method === 'getDatanodeReport' ? { type: 'ALL' } : {};
      expect(await client.call({ method, request }), method).toMatchObject({
        exception: IO,
        message: expect.stringMatching(/ cannot be read: that of ns1 is not valid: /),
      });
    }
    expect(router.count('callsBroken')).toBe(0);
  });
});

describe('DataNodes', () => {
  const report = { method: 'getDatanodeReport', request: { type: 'ALL' } };
  const node = (ipAddr: string, uuid: string, lastUpdate: number | bigint): Plain => ({
    id: {
      ipAddr,
      hostName: uuid,
      datanodeUuid: uuid,
      xferPort: 9866,
      infoPort: 9864,
      ipcPort: 9867,
      infoSecurePort: 0,
    },
    lastUpdate,
  });

  it('without an address are not made one', async () => {
    const { client } = await start();
    ns0.handler = answers({ di: [node('', 'u1', 1), node('', 'u2', 2)] });
    ns1.handler = answers({ di: [node('', 'u1', 3)] });
    const { di } = (await client.result(report)) as { di: { id: Plain; location: string }[] };
    expect(di.map(({ id, location }) => `${id['datanodeUuid']} ${location}`)).toEqual([
      'u1 /ns1/default-rack',
      'u2 /ns0/default-rack',
    ]);
  });

  it('may be ten thousand in each nameservice, of any age', async () => {
    const { router, client } = await start();
    const nodes = (from: number, lastUpdate: number | bigint) => ({
      di: Array.from({ length: 10_000 }, (_, i) => node(`10.${from + i}`, `u${from + i}`, lastUpdate)),
    });
    ns0.handler = answers(nodes(0, -1));
    ns1.handler = answers(nodes(5_000, LARGEST));
    const { di } = (await client.result(report)) as { di: { location: string }[] };
    expect(di.length).toBe(15_000);
    expect(di.filter(({ location }) => location.startsWith('/ns0')).length).toBe(5_000);
    expect(router.count('callsBroken')).toBe(0);
  });
});
