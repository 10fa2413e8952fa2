import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { QuotaTable } from '../../src/control/quota/quota-table.ts';
import { givenUsage } from '../../src/mount/given-usage.ts';
import { NO_USAGE } from '../../src/mount/quota.ts';
import { limitedMount } from '../support/quota-mounts.ts';

/** What is counted, by mount point, as `ns:/path`. */
async function planOf(table: QuotaTable, maxPlaces?: number): Promise<Record<string, string[]>> {
  const { mounts, places } = await table.plan(maxPlaces);
  const textOf = (key: string): string => {
    const place = places.get(key);
    return place === undefined ? 'nowhere' : `${place.nameservice}:${place.path}`;
  };
  return Object.fromEntries(mounts.map(({ path, placeKeys }) => [path, placeKeys.map(textOf)]));
}

describe('what counts for the limits of a mount point', () => {
  it('is its destinations and those of mount points below it, with limits or without', async () => {
    const table = new QuotaTable([
      limitedMount('/a/b', ['ns1:/y']),
      limitedMount('/ab', ['ns0:/other']),
      limitedMount('/a', ['ns0:/x', 'ns1:/x'], { names: 5 }),
      limitedMount('/a/c', ['ns0:/z'], { bytes: 7 }),
    ]);
    expect(await planOf(table)).toEqual({ '/a': ['ns0:/x', 'ns0:/z', 'ns1:/x', 'ns1:/y'], '/a/c': ['ns0:/z'] });
    expect(table.mountsUnder('/a').map(({ sourcePath }) => sourcePath)).toEqual(['/a', '/a/b', '/a/c']);
    expect(table.mountsUnder('/')).toHaveLength(4);
    expect(table.mountsUnder('/a/none')).toEqual([]);
  });

  it('has a place once, whether it is there twice or inside another one, in whatever order', async () => {
    const table = new QuotaTable([
      limitedMount('/', ['ns0:/x/y/z'], { names: 9 }),
      limitedMount('/a', ['ns0:/x/y', 'ns1:/x']),
      limitedMount('/b', ['ns0:/x/']),
      limitedMount('/c', ['ns0://x', 'ns0:/xy']),
    ]);
    expect(await planOf(table)).toEqual({ '/': ['ns0:/x', 'ns0:/xy', 'ns1:/x'] });
    const root = new QuotaTable([limitedMount('/m', ['ns0:/d', 'ns0:/'], { names: 9 })]);
    expect(await planOf(root)).toEqual({ '/m': ['ns0:/'] });
  });

  it('stops at a bound: mount points that do not fit are left out and said', async () => {
    const table = new QuotaTable([
      limitedMount('/a', ['ns0:/x', 'ns1:/x'], { names: 5 }),
      limitedMount('/b', ['ns0:/y', 'ns1:/y'], { names: 5 }),
      limitedMount('/c', ['ns0:/z'], { names: 5 }),
    ]);
    expect(Object.keys(await planOf(table, 3))).toEqual(['/a', '/c']);
    expect((await table.plan(3)).leftOut).toBe(1);
    expect((await table.plan()).leftOut).toBe(0);
  });

  it('passes over entries that no call can use', async () => {
    const table = new QuotaTable([
      limitedMount('/a/', ['ns0:/x'], { names: 5 }),
      limitedMount('/b', [], { names: 5 }),
      limitedMount('/c', ['ns0:/x'], { types: { SSD: 0 } }),
    ]);
    expect(await planOf(table)).toEqual({ '/c': ['ns0:/x'] });
  });
});

describe('the limits at a mount point', () => {
  it('are of each kind those of the nearest one that has any', () => {
    const table = new QuotaTable([
      limitedMount('/', ['ns0:/'], { names: 100 }),
      limitedMount('/a', ['ns0:/x'], { names: 50, bytes: 7, types: { SSD: 1, DISK: 2 } }),
      limitedMount('/a/b/c', ['ns0:/y'], { names: 5, types: { SSD: 8 } }),
    ]);
    expect(table.limitsAt('/a/b/c')).toEqual({
      names: 5n,
      bytes: 7n,
      types: new Map([
        ['SSD', 8n],
        ['DISK', 2n],
      ]),
    });
    expect(table.limitsAt('/a/b')).toMatchObject({ names: 50n });
    expect(table.limitsAt('/b')).toEqual({ names: 100n, bytes: -1n, types: new Map() });
  });

  it('belong to the first of several mount points that lead to one place', async () => {
    const table = new QuotaTable([
      limitedMount('/b', ['ns0:/x'], { names: 2 }),
      limitedMount('/a', ['ns0:/x'], { names: 1 }),
    ]);
    const { places } = await table.plan();
    expect([...places.values()].map(({ mountPath }) => mountPath)).toEqual(['/a']);
    expect([...table.ownersOf(new Set(places.keys())).values()]).toEqual(['/a']);
    expect(table.ownersOf(new Set(['ns0\0none'])).size).toBe(0);
  });
});

it('agrees with looking at every pair', async () => {
  const path = fc.array(fc.constantFrom('a', 'b', 'ab'), { maxLength: 3 }).map((names) => `/${names.join('/')}`);
  const destination = fc.tuple(fc.constantFrom('ns0', 'ns1'), path).map(([ns, at]) => `${ns}:${at}`);
  const mount = fc.tuple(path, fc.array(destination, { minLength: 1, maxLength: 3 }), fc.boolean());
  const isAtOrBelow = (at: string, top: string): boolean =>
    at === top || at.startsWith(top.endsWith('/') ? top : `${top}/`);
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(mount, { selector: ([at]) => at, maxLength: 8 }), async (mounts) => {
      const table = new QuotaTable(
        mounts.map(([at, destinations, limited]) => limitedMount(at, destinations, limited ? { names: 1 } : {})),
      );
      const plan = await planOf(table);
      for (const [at, , limited] of mounts) {
        expect(at in plan).toBe(limited);
        if (!limited) continue;
        const all = mounts.filter(([other]) => isAtOrBelow(other, at)).flatMap(([, destinations]) => destinations);
        const tops = [...new Set(all)].filter((one) => !all.some((other) => other !== one && isAtOrBelow(one, other)));
        expect(plan[at]?.toSorted()).toEqual(tops.toSorted());
      }
    }),
    { numRuns: 300, interruptAfterTimeLimit: 5_000 },
  );
});

it('makes usage out of plain data, up to a bound', () => {
  const usage = (mountPath: string, files: bigint) => ({ mountPath, files, bytes: 0n, types: { SSD: 3n } });
  expect(givenUsage([])).toBe(NO_USAGE);
  const given = givenUsage(structuredClone([usage('/a', 1n), usage('/b', 2n), usage('/a', 3n)]), 1);
  expect(given.usageOf('/a')).toEqual({ files: 3n, bytes: 0n, types: { SSD: 3n } });
  expect(given.usageOf('/b')).toBeNull();
});
