import { describe, expect, it } from 'vitest';
import { findRoute } from '../../src/admin/client/where.ts';
import { emptyEntry, type MountEntry, type MountOrder } from '../../src/mount/entry.ts';
import { HashRing } from '../../src/mount/order/hash-ring.ts';

function mount(sourcePath: string, destinations: string[], order: MountOrder = 'HASH'): MountEntry {
  return {
    ...emptyEntry(sourcePath, { routerUser: 'hdfs', superGroup: 'hadoop' }),
    destinations: destinations.map((text) => {
      const [nameservice = '', path = ''] = text.split(':');
      return { nameservice, path };
    }),
    order,
    dateCreated: 1,
    dateModified: 1,
  };
}

const TABLE = [
  mount('/data', ['ns0:/d']),
  mount('/data/deep', ['ns1:/']),
  mount('/hash', ['ns0:/a', 'ns1:/b']),
  mount('/random', ['ns0:/r', 'ns1:/r'], 'RANDOM'),
  mount('/leader', ['ns1:/l', 'ns0:/l'], 'LEADER_FOLLOWER'),
  // As a Java tool may have written it: no path reaches it.
  mount('/data/bad/', ['ns9:/x']),
];

function targets(path: string, table = TABLE): string[] {
  return findRoute(path, table).targets.map(({ nameservice, path: target }) => `${nameservice}:${target}`);
}

describe('where a path leads', () => {
  it('is told by the deepest mount', () => {
    expect(targets('/data')).toEqual(['ns0:/d']);
    expect(targets('//data//x/')).toEqual(['ns0:/d/x']);
    expect(targets('/data/deeper')).toEqual(['ns0:/d/deeper']);
    expect(targets('/data/deep')).toEqual(['ns1:/']);
    expect(targets('/data/deep/x/y')).toEqual(['ns1:/x/y']);
    expect(targets('/data/bad/x')).toEqual(['ns0:/d/bad/x']);
    expect(findRoute('/data', TABLE)).toMatchObject({ isOrdered: true, why: 'the mount has one destination' });
  });

  it('is nowhere without a mount, and anywhere with one of the root', () => {
    expect(findRoute('/elsewhere', TABLE)).toMatchObject({ mount: null, targets: [] });
    expect(targets('/elsewhere/x', [mount('/', ['ns0:/'])])).toEqual(['ns0:/elsewhere/x']);
    expect(targets('/', [mount('/', ['ns0:/root'])])).toEqual(['ns0:/root']);
  });

  it('has the order of the hash, by the name below the mount', () => {
    const names = ['ns0', 'ns1'];
    const ring = new HashRing(names);
    for (const child of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const owner = names[ring.ownerOf(`/hash/${child}`)];
      const route = findRoute(`/hash/${child}/deeper`, TABLE);
      expect(route.targets[0]?.nameservice, child).toBe(owner);
      expect(route.targets).toHaveLength(2);
      expect(route.why).toContain(`belongs to ${owner}`);
    }
  });

  it('says when the first place is not fixed', () => {
    expect(findRoute('/random/x', TABLE)).toMatchObject({ isOrdered: false });
    expect(targets('/random/x')).toEqual(['ns0:/r/x', 'ns1:/r/x']);
    expect(findRoute('/leader/x', TABLE)).toMatchObject({ isOrdered: true });
    expect(targets('/leader/x')).toEqual(['ns1:/l/x', 'ns0:/l/x']);
  });

  it('in the trash follows the deleted path, and stays as it is', () => {
    for (const path of ['/user/bob/.Trash/Current/data/deep/x', '/user/bob/.Trash/260101-1/data/deep/x']) {
      expect(targets(path)).toEqual([`ns1:${path}`]);
      expect(findRoute(path, TABLE).why).toContain('the deleted path /data/deep/x');
    }
    expect(targets('/user/bob/.Trash/x/data')).toEqual([]);
  });
});
