import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_OUTSTANDING, Outstanding } from '../../src/client/outstanding.ts';

const MANY = 10_000;

describe('a slot', () => {
  it('keeps what was said of its call, and is known by it', () => {
    const table = new Outstanding();
    const slot = table.take(7, 9, 1234, -1, 2);
    expect(table.count).toBe(1);
    expect(
      [table.connection, table.generation, table.callId, table.retryCount, table.worker].map((column) => column[slot]),
    ).toEqual([7, 9, 1234, -1, 2]);
    expect(table.isTakenBy(slot, 7, 9, 2)).toBe(true);
    for (const [each, connection, generation, worker] of [
      [slot, 8, 9, 2],
      [slot, 7, 10, 2],
      [slot, 7, 9, 1],
      [slot + 1, 7, 9, 2],
      [-1, 7, 9, 2],
      [MAX_OUTSTANDING, 7, 9, 2],
    ] as const) {
      expect(table.isTakenBy(each, connection, generation, worker)).toBe(false);
    }
  });

  it('is free for another call once it is given back', () => {
    const table = new Outstanding();
    const slot = table.take(7, 9, 1, 0, 0);
    table.give(slot);
    expect(table.count).toBe(0);
    expect(table.isTakenBy(slot, 7, 9, 0)).toBe(false);
    expect(table.take(7, 10, 2, 0, 1)).toBe(slot);
    // The late answer to its first call is not taken for one to the second.
    expect(table.isTakenBy(slot, 7, 9, 0)).toBe(false);
    expect(table.isTakenBy(slot, 7, 10, 1)).toBe(true);
  });
});

describe('the table', () => {
  it('keeps its rows when it grows', () => {
    const table = new Outstanding();
    const slots = Array.from({ length: MANY }, (_, i) => table.take(i, i + 1, i + 2, i + 3, i % 3));
    expect(new Set(slots).size).toBe(MANY);
    for (const [i, slot] of slots.entries()) {
      expect(table.isTakenBy(slot, i, i + 1, i % 3)).toBe(true);
      expect(table.callId[slot]).toBe(i + 2);
      expect(table.retryCount[slot]).toBe(i + 3);
    }
    expect(table.slotsOf(1).length).toBe(Math.floor((MANY + 1) / 3));
  });

  it('is full at its limit, and has room again afterwards', () => {
    const table = new Outstanding();
    for (let i = 0; i < MAX_OUTSTANDING; i++) if (table.take(i, 0, 0, 0, 0) < 0) throw new Error(`full at ${i}`);
    expect(table.take(0, 0, 0, 0, 0)).toBe(-1);
    expect(table.count).toBe(MAX_OUTSTANDING);
    table.give(4711);
    expect(table.take(0, 0, 0, 0, 0)).toBe(4711);
    expect(table.take(0, 0, 0, 0, 0)).toBe(-1);
  });

  it('does what a map would do', () => {
    const step = fc.oneof(
      fc.record({ worker: fc.nat(3), connection: fc.nat(5), generation: fc.nat(2) }),
      fc.record({ give: fc.nat() }),
      fc.record({ dead: fc.nat(3) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const table = new Outstanding();
        const taken = new Map<number, { worker: number; connection: number; generation: number }>();
        for (const each of steps) {
          if ('worker' in each) {
            const slot = table.take(each.connection, each.generation, 1, 0, each.worker);
            expect(taken.has(slot)).toBe(false);
            taken.set(slot, each);
          } else if ('give' in each) {
            const slot = [...taken.keys()][each.give % Math.max(1, taken.size)];
            if (slot === undefined) continue;
            table.give(slot);
            taken.delete(slot);
          } else {
            const lost = [...taken].filter(([, call]) => call.worker === each.dead).map(([slot]) => slot);
            expect(table.slotsOf(each.dead)).toEqual(lost.sort((a, b) => a - b));
            for (const slot of lost) {
              table.give(slot);
              taken.delete(slot);
            }
          }
          expect(table.count).toBe(taken.size);
          for (const [slot, { connection, generation, worker }] of taken)
            expect(table.isTakenBy(slot, connection, generation, worker)).toBe(true);
        }
      }),
      { seed: 5, numRuns: 300, interruptAfterTimeLimit: 2_000, markInterruptAsFailure: false },
    );
  });
});
