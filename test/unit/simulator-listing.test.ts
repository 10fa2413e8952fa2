import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { type Answer, IO, NOT_FOUND, namesOf, SimulatorCaller } from './simulator-caller.ts';

let nn: SimulatorCaller;

beforeAll(async () => {
  nn = await SimulatorCaller.start({ listingLimit: 2 });
  for (const path of ['/a/a1', '/a/a2', '/a/a3', '/b/b1', '/empty', '/c/c1', '/c/c2']) await nn.mkdirs(path);
  await nn.write('/f');
});

afterAll(async () => {
  await nn.checkStandby();
  await nn[Symbol.asyncDispose]();
});

describe('getListing', () => {
  it('goes on after a name, whether it is there or not', async () => {
    expect(await nn.page('/a')).toEqual({ names: ['a1', 'a2'], remaining: 1 });
    expect(await nn.page('/a', 'a2')).toEqual({ names: ['a3'], remaining: 0 });
    expect(await nn.page('/a', 'a11')).toEqual({ names: ['a2', 'a3'], remaining: 0 });
    expect(await nn.page('/a', 'z')).toEqual({ names: [], remaining: 0 });
  });
});

describe('getBatchedListing', () => {
  /** Names by path, page by page; a path with an exception has its text. */
  async function listAll(paths: readonly string[]): Promise<string[]> {
    const pages: string[] = [];
    let startAfter: Buffer = Buffer.alloc(0);
    for (let page = 0; page < 20; page++) {
      const answer = (await nn.ask('getBatchedListing', { paths, startAfter, needLocation: false })) as Plain;
      const listings = answer['listings'] as Plain[];
      pages.push(listings.map((one) => describeListing(paths, one)).join(' '));
      startAfter = answer['startAfter'] as Buffer;
      if (answer['hasMore'] === false) {
        expect(startAfter).toHaveLength(0);
        return pages;
      }
    }
    throw new Error('the listing does not end');
  }

  function describeListing(paths: readonly string[], one: Plain): string {
    const exception = one['exception'] as Plain | undefined;
    const found =
      exception === undefined ? namesOf(one).join(',') : `${exception['className']}: ${exception['message']}`;
    return `${paths[one['parentIdx'] as number]}=${found}`;
  }

  it('fills pages over several directories, and goes on in the middle of one', async () => {
    expect(await listAll(['/a', '/b', '/empty', '/c'])).toEqual(['/a=a1,a2', '/a=a3 /b=b1', '/b= /empty= /c=c1,c2']);
    expect(await listAll(['/f', '/f', '/f'])).toEqual(['/f= /f=', '/f=']);
    expect(await listAll([])).toEqual(['']);
  });

  it('says what is wrong with one path in its place', async () => {
    expect(await listAll(['/none', '/b'])).toEqual([`/none=${NOT_FOUND}: Path /none does not exist /b=b1`]);
  });

  it('refuses too many paths, and a key of other paths', async () => {
    const request = { startAfter: Buffer.alloc(0), needLocation: false };
    expect(await nn.ask('getBatchedListing', { ...request, paths: Array.from({ length: 101 }, () => '/a') })).toBe(
      'java.lang.IllegalArgumentException: Too many source paths (101 > 100)',
    );
    const first = (await nn.ask('getBatchedListing', { ...request, paths: ['/a', '/b'] })) as Plain;
    const other = { ...request, paths: ['/b'], startAfter: first['startAfter'] };
    expect(await nn.ask('getBatchedListing', other)).toContain('java.lang.IllegalArgumentException');
    const broken = { ...request, paths: ['/b'], startAfter: Buffer.from([255]) };
    expect(await nn.ask('getBatchedListing', broken)).toContain('InvalidProtocolBufferException');
  });
});

describe('listOpenFiles', () => {
  const list = (id: number, path = '/', types = ['ALL_OPEN_FILES'], user?: string): Promise<Answer> =>
    nn.ask('listOpenFiles', { id, types, path }, user);
  const entriesOf = (answer: Answer): Plain[] => (answer as Plain)['entries'] as Plain[];

  it('pages by inode id, below a path', async () => {
    for (const name of ['o1', 'o2', 'o3']) await nn.open(`/open/${name}`, { clientName: `c-${name}` });
    await nn.open('/open2');
    const first = await list(0);
    expect(first).toMatchObject({ hasMore: true, types: ['ALL_OPEN_FILES'] });
    expect(entriesOf(first).map((entry) => `${entry['path']} ${entry['clientName']}`)).toEqual([
      '/open/o1 c-o1',
      '/open/o2 c-o2',
    ]);
    const second = await list(entriesOf(first)[1]!['id'] as number);
    expect(second).toMatchObject({ hasMore: false, entries: [{ path: '/open/o3' }, { path: '/open2' }] });
    expect(entriesOf(await list(0, '/open2')).map((entry) => entry['path'])).toEqual(['/open2']);
    expect(entriesOf(await list(0, '/', ['BLOCKING_DECOMMISSION']))).toEqual([]);
    expect(await list(0, '/', ['ALL_OPEN_FILES'], 'bob')).toContain('Superuser privilege is required');
  });
});

describe('inode ids', () => {
  it('begin where they are told to, else where HDFS begins', async () => {
    await using both = await SimulatorCaller.start({ nameservices: ['ns0', 'ns1'], rootInodeIds: { ns1: 500_000 } });
    const idOf = async (nameservice: number): Promise<unknown> => {
      const answer = (await both.ask('getFileInfo', { src: '/' }, 'root', nameservice)) as Plain;
      return (answer['fs'] as Plain)['fileId'];
    };
    expect([await idOf(0), await idOf(1)]).toEqual([16_385, 500_000]);
    await expect(SimulatorCaller.start({ rootInodeIds: { ns0: 0 } })).rejects.toThrow('root inode id of ns0 0');
  });
});

describe('what files cannot be', () => {
  it('has no DataNodes to write to', async () => {
    await nn.open('/g');
    expect(
      await nn.ask('addBlock', { src: '/g', clientName: 'c1', excludeNodes: [], favoredNodes: [], flags: [] }),
    ).toBe(
      `${IO}: File /g could only be written to 0 of the 1 minReplication nodes. ` +
        'There are 0 datanode(s) running and 0 node(s) are excluded in this operation.',
    );
  });
});
