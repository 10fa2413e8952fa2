import { describe, expect, it } from 'vitest';
import {
  addUp,
  largest,
  leastAdvancedUpgrade,
  strictestTopology,
  union,
} from '../../src/composed/everywhere/merges.ts';

const MAX_LONG = (1n << 63n) - 1n;

describe('sums', () => {
  it('leave out what a NameNode does not know', () => {
    expect(
      addUp([
        { a: 1, b: -1 },
        { a: 2, b: 5 },
      ]),
    ).toEqual({ a: 3n, b: 5n });
  });

  it('have a field that some response has, and none that no response has', () => {
    expect(addUp([{ a: 1 }, { a: 1, late: 4 }])).toEqual({ a: 2n, late: 4n });
    expect(addUp([{ a: -1 }, { a: -1 }])).toEqual({ a: 0n });
  });

  it('are exact beyond the safe integers, and stop at the largest long', () => {
    expect(addUp([{ a: Number.MAX_SAFE_INTEGER }, { a: 2 }])).toEqual({ a: 9007199254740993n });
    expect(addUp([{ a: MAX_LONG }, { a: MAX_LONG }])).toEqual({ a: MAX_LONG });
  });
});

it('the largest number may be negative, and beyond the safe integers', () => {
  expect(largest('txid')([{ txid: -5 }, { txid: -7 }])).toEqual({ txid: -5n });
  expect(largest('txid')([{ txid: 3 }, { txid: MAX_LONG }])).toEqual({ txid: MAX_LONG });
});

it('a union has each text once, in the order of the nameservices', () => {
  expect(union('groups')([{ groups: ['b', 'a'] }, { groups: ['a', 'c'] }])).toEqual({ groups: ['b', 'a', 'c'] });
});

it('a verdict against the policies wins over those for them', () => {
  const good = { response: { isSupported: true, resultMessage: 'first' } };
  const other = { response: { isSupported: true, resultMessage: 'second' } };
  const bad = { response: { isSupported: false, resultMessage: 'bad' } };
  expect(strictestTopology([good, other])).toBe(good);
  expect(strictestTopology([good, bad])).toBe(bad);
});

describe('a rolling upgrade', () => {
  const upgrade = (startTime: number, createdRollbackImages: boolean, finalized = false) => ({
    rollingUpgradeInfo: { status: { blockPoolId: 'BP', finalized }, startTime, finalizeTime: 0, createdRollbackImages },
  });

  it.each([
    ['none', [{}, {}], {}],
    ['the one without its images', [upgrade(1, true), upgrade(2, false)], upgrade(2, false)],
    ['the one that is not finalized', [upgrade(1, true, true), upgrade(2, true)], upgrade(2, true)],
    ['the open one, images or not', [upgrade(1, false, true), upgrade(2, true)], upgrade(2, true)],
    ['the only one', [{}, upgrade(2, true, true)], upgrade(2, true, true)],
    ['the first of those that are as far', [upgrade(1, true), upgrade(2, true)], upgrade(1, true)],
  ])('is %s', (_, responses, expected) => {
    expect(leastAdvancedUpgrade(responses)).toEqual(expected);
  });
});
