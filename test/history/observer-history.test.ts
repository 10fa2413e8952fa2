import { describe, expect, it } from 'vitest';
import { ALL_MISCHIEF } from '../support/history/chaos.ts';
import { type RunOptions, run } from '../support/history/run.ts';

/**
 * Clients of two routers read and write through both while NameNodes lag, fail over, restart, hang, lie about their states, and routers restart;
 * none ever goes back in time. `HISTORY_SEED` gives other runs, `HISTORY_OPERATIONS` longer ones; `npm run test:full` runs a million operations.
 */
const IS_FULL = process.env['SWITCHYARD_TEST_FULL'] === '1';
const SEED = Number(process.env['HISTORY_SEED'] ?? (IS_FULL ? Date.now() % 0x7fff_ffff : 1));
/** In a full run a million, and some that fail. */
const OPERATIONS = Number(process.env['HISTORY_OPERATIONS'] ?? (IS_FULL ? 1_020_000 : 90_000));
/** Of routers with threads of their own, which take a processor each. */
const PROCESS_OPERATIONS = IS_FULL ? OPERATIONS : 10_000;
/** So many reads in a hundred must have been served by observers, or the run says nothing. */
const LEAST_OBSERVER_PERCENT = 10;
/** So many may fail: whoever writes to a fenced NameNode gets no answer from it. */
const MOST_FAILED_PERCENT = 2;
/** In so many operations everything that may happen has happened. */
const OPERATIONS_OF_ALL_MISCHIEF = 1_000_000;
/** A busy machine takes several times as long as an idle one. */
const TIMEOUT_MS = 120_000 + 3 * OPERATIONS;

async function observe(options: RunOptions): Promise<void> {
  const { report, operationsPerSecond, mischief, resent, reasons, observerReads, otherReads } = await run(options);
  const done = [...mischief].map(([kind, count]) => `${count} ${kind}`).join(', ');
  console.log(
    `history of ${options.kind} routers: seed ${options.seed}, ${report.summary}; ${Math.round(operationsPerSecond)} operations/s, ` +
      `${observerReads} reads at observers, ${otherReads} at others, ${resent} calls sent again\n  ${done}\n` +
      [...reasons].map(([reason, count]) => `  ${count} failed: ${reason}\n`).join(''),
  );
  expect(report.count, report.text).toBe(0);
  const least = options.operations * (1 - MOST_FAILED_PERCENT / 100);
  expect(report.reads + report.writes + report.msyncs).toBeGreaterThanOrEqual(least);
  expect((100 * observerReads) / (observerReads + otherReads)).toBeGreaterThan(LEAST_OBSERVER_PERCENT);
  if (options.operations >= OPERATIONS_OF_ALL_MISCHIEF) {
    expect([...mischief.keys()].sort()).toEqual([...ALL_MISCHIEF].sort());
  }
}

describe('no client goes back in time', () => {
  it(
    'behind routers in this thread',
    () => observe({ kind: 'inline', seed: SEED, operations: OPERATIONS }),
    TIMEOUT_MS,
  );

  it(
    'behind routers with threads and shared memory',
    () => observe({ kind: 'process', seed: SEED, operations: PROCESS_OPERATIONS }),
    TIMEOUT_MS,
  );
});
