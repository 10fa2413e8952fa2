import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { reclaim, SharedBudget } from '../../src/shared/byte-budget.ts';
import {
  ControlBlock,
  createControlBlock,
  MAX_NAMENODES,
  NameNodeState,
  SafeModeLevel,
  UNKNOWN,
} from '../../src/shared/control-block.ts';
import { Counters, createCounters } from '../../src/shared/counters.ts';
import { nextEvent } from '../support/wait.ts';

const NAMESERVICES = 3;

/** Two views of one block, as two threads have them. */
function views(): [ControlBlock, ControlBlock] {
  const shared = createControlBlock(NAMESERVICES);
  return [new ControlBlock(shared, NAMESERVICES), new ControlBlock(shared, NAMESERVICES)];
}

function counters(): Counters {
  return new Counters(createCounters(1), 0);
}

describe('the active NameNode', () => {
  it('is unknown at first, and seen by all when it is set', () => {
    const [a, b] = views();
    for (let n = 0; n < NAMESERVICES; n++) expect(b.activeOf(n)).toBe(UNKNOWN);
    expect(a.setActive(1, 2)).toBe(true);
    expect(b.setActive(1, 2)).toBe(false);
    expect([0, 1, 2].map((n) => b.activeOf(n))).toEqual([UNKNOWN, 2, UNKNOWN]);
    expect(b.setActive(1, 0)).toBe(true);
    expect(a.activeOf(1)).toBe(0);
  });

  it('is forgotten only by who still takes it for active', () => {
    const [a, b] = views();
    a.setActive(0, 1);
    b.setActive(0, 2);
    a.clearActive(0, 1);
    expect(b.activeOf(0)).toBe(2);
    a.clearActive(0, 2);
    expect(b.activeOf(0)).toBe(UNKNOWN);
  });
});

describe('states of NameNodes', () => {
  it('have a word each', () => {
    const [a, b] = views();
    const states = Object.values(NameNodeState);
    for (let n = 0; n < NAMESERVICES; n++)
      for (let i = 0; i < MAX_NAMENODES; i++) a.setState(n, i, states[(n + i) % states.length] as number);
    for (let n = 0; n < NAMESERVICES; n++) {
      expect(b.activeOf(n)).toBe(UNKNOWN);
      for (let i = 0; i < MAX_NAMENODES; i++) expect(b.stateOf(n, i)).toBe(states[(n + i) % states.length]);
    }
    expect(b.draining).toBe(false);
    expect(b.usedKib).toBe(0);
  });
});

describe('what answers of calls told', () => {
  it('has a time for each NameNode', () => {
    const [a, b] = views();
    const before = Date.now();
    for (let n = 0; n < NAMESERVICES; n++) for (let i = 0; i < MAX_NAMENODES; i++) expect(b.provedAtMs(n, i)).toBe(0);
    a.setState(2, 15, NameNodeState.ACTIVE);
    expect(b.provedAtMs(2, 15)).toBe(0);
    a.proveState(2, 15, NameNodeState.STANDBY);
    expect(b.stateOf(2, 15)).toBe(NameNodeState.STANDBY);
    expect(b.provedAtMs(2, 15)).toBeGreaterThanOrEqual(before);
    expect([b.provedAtMs(2, 14), b.provedAtMs(0, 0), b.activeOf(0), b.isDisabled(2)]).toEqual([0, 0, UNKNOWN, false]);
  });
});

it('disabled nameservices have a word each, and none beyond them', () => {
  const [a, b] = views();
  expect(b.anyDisabled).toBe(false);
  a.setDisabled(new Set([0, 2]));
  expect([0, 1, 2, 3].map((n) => b.isDisabled(n))).toEqual([true, false, true, false]);
  expect([b.anyDisabled, b.activeOf(0), b.stateOf(2, 15), b.provedAtMs(0, 0)]).toEqual([true, UNKNOWN, 0, 0]);
  a.setDisabled(new Set());
  expect([b.anyDisabled, b.isDisabled(0)]).toEqual([false, false]);
});

it('safe mode has levels, off at first', () => {
  const [a, b] = views();
  expect(b.safeMode).toBe(SafeModeLevel.OFF);
  for (const level of [SafeModeLevel.READS_TOO, SafeModeLevel.WRITES, SafeModeLevel.OFF]) {
    a.setSafeMode(level);
    expect([b.safeMode, b.draining, b.usedKib]).toEqual([level, false, 0]);
  }
});

it('draining is said once and for all', () => {
  const [a, b] = views();
  expect(b.draining).toBe(false);
  a.setDraining();
  expect(b.draining).toBe(true);
});

describe('the budget', () => {
  it('is never exceeded, and a refused claim takes nothing', () => {
    const [block] = views();
    const budget = new SharedBudget(block, counters(), 10 * 1024);
    expect(budget.claim(4 * 1024)).toBe(true);
    expect(budget.claim(6 * 1024 + 1)).toBe(false);
    expect(block.usedKib).toBe(4);
    expect(budget.claim(6 * 1024)).toBe(true);
    expect(budget.claim(1)).toBe(false);
    budget.release(6 * 1024);
    budget.release(4 * 1024);
    expect(block.usedKib).toBe(0);
  });

  it('counts whole KiB, the same on both ways', () => {
    const [block] = views();
    const budget = new SharedBudget(block, counters(), 1024 * 1024);
    for (const bytes of [1, 1023, 1024, 1025, 100_000]) {
      expect(budget.claim(bytes)).toBe(true);
      expect(block.usedKib).toBe(Math.ceil(bytes / 1024));
      budget.release(bytes);
      expect(block.usedKib).toBe(0);
    }
  });

  it('gets back what a dead thread held, and nothing else', () => {
    const [block] = views();
    const shared = createCounters(2);
    const [dead, alive] = [0, 1].map((thread) => new SharedBudget(block, new Counters(shared, thread), 1024 * 1024));
    dead?.claim(5_000);
    dead?.claim(100_000);
    dead?.release(5_000);
    alive?.claim(3 * 1024);
    reclaim(block, new Counters(shared, 0));
    expect(block.usedKib).toBe(3);
    reclaim(block, new Counters(shared, 0));
    expect(block.usedKib).toBe(3);
  });

  it('is shared by threads without losing a claim', async () => {
    const shared = createControlBlock(1);
    const block = new ControlBlock(shared, 1);
    // Claims and releases as fast as it can; two at a time never fit.
    const code = `
      const { workerData, parentPort } = require('node:worker_threads');
      import(workerData.module).then(({ ControlBlock }) => {
        const block = new ControlBlock(workerData.shared, 1);
        let granted = 0;
        for (let i = 0; i < 200000; i++) if (block.claimKib(3, 4)) { granted++; block.releaseKib(3); }
        parentPort.postMessage(granted);
      });`;
    const module = new URL('../../src/shared/control-block.ts', import.meta.url).href;
    const threads = [0, 1].map(() => new Worker(code, { eval: true, workerData: { module, shared } }));
    const granted = await Promise.all(threads.map((thread) => nextEvent(thread, 'message', 'the thread has counted')));
    for (const [count] of granted) expect(count).toBeGreaterThan(0);
    expect(block.usedKib).toBe(0);
    await Promise.all(threads.map((thread) => thread.terminate()));
  });
});
