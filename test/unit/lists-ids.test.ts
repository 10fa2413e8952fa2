import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ID_BITS, NameserviceIds, TAG_BITS } from '../../src/composed/lists/nameservice-ids.ts';
import { Refused } from '../../src/composed/refused.ts';

/** Ids of nameservices towards clients. */

const NAMES = ['ns0', 'ns1', 'ns2'];
const ALL = [0, 1, 2];
const ids = new NameserviceIds(NAMES, ALL);
const ownId = fc.bigInt(1n, (1n << ID_BITS) - 1n);

describe('ids of several nameservices', () => {
  it('lead back to where they come from, and are positive longs', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ALL), ownId, (nameservice, id) => {
        const shown = ids.toClient(nameservice, id);
        expect(ids.fromClient(shown)).toEqual({ nameservice, id });
        expect(shown > 0n && shown < 1n << 63n).toBe(true);
      }),
    );
  });

  it('are sorted by nameservice, then as in the nameservice', () => {
    const order = ids.inOrder(ALL);
    expect(order.toSorted()).toEqual(ALL);
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...ALL), ownId), { maxLength: 20 }), (pairs) => {
        const byId = pairs.toSorted((a, b) => (ids.toClient(...a) < ids.toClient(...b) ? -1 : 1));
        const byPlace = pairs.toSorted((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]) || (a[1] < b[1] ? -1 : 1));
        expect(byId).toEqual(byPlace);
      }),
    );
  });

  it('are the same on a router that knows further nameservices, in any order', () => {
    const others = new NameserviceIds(['z', 'ns2', 'a', 'ns1', 'ns0'], [0, 1, 2, 3, 4]);
    expect(ids.toClient(0, 7n)).toBe(others.toClient(4, 7n));
    expect(ids.toClient(2, 7n)).toBe(others.toClient(1, 7n));
  });

  it('differ where names have the same hash', () => {
    const names = Array.from({ length: 3_000 }, (_, i) => `n${i}`);
    const many = new NameserviceIds(
      names,
      names.map((_, i) => i),
    );
    const tags = names.map((_, i) => many.tagOf(i));
    expect(new Set(tags).size).toBe(names.length);
    expect(Math.min(...tags)).toBeGreaterThan(0);
    expect(Math.max(...tags)).toBeLessThan(2 ** TAG_BITS);
  });

  it('have a bound', () => {
    expect(() => ids.toClient(1, 1n << ID_BITS)).toThrow(Refused);
    expect(() => ids.toClient(1, -1n)).toThrow(/ns1 has an id that is too large/);
  });

  it('of no nameservice lead nowhere', () => {
    for (const id of [-1n, 0n, 1n, 16_385n]) expect(ids.fromClient(id)).toBeNull();
    const taken = ALL.map((each) => ids.tagOf(each));
    const free = [1, 2, 3, 4].find((tag) => !taken.includes(tag)) as number;
    expect(ids.fromClient((BigInt(free) << ID_BITS) | 1n)).toBeNull();
  });
});

describe('cursors', () => {
  it('go on in their nameservice and start the later ones', () => {
    const [first, second, third] = ids.inOrder(ALL) as [number, number, number];
    const cursor = ids.toClient(second, 99n);
    expect([first, second, third].map((each) => ids.positionOf(cursor, each))).toEqual([null, 99n, 0n]);
    expect(ALL.map((each) => ids.positionOf(0n, each))).toEqual([0n, 0n, 0n]);
  });

  it('of a router with one nameservice start anew', () => {
    expect(ALL.map((each) => ids.positionOf(16_400n, each))).toEqual([0n, 0n, 0n]);
  });
});

describe('ids of a single nameservice', () => {
  const one = new NameserviceIds(NAMES, [1]);

  it('stay as they are', () => {
    expect(one.toClient(1, 16_400n)).toBe(16_400n);
    expect(one.fromClient(16_400n)).toEqual({ nameservice: 1, id: 16_400n });
    expect(one.positionOf(16_400n, 1)).toBe(16_400n);
  });

  it('are understood with a tag, too', () => {
    expect(one.fromClient(ids.toClient(1, 5n))).toEqual({ nameservice: 1, id: 5n });
    expect(one.positionOf(ids.toClient(1, 5n), 1)).toBe(5n);
  });
});
