/** Counting an event in shared memory: a plain add in the thread's own region, against an atomic add on a word that all threads share. */

import { Counter, Counters, createCounters } from '../../src/shared/counters.ts';
import { expect, type Subject } from './subject.ts';

export function counterSubjects(): Subject[] {
  const counters = new Counters(createCounters(1), 0);
  const counter = Counter.callsRead;
  // 32 bits, the cheapest: as a counter it would wrap within the hour.
  const words = new Int32Array(new SharedArrayBuffer(64));
  counters.add(counter);
  expect(counters.get(counter) === 1, 'the counter does not count');
  return [
    {
      name: 'counter: plain add in shared memory',
      run: (times) => {
        for (let i = 0; i < times; i++) counters.add(counter);
        return counters.get(counter);
      },
      alternative: {
        name: 'Atomics.add',
        run: (times) => {
          for (let i = 0; i < times; i++) Atomics.add(words, 0, 1);
          // The word wraps; what counts is that it was written.
          return (Atomics.load(words, 0) >>> 0) + 1;
        },
      },
    },
  ];
}
