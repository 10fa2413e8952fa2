import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { directory, EchoNameNode } from '../support/echo-namenode.ts';
import { InlineRouter, type InlineRouterOptions } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';

/** The mount table in use: what a client's path becomes, what is answered at and above mount points. */

const MOUNTS: InlineRouterOptions['mounts'] = [
  '/same=ns0:/same',
  '/moved=ns0:/far/away',
  '/other=ns1:/other',
  '/root=ns1:/',
  '/top/one=ns0:/one',
  '/top/two/deep=ns1:/deep',
  '/nest=ns0:/nest',
  '/nest/in=ns1:/in',
  {
    srcPath: '/locked',
    destinations: [{ nameserviceId: 'ns0', path: '/locked' }],
    readOnly: true,
    ownerName: 'keeper',
    groupName: 'keepers',
    mode: '0750',
    dateModified: 1_234_567_890_123,
  },
  {
    srcPath: '/many',
    destinations: [
      { nameserviceId: 'ns0', path: '/many' },
      { nameserviceId: 'ns1', path: '/many' },
    ],
    destOrder: 'HASH_ALL',
  },
  '/strange=elsewhere:/x',
];
const NO_RESOLUTION = 'org.apache.hadoop.hdfs.server.federation.resolver.RouterResolveException';
const ACCESS_CONTROL = 'org.apache.hadoop.security.AccessControlException';

let ns0: EchoNameNode;
let ns1: EchoNameNode;

beforeAll(async () => {
  ns0 = await EchoNameNode.start('ns0');
  ns1 = await EchoNameNode.start('ns1');
});

afterAll(async () => {
  await ns0[Symbol.asyncDispose]();
  await ns1[Symbol.asyncDispose]();
});

const opened: InlineRouter[] = [];

async function startRouter(options: Partial<InlineRouterOptions> = {}): Promise<InlineRouter> {
  const router = await InlineRouter.start({
    nameservices: { ns0: ns0.port, ns1: ns1.port },
    mounts: MOUNTS,
    ...options,
  });
  opened.push(router);
  return router;
}

const DEFAULT_NS1 = { 'dfs.federation.router.default.nameserviceId': 'ns1' };

let router: InlineRouter;
let client: RawClient;

beforeEach(async () => {
  router = await startRouter();
  client = await RawClient.connect(router, { user: 'alice' });
});

afterEach(async () => {
  client[Symbol.dispose]();
  for (const each of opened.splice(0)) await each[Symbol.asyncDispose]();
  ns0.calls.length = 0;
  ns1.calls.length = 0;
});

/** `nameservice:path` that the NameNode was asked for. */
async function targetOf(path: string, from: RawClient = client): Promise<string> {
  const { fs } = (await from.result({ method: 'getFileInfo', request: { src: path } })) as { fs: Plain };
  return `${fs['group']}:${fs['owner']}`;
}

async function failureOf(method: string, request: object, from: RawClient = client): Promise<string> {
  const { exception, message } = await from.call({ method, request });
  return `${exception}: ${message}`;
}

async function withDefault(use: (client: RawClient) => Promise<void>): Promise<void> {
  const other = await startRouter({ keys: DEFAULT_NS1 });
  using another = await RawClient.connect(other, { user: 'alice' });
  await use(another);
}

const PERMISSION = { perm: 0o755 };

describe('a path under a mount', () => {
  it.each([
    ['/same/x', 'ns0:/same/x'],
    ['/moved', 'ns0:/far/away'],
    ['/moved/x/y', 'ns0:/far/away/x/y'],
    ['/root', 'ns1:/'],
    ['/root/x', 'ns1:/x'],
    ['/nest/x', 'ns0:/nest/x'],
    ['/nest/inx', 'ns0:/nest/inx'],
    ['/nest/in/x', 'ns1:/in/x'],
    ['/nest/in', 'ns1:/in'],
    // Slashes are tidied, with and without another target.
    ['//same//x', 'ns0:/same/x'],
    ['/same/x/', 'ns0:/same/x'],
    ['/moved//x///y/', 'ns0:/far/away/x/y'],
    ['/root/', 'ns1:/'],
    // Dots are names like any others: it is the NameNode that refuses them.
    ['/same/./x', 'ns0:/same/./x'],
    ['/moved/../x', 'ns0:/far/away/../x'],
    ['/same/é 😀', 'ns0:/same/é 😀'],
  ])('%s becomes %s', async (path, target) => {
    expect(await targetOf(path)).toBe(target);
  });

  it('beside the mount of that name is not under it', async () => {
    expect(await failureOf('getFileInfo', { src: '/samex' })).toContain(NO_RESOLUTION);
  });
});

describe('a path that no mount covers', () => {
  it.each(['/none/x', '', 'rel', './x', '..', '/', '//'])(
    '%j has no location without a default nameservice',
    async (path) => {
      const shown = path === '//' ? '/' : path;
      // A call that directories made of mounts do not answer.
      expect(await failureOf('setPermission', { src: path, permission: PERMISSION })).toBe(
        `${NO_RESOLUTION}: Cannot find locations for ${shown}, because the default nameservice is disabled to read or write`,
      );
      expect(ns0.calls.length + ns1.calls.length).toBe(0);
    },
  );

  it('goes to the default nameservice as it is, tidied', async () => {
    await withDefault(async (another) => {
      expect(await targetOf('/none/x', another)).toBe('ns1:/none/x');
      expect(await targetOf('//none//x/', another)).toBe('ns1:/none/x');
      expect(await targetOf('rel', another)).toBe('ns1:rel');
      expect(await targetOf('', another)).toBe('ns1:');
      expect(await targetOf('/same/x', another)).toBe('ns0:/same/x');
    });
  });

  it('has none when the default nameservice is switched off', async () => {
    const off = { ...DEFAULT_NS1, 'dfs.federation.router.default.nameservice.enable': 'false' };
    const other = await startRouter({ keys: off });
    using another = await RawClient.connect(other, { user: 'alice' });
    expect(await failureOf('getFileInfo', { src: '/none' }, another)).toContain(NO_RESOLUTION);
  });

  it('is under a mount of the root, when there is one', async () => {
    const other = await startRouter({ mounts: ['/=ns1:/base', '/same=ns0:/same'] });
    using another = await RawClient.connect(other, { user: 'alice' });
    expect(await targetOf('/none/x', another)).toBe('ns1:/base/none/x');
    expect(await targetOf('/', another)).toBe('ns1:/base');
    expect(await targetOf('/same', another)).toBe('ns0:/same');
    expect(await failureOf('getFileInfo', { src: 'rel' }, another)).toContain(NO_RESOLUTION);
  });
});

describe('mounts that refuse', () => {
  it('read-only ones refuse what writes and serve what reads', async () => {
    expect(await failureOf('mkdirs', { src: '/locked/x', masked: PERMISSION, createParent: true })).toBe(
      'java.io.IOException: /locked/x is in a read only mount point',
    );
    expect(await failureOf('rename', { src: '/same/x', dst: '/locked/x' })).toBe(
      'java.io.IOException: /locked/x is in a read only mount point',
    );
    // These two pass a Java Router: it asks no mount for concat, and takes satisfyStoragePolicy for a read.
    for (const [method, request] of [
      ['concat', { trg: '/locked/x', srcs: ['/locked/y'] }],
      ['satisfyStoragePolicy', { src: '/locked/x' }],
    ] as const) {
      expect(await failureOf(method, request)).toBe('java.io.IOException: /locked/x is in a read only mount point');
    }
    expect(ns0.calls.length).toBe(0);
    expect(await targetOf('/locked/x')).toBe('ns0:/locked/x');
  });

  it('what would take a mount point away', async () => {
    const refusal = 'The operation is not allowed because';
    const remove = (src: string): Promise<string> => failureOf('delete', { src, recursive: true });
    expect(await remove('/same')).toBe(`${ACCESS_CONTROL}: ${refusal} the path: /same is a mount point`);
    expect(await remove('/top')).toBe(
      `${ACCESS_CONTROL}: ${refusal} there are mount points: one,two under the path: /top`,
    );
    expect(await remove('/top/two')).toContain(`${refusal} there are mount points: deep under the path: /top/two`);
    // A mount point with others below names those, as the Java Router does.
    expect(await remove('/nest')).toContain(`${refusal} there are mount points: in under the path: /nest`);
    expect(await failureOf('rename', { src: '/moved/', dst: '/same/x' })).toContain(
      'the path: /moved is a mount point',
    );
    expect(ns0.calls.length + ns1.calls.length).toBe(0);
  });

  it('a mount into a nameservice that is not behind this router', async () => {
    expect(await failureOf('getFileInfo', { src: '/strange/y' })).toBe(
      'java.io.IOException: Cannot locate a registered namenode for elsewhere from router:8888',
    );
    expect(await targetOf('/same/x')).toBe('ns0:/same/x');
  });

  it('a rename from one nameservice to another', async () => {
    expect(await failureOf('rename', { src: '/same/x', dst: '/other/x' })).toBe(
      'java.io.IOException: Rename of /same/x to /other/x is not allowed, no eligible destination in the same namespace was found: /same/x is in nameservice ns0, /other/x in nameservice ns1',
    );
  });
});

describe('getFileInfo at and above mount points', () => {
  async function status(path: string, from: RawClient = client): Promise<Plain> {
    return ((await from.result({ method: 'getFileInfo', request: { src: path } })) as { fs: Plain }).fs;
  }

  const VIRTUAL = {
    fileType: 'IS_DIR',
    path: Buffer.alloc(0),
    permission: { perm: 0o777 },
    owner: 'router',
    group: 'supergroup',
    fileId: 0,
    length: 0,
  };

  it('a directory made of mount points', async () => {
    expect(await status('/')).toMatchObject({ ...VIRTUAL, childrenNum: 9 });
    expect(await status('/top')).toMatchObject({ ...VIRTUAL, childrenNum: 2 });
    expect(await status('/top/two/')).toMatchObject({ ...VIRTUAL, childrenNum: 1 });
    expect(ns0.calls.length + ns1.calls.length).toBe(0);
  });

  it('is asked of the default nameservice first', async () => {
    await withDefault(async (another) => {
      expect(await status('/top', another)).toMatchObject({ owner: '/top', group: 'ns1', fileId: 16_385 });
      ns1.answers['getFileInfo'] = () => ({});
      try {
        expect(await status('/top', another)).toMatchObject({ ...VIRTUAL, childrenNum: 2 });
        expect(await client.result({ method: 'getFileInfo', request: { src: '/other/x' } })).toEqual({});
      } finally {
        ns1.answers['getFileInfo'] = ({ path }) => ({ fs: directory(path, 'ns1') });
      }
    });
  });

  it('a mount point is what its target is, or its record when that is missing', async () => {
    expect(await status('/locked')).toMatchObject({ owner: '/locked', group: 'ns0', fileId: 16_385 });
    ns0.answers['getFileInfo'] = () => ({});
    try {
      expect(await status('/locked')).toMatchObject({
        ...VIRTUAL,
        permission: { perm: 0o750 },
        owner: 'keeper',
        group: 'keepers',
        childrenNum: 0,
        modification_time: 1_234_567_890_123,
      });
      expect(await client.result({ method: 'getFileInfo', request: { src: '/locked/x' } })).toEqual({});
    } finally {
      ns0.answers['getFileInfo'] = ({ path }) => ({ fs: directory(path, 'ns0') });
    }
  });

  it('the error of a NameNode is the answer', async () => {
    // Unknown to the topology: nothing can be said about the target.
    expect(await failureOf('getFileInfo', { src: '/strange' })).toContain('Cannot locate a registered namenode');
  });
});

describe('getListing at and above mount points', () => {
  /** A directory of these names, listed in pages. */
  function serveListing(namenode: EchoNameNode, names: readonly string[], pageSize = 1000): void {
    const sorted = names.map((name) => Buffer.from(name)).sort(Buffer.compare);
    namenode.answers['getListing'] = ({ request }) => {
      const after = sorted.filter((name) => Buffer.compare(name, request['startAfter'] as Buffer) > 0);
      const page = after.slice(0, pageSize).map((name) => directory('nn', 'nn', name.toString()));
      return { dirList: { partialListing: page, remainingEntries: Math.max(0, after.length - pageSize) } };
    };
  }

  interface Page {
    names: string[];
    remaining: number;
    entries: Plain[];
  }

  async function page(src: string, startAfter = '', from: RawClient = client): Promise<Page> {
    const request = { src, startAfter: Buffer.from(startAfter), needLocation: false };
    const { dirList } = (await from.result({ method: 'getListing', request })) as { dirList: Plain };
    const entries = dirList['partialListing'] as Plain[];
    return {
      names: entries.map(({ path }) => String(path)),
      remaining: dirList['remainingEntries'] as number,
      entries,
    };
  }

  const TOP_LEVEL = ['locked', 'many', 'moved', 'nest', 'other', 'root', 'same', 'strange', 'top'];

  it('the root without a default nameservice shows the mounts', async () => {
    const { names, remaining, entries } = await page('/');
    expect(names).toEqual(TOP_LEVEL);
    expect(remaining).toBe(0);
    // As its target has it, which a record only stands in for.
    expect(entries[0]).toMatchObject({ owner: '/locked', group: 'ns0', permission: { perm: 0o755 }, fileId: 16_385 });
    ns0.answers['getFileInfo'] = () => ({});
    try {
      const record = { owner: 'keeper', group: 'keepers', permission: { perm: 0o750 }, fileId: 0 };
      expect((await page('/')).entries[0]).toMatchObject(record);
    } finally {
      ns0.answers['getFileInfo'] = ({ path }) => ({ fs: directory(path, 'ns0') });
    }
    expect(entries.at(-1)).toMatchObject({ owner: 'router', permission: { perm: 0o777 }, childrenNum: 2 });
  });

  it('the root with one shows its children too, each name once', async () => {
    serveListing(ns1, ['apps', 'same', 'zoo']);
    await withDefault(async (another) => {
      expect((await page('/', '', another)).names).toEqual([...TOP_LEVEL, 'apps', 'zoo'].sort());
      expect((await page('/', 'root', another)).names).toEqual(['same', 'strange', 'top', 'zoo']);
    });
  });

  it('an ancestor of mounts, also when the default nameservice has no such directory', async () => {
    expect((await page('/top')).names).toEqual(['one', 'two']);
    expect((await page('/top//two/')).names).toEqual(['deep']);
    await withDefault(async (another) => {
      ns1.answers['getListing'] = () => ({});
      expect((await page('/top', '', another)).names).toEqual(['one', 'two']);
      serveListing(ns1, ['file', 'one']);
      expect((await page('/top', '', another)).names).toEqual(['file', 'one', 'two']);
    });
  });

  it('a mount with others below, page by page', async () => {
    serveListing(ns0, ['a', 'c', 'e', 'y'], 2);
    const other = await startRouter({ mounts: ['/page=ns0:/page', '/page/b1=ns1:/b1', '/page/z1=ns1:/z1'] });
    using another = await RawClient.connect(other, { user: 'alice' });
    expect(await page('/page', '', another)).toMatchObject({ names: ['a', 'b1', 'c'], remaining: 3 });
    expect(await page('/page', 'c', another)).toMatchObject({ names: ['e', 'y', 'z1'], remaining: 0 });
    expect(await page('/page', 'z1', another)).toMatchObject({ names: [], remaining: 0 });
  });

  it('a mount without others below is the listing of its target, untouched', async () => {
    serveListing(ns0, ['p', 'q']);
    expect((await page('/moved')).names).toEqual(['p', 'q']);
    expect(ns0.callsOf('getListing').map(({ path }) => path)).toEqual(['/far/away']);
    // Nor does a missing target look like a directory.
    ns0.answers['getListing'] = () => ({});
    expect(
      await client.result({
        method: 'getListing',
        request: { src: '/moved/x', startAfter: Buffer.alloc(0), needLocation: false },
      }),
    ).toEqual({});
  });

  it('a directory made of mount points has one time: that of the newest record at or below it', async () => {
    const dated = (srcPath: string, dateModified: number) => ({
      srcPath,
      destinations: [{ nameserviceId: 'ns0', path: '/x' }],
      dateModified,
    });
    const other = await startRouter({ mounts: [dated('/d/old', 1000), dated('/d/e/new', 3000), dated('/d/e', 2000)] });
    using another = await RawClient.connect(other, { user: 'alice' });
    const timesOf = async (src: string): Promise<unknown> => {
      const { fs } = (await another.result({ method: 'getFileInfo', request: { src } })) as { fs: Plain };
      return [fs['modification_time'], fs['access_time']];
    };
    const listed = async (src: string, name: string): Promise<unknown> => {
      const entry = (await page(src, '', another)).entries.find(({ path }) => String(path) === name) as Plain;
      return [entry['modification_time'], entry['access_time']];
    };
    ns0.answers['getFileInfo'] = () => ({});
    try {
      for (const [path, parent, name, time] of [
        ['/d', '/', 'd', 3000],
        ['/d/e', '/d', 'e', 3000],
        ['/d/old', '/d', 'old', 1000],
      ] as const) {
        expect([path, await timesOf(path)]).toEqual([path, [time, time]]);
        expect([path, await listed(parent, name)]).toEqual([path, [time, time]]);
      }
    } finally {
      ns0.answers['getFileInfo'] = ({ path }) => ({ fs: directory(path, 'ns0') });
    }
  });

  it('every name comes once and in order, whatever the pages', async () => {
    const unit = fc.constantFrom('a', 'b', '-', '.', 'é', '\u{1f600}');
    const name = fc.string({ unit, minLength: 1, maxLength: 3 }).filter((each) => each !== '.' && each !== '..');
    const sets = fc.record({
      files: fc.uniqueArray(name, { maxLength: 12 }),
      mounts: fc.uniqueArray(name, { minLength: 1, maxLength: 6 }),
      pageSize: fc.integer({ min: 1, max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(sets, async ({ files, mounts, pageSize }) => {
        serveListing(ns0, files, pageSize);
        const other = await startRouter({ mounts: ['/d=ns0:/d', ...mounts.map((each) => `/d/${each}=ns1:/x`)] });
        using another = await RawClient.connect(other, { user: 'alice' });
        const seen: string[] = [];
        for (let last = '', more = true; more; ) {
          const { names, remaining } = await page('/d', last, another);
          seen.push(...names);
          last = names.at(-1) ?? last;
          more = remaining > 0;
          if (more) expect(names.length).toBeGreaterThan(0);
        }
        const all = [...new Set([...files, ...mounts])].map((each) => Buffer.from(each)).sort(Buffer.compare);
        expect(seen).toEqual(all.map(String));
      }),
      { seed: 7, numRuns: 60, interruptAfterTimeLimit: 1_500, markInterruptAsFailure: false },
    );
  });
});

describe('trash', () => {
  it.each([
    ['/user/alice/.Trash/Current/moved/x', 'ns0'],
    ['/user/alice/.Trash/Current/other/x', 'ns1'],
    ['/user/alice/.Trash/230101123000/other/x', 'ns1'],
    ['/user/alice/.Trash/230101123000-1/other/x', 'ns1'],
    ['/user/alice/.Trash/Current/nest/in/x', 'ns1'],
  ])('%s goes, unchanged, where the deleted path lived', async (path, nameservice) => {
    expect(await targetOf(path)).toBe(`${nameservice}:${path}`);
    expect(await targetOf(`/${path}/`)).toBe(`${nameservice}:${path}`);
  });

  it('a move to trash stays in the nameservice', async () => {
    ns0.answers['rename2'] = () => ({});
    const dst = '/user/alice/.Trash/Current/moved/x';
    await client.result({ method: 'rename2', request: { src: '/moved/x', dst, overwriteDest: false } });
    expect(ns0.callsOf('rename2').map(({ request }) => [request['src'], request['dst']])).toEqual([
      ['/far/away/x', dst],
    ]);
  });

  it('of somebody else, and what only looks like it, is an ordinary path', async () => {
    const ordinary = [
      '/user/bob/.Trash/Current/moved/x',
      '/user/alice/.Trashy/Current/moved/x',
      '/user/alice/.Trash/Currently/moved/x',
      '/user/alice/.Trash/x1/moved/x',
    ];
    for (const src of ordinary) expect(await failureOf('getFileInfo', { src })).toContain(NO_RESOLUTION);
    await withDefault(async (another) => {
      for (const src of ordinary) expect(await targetOf(src, another)).toBe(`ns1:${src}`);
    });
  });

  it('of a principal is that of its first name', async () => {
    using kerberos = await RawClient.connect(router, { user: 'alice/host@REALM' });
    expect(await targetOf('/user/alice/.Trash/Current/other/x', kerberos)).toContain('ns1:');
  });
});
