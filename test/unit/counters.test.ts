import { describe, expect, it } from 'vitest';
import { METHODS } from '../../src/call/methods.ts';
import {
  Counter,
  Counters,
  createCounters,
  METHOD_ROWS,
  MethodCount,
  readCounters,
  readMethodCounts,
} from '../../src/shared/counters.ts';

describe('counters', () => {
  it('are summed over all threads', () => {
    const shared = createCounters(3);
    const [first, , third] = [0, 1, 2].map((thread) => new Counters(shared, thread)) as [Counters, Counters, Counters];
    first.add(Counter.callsRead, 2);
    third.add(Counter.callsRead);
    third.set(Counter.budgetKib, 7);
    expect(readCounters(shared)).toMatchObject({ callsRead: 3, budgetKib: 7, clientsAccepted: 0 });
  });

  it('have a row for each method, beside each other', () => {
    expect(METHODS.length).toBeLessThanOrEqual(METHOD_ROWS);
    const shared = createCounters(2);
    const [one, other] = [new Counters(shared, 0), new Counters(shared, 1)];
    const last = METHOD_ROWS - 1;
    one.add(MethodCount.calls + last);
    other.add(MethodCount.calls + last);
    other.add(MethodCount.requests);
    one.add(MethodCount.fanOuts + last, 5);
    const { calls, requests, fanOuts } = readMethodCounts(shared);
    expect([calls[last], requests[0], fanOuts[last]]).toEqual([2, 1, 5]);
    expect([calls, requests, fanOuts].map((rows) => rows.reduce((sum, count) => sum + count, 0))).toEqual([2, 1, 5]);
    expect(Object.values(readCounters(shared)).every((count) => count === 0)).toBe(true);
  });

  it('of a thread that has died keep what was counted, and no level', () => {
    const shared = createCounters(1);
    const counters = new Counters(shared, 0);
    counters.add(Counter.callsRead);
    counters.set(Counter.clientsOpen, 4);
    counters.set(Counter.namenodeConnections, 5);
    counters.add(MethodCount.calls + 1);
    counters.forgetLevels();
    expect(readCounters(shared)).toMatchObject({ callsRead: 1, clientsOpen: 0, namenodeConnections: 0 });
    expect(readMethodCounts(shared).calls[1]).toBe(1);
  });
});
