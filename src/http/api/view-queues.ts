import { boundOf, type Sums } from '../../admission/shared/figures.ts';
import type { Topology } from '../../shared/settings.ts';
import type { QueueView, TimesView } from './parts.ts';

/** Admission to each nameservice, from what the workers have written. */
export function viewQueues({ nameservices }: Topology, sums: readonly Sums[]): QueueView[] {
  return nameservices.map(({ id }, n) => {
    const { figures, levels, histograms } = sums[n] as Sums;
    return {
      nameservice: id,
      window: figures.window,
      inFlight: figures.inFlight,
      inFlightBy: { reads: figures.inFlightReads, writes: figures.inFlightWrites, heavy: figures.inFlightHeavy },
      waiting: figures.waiting,
      waitingPeak: figures.waitingPeak,
      waitingBy: { reads: figures.waitingReads, writes: figures.waitingWrites, heavy: figures.waitingHeavy },
      levels,
      passed: figures.passed,
      waited: figures.waited,
      shared: figures.shared,
      refused: { full: figures.refusedFull, slow: figures.refusedSlow, late: figures.refusedLate },
      queueTime: timesOf(histograms.queueTime),
      processingTime: timesOf(histograms.processingTime),
    };
  });
}

function timesOf(buckets: Float64Array): TimesView {
  const calls = buckets.reduce((sum, count) => sum + count, 0);
  const below = (part: number): number => {
    const wanted = Math.ceil(calls * part);
    let seen = 0;
    for (let bucket = 0; bucket < buckets.length; bucket++) {
      seen += buckets[bucket] as number;
      if (seen >= wanted && seen > 0) return boundOf(bucket);
    }
    return 0;
  };
  return { calls, p50: below(0.5), p90: below(0.9), p99: below(0.99), p999: below(0.999), max: below(1) };
}
