import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Answer, EPOCHS, MAX_TXID, NO_NAMENODE, NO_TXID, Proof, State } from '../../src/observer/rules.ts';
import { StateWords, stateBytes, txidOf } from '../../src/observer/shared/state-words.ts';
import { MAX_NAMENODES } from '../../src/shared/control-block.ts';
import { within } from '../support/wait.ts';
import type { WordsOrder, WordsReport } from './observer-words-thread.ts';

const NAMESERVICES = 3;
const LONG_AGO_MS = 30 * 24 * 3_600_000;

function makeWords(): StateWords {
  return new StateWords(new SharedArrayBuffer(stateBytes(NAMESERVICES)), NAMESERVICES);
}

function stateOf(words: StateWords, nameservice: number): State {
  return words.read(nameservice, new State());
}

function answerOf(fields: Partial<Answer>): Answer {
  return Object.assign(new Answer(), { namenode: 0, proof: Proof.ACTIVE }, fields);
}

/** Puts it into a word by what brings it there: answers. */
function bring(words: StateWords, nameservice: number, { epoch, active, txid }: State): void {
  const state = stateOf(words, nameservice);
  for (let i = 0; i < epoch; i++) {
    const namenode = i === epoch - 1 ? active : (active + 1 + (i % 2)) % MAX_NAMENODES;
    words.merge(nameservice, answerOf({ namenode, txid, sentEpoch: i }), 1, 1, state);
  }
}

describe('the word of a nameservice', () => {
  it('tells at first that nothing is known', () => {
    const words = makeWords();
    for (let n = 0; n < NAMESERVICES; n++) {
      expect(stateOf(words, n)).toEqual({ epoch: 0, active: NO_NAMENODE, txid: NO_TXID });
    }
  });

  const txids = fc.oneof(
    fc.constantFrom(0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1, 2 ** 32, 2 ** 47, MAX_TXID - 1, MAX_TXID),
    fc.integer({ min: 0, max: MAX_TXID }),
  );

  it('keeps each txid and each NameNode as they are, and nothing of its neighbours', () => {
    const states = fc.record({
      nameservice: fc.nat(NAMESERVICES - 1),
      active: fc.nat(MAX_NAMENODES - 1),
      txid: txids,
      epoch: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constantFrom(1023, 1024, 1025, 2047)),
    });
    fc.assert(
      fc.property(states, ({ nameservice, ...state }) => {
        const words = makeWords();
        bring(words, nameservice, state);
        for (let n = 0; n < NAMESERVICES; n++) {
          const expected = n === nameservice ? state : { epoch: 0, active: NO_NAMENODE, txid: NO_TXID };
          expect(stateOf(words, n)).toEqual(expected);
        }
      }),
      { seed: 7_007, numRuns: 300 },
    );
  });

  it('keeps that nothing is known, of a NameNode that is', () => {
    const words = makeWords();
    bring(words, 0, { epoch: 1, active: 3, txid: 70 });
    expect(words.merge(0, answerOf({ namenode: 3, txid: NO_TXID, sentEpoch: 1 }), 1, 1, new State())).toBe(true);
    expect(stateOf(words, 0)).toEqual({ epoch: 2, active: 3, txid: NO_TXID });
  });

  it('begins to count epochs anew after the last', () => {
    const words = makeWords();
    const state = new State();
    for (let i = 0; i < 2 * EPOCHS + 3; i++) {
      const sentEpoch = i % EPOCHS;
      expect(words.merge(0, answerOf({ namenode: i % 2, txid: i, sentEpoch }), 1, 1, state)).toBe(true);
      expect(stateOf(words, 0)).toEqual({ epoch: (i + 1) % EPOCHS, active: i % 2, txid: i });
    }
    // What was sent in the epoch before says nothing, across the wrap too.
    bring(words, 1, { epoch: EPOCHS, active: 1, txid: 5 });
    expect(stateOf(words, 1).epoch).toBe(0);
    expect(words.merge(1, answerOf({ namenode: 1, txid: 6, sentEpoch: EPOCHS - 1 }), 1, 1, state)).toBe(false);
    expect(words.merge(1, answerOf({ namenode: 1, txid: 6, sentEpoch: 0 }), 1, 1, state)).toBe(true);
  });

  it('is merged by two threads at once without a lost or a torn state', async () => {
    const merges = 150_000;
    const threads = 2;
    const shared = new SharedArrayBuffer(stateBytes(NAMESERVICES));
    const gate = new SharedArrayBuffer(4);
    const run = async (thread: number): Promise<WordsReport> => {
      const workerData: WordsOrder = { shared, gate, threads, thread, merges };
      const worker = new Worker(new URL('./observer-words-thread.ts', import.meta.url), { workerData });
      const [report] = (await once(worker, 'message')) as [WordsReport];
      await worker.terminate();
      return report;
    };
    const reports = await within(Promise.all([run(0), run(1)]), 'both threads have merged', 60_000);
    expect(reports.map(({ fault }) => fault)).toEqual(['', '']);
    const words = new StateWords(shared, NAMESERVICES);
    let begun = 0;
    for (const report of reports) begun += report.begun;
    // Each epoch that a thread began is there: no compare-exchange of the other has undone it.
    expect(stateOf(words, 1).epoch).toBe(begun % EPOCHS);
    expect(begun).toBeGreaterThan(1);
    for (const { raised, unchanged, begun } of reports) expect(raised + unchanged + begun).toBe(merges);
    expect(stateOf(words, 0)).toEqual({ epoch: 0, active: NO_NAMENODE, txid: NO_TXID });
  });
});

describe('the state id of a header', () => {
  it.each([
    ['zero', 0n, 0],
    ['one', 1n, 1],
    ['above 32 bits', 2n ** 32n + 5n, 2 ** 32 + 5],
    ['with the upper bit of its lower half', 0x8000_0000n, 2 ** 31],
    ['the largest', BigInt(MAX_TXID), MAX_TXID],
    ['more than any NameNode counts', BigInt(MAX_TXID) + 1n, NO_TXID],
    ['the largest int64', 2n ** 63n - 1n, NO_TXID],
    ['minus one', -1n, NO_TXID],
    ['the smallest int64, as Java sends it for none', -(2n ** 63n), NO_TXID],
  ])('%s', (_name, stateId, txid) => {
    const high = Number(BigInt.asIntN(32, stateId >> 32n));
    const low = Number(BigInt.asIntN(32, stateId));
    expect(txidOf(high, low)).toBe(txid);
  });
});

describe('an answer with a lower state id', () => {
  const T0 = 1_000_000;
  const lower = (words: StateWords, sentStamp: number): boolean =>
    words.merge(0, answerOf({ txid: 90, sentEpoch: 1 }), sentStamp, sentStamp, new State());

  it.each([
    ['sent before the raise: it was overtaken', -1, false],
    ['sent soon after it, when not all may have known', 1000, false],
    ['sent later: the active has fallen back', 1001, true],
  ])('%s', (_name, afterMs, isLowered) => {
    const words = makeWords();
    words.merge(0, answerOf({ txid: 100 }), T0, T0, new State());
    expect(lower(words, T0 + afterMs)).toBe(isLowered);
    expect(stateOf(words, 0)).toEqual(
      isLowered ? { epoch: 2, active: 0, txid: 90 } : { epoch: 1, active: 0, txid: 100 },
    );
  });

  it('counts from the last raise, an observer’s too', () => {
    const words = makeWords();
    words.merge(0, answerOf({ txid: 100 }), T0, T0, new State());
    words.merge(
      0,
      answerOf({ namenode: 2, proof: Proof.OBSERVER, txid: 101, sentEpoch: 1 }),
      T0,
      T0 + 5000,
      new State(),
    );
    expect(lower(words, T0 + 5500)).toBe(false);
    expect(lower(words, T0 + 6001)).toBe(true);
  });

  it('may come so late that stamps have wrapped around', () => {
    const words = makeWords();
    words.merge(0, answerOf({ txid: 100 }), T0, T0, new State());
    expect(lower(words, (T0 + LONG_AGO_MS) | 0)).toBe(true);
  });
});

describe('the times of a nameservice', () => {
  const T0 = 0x7fff_ff00;
  const at = (ms: number): number => (T0 + ms) | 0;

  it('have no age before the active was proved, and then that of the latest proof', () => {
    const words = makeWords();
    expect(words.ageOf(0, at(0))).toBe(Number.POSITIVE_INFINITY);
    words.prove(0, at(0));
    words.prove(0, at(-50));
    // Across the end of the 32 bits.
    expect(words.ageOf(0, at(700))).toBe(700);
    words.prove(0, at(600));
    expect(words.ageOf(0, at(700))).toBe(100);
    expect(words.ageOf(1, at(700))).toBe(Number.POSITIVE_INFINITY);
  });

  it('are those of long ago even when the difference of stamps says otherwise', () => {
    const words = makeWords();
    words.prove(0, at(0));
    expect(words.ageOf(0, at(LONG_AGO_MS))).toBe(Number.POSITIVE_INFINITY);
    words.prove(0, at(LONG_AGO_MS));
    expect(words.ageOf(0, at(LONG_AGO_MS + 3))).toBe(3);
    words.cool(0, at(0), 1000);
    expect(words.isCooling(0, at(LONG_AGO_MS))).toBe(false);
    words.hold(0, 1, at(0), 1000, 60_000);
    expect(words.isHeld(0, 1, at(LONG_AGO_MS))).toBe(false);
    expect(words.claimProbe(0, 1, at(LONG_AGO_MS), 5000)).toBe(true);
    words.claimRefresh(0, at(0), 5000);
    expect(words.isClaimed(0, at(LONG_AGO_MS))).toBe(false);
  });

  it('let one at a time have the msync, until it gives it back or is gone for so long', () => {
    const words = makeWords();
    expect(words.claimRefresh(0, at(0), 5000)).toBe(true);
    expect(words.claimRefresh(0, at(4999), 5000)).toBe(false);
    expect(words.claimRefresh(1, at(0), 5000)).toBe(true);
    expect(words.isClaimed(0, at(4999))).toBe(true);
    expect(words.isClaimed(0, at(5000))).toBe(false);
    expect(words.claimRefresh(0, at(5000), 5000)).toBe(true);
    words.releaseRefresh(0);
    expect(words.isClaimed(0, at(5001))).toBe(false);
    expect(words.claimRefresh(0, at(5001), 5000)).toBe(true);
  });

  it('let nobody try an msync for a while after one failed', () => {
    const words = makeWords();
    expect(words.isCooling(0, at(0))).toBe(false);
    words.cool(0, at(0), 1000);
    expect([words.isCooling(0, at(999)), words.isCooling(0, at(1000)), words.isCooling(1, at(1))]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('an observer that failed', () => {
  const FIRST_MS = 1000;
  const LAST_MS = 60_000;

  it('is left alone, for longer each time in a row and not beyond the longest', () => {
    const words = makeWords();
    let now = 1000;
    for (const expected of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]) {
      words.hold(1, 2, now, FIRST_MS, LAST_MS);
      expect([words.isHeld(1, 2, now + expected - 1), words.isHeld(1, 2, now + expected)]).toEqual([true, false]);
      now += expected;
    }
    expect([words.isSuspect(1, 2), words.isSuspect(1, 1), words.isSuspect(0, 2)]).toEqual([true, false, false]);
    words.letGo(1, 2);
    expect(words.isSuspect(1, 2)).toBe(false);
    words.hold(1, 2, now, FIRST_MS, LAST_MS);
    expect(words.isHeld(1, 2, now + FIRST_MS)).toBe(false);
  });

  it('counts once for all calls that failed together', () => {
    const words = makeWords();
    for (let i = 0; i < 20; i++) words.hold(0, 1, 1000 + i, FIRST_MS, LAST_MS);
    expect([words.isHeld(0, 1, 1999), words.isHeld(0, 1, 2000)]).toEqual([true, false]);
  });

  it('is probed by one, when its time is over', () => {
    const words = makeWords();
    expect(words.claimProbe(0, 1, 1000, 5000)).toBe(false);
    words.hold(0, 1, 1000, FIRST_MS, LAST_MS);
    expect(words.claimProbe(0, 1, 1999, 5000)).toBe(false);
    expect(words.claimProbe(0, 1, 2000, 5000)).toBe(true);
    expect(words.claimProbe(0, 1, 2000, 5000)).toBe(false);
    words.holdAnew(0, 1, 2100, FIRST_MS, LAST_MS);
    expect([words.isHeld(0, 1, 4099), words.isHeld(0, 1, 4100)]).toEqual([true, false]);
  });

  it('is behind by what the main thread last saw', () => {
    const words = makeWords();
    words.forgetLags();
    expect(words.behindOf(2, MAX_NAMENODES - 1)).toBe(-1);
    words.setBehind(2, 1, 77);
    words.setBehind(2, 2, 2 ** 40);
    expect([words.behindOf(2, 1), words.behindOf(2, 2), words.behindOf(2, 3)]).toEqual([77, 2 ** 31 - 1, -1]);
  });
});
