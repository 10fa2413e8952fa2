/** Files of HdrHistogram's format: what its plotter and its log tools read. Values in the histograms are µs. */
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { extname } from 'node:path';
import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram,
  HistogramLogWriter,
} from 'hdr-histogram-js';
import type { BucketCounts } from '../plan/plan.ts';
import type { LoadResult } from '../result/result.ts';
import type { LatencyCounts } from '../run/seconds.ts';
import { forEachBucket } from './latency.ts';

/** More than any latency that a bucket can say, µs. */
const HIGHEST_MICROS = 300_000_000;
/** Finer than the buckets themselves. */
const SIGNIFICANT_DIGITS = 3;
/** Lines of a .hgrm file for each halving of the distance to 100 %. */
const TICKS_PER_HALVING = 5;
const MICROS_PER_MS = 1000;

/** Base64 of the compressed V2 form. */
export function encodeHistogram(counts: BucketCounts): string {
  return encodeIntoCompressedBase64(buildHistogram(counts));
}

export function buildHistogram(counts: BucketCounts): Histogram {
  const histogram = build({
    bitBucketSize: 64,
    autoResize: false,
    lowestDiscernibleValue: 1,
    highestTrackableValue: HIGHEST_MICROS,
    numberOfSignificantValueDigits: SIGNIFICANT_DIGITS,
    useWebAssembly: false,
  });
  forEachBucket(counts, (micros, records) => histogram.recordValueWithCount(Math.round(micros), records));
  return histogram;
}

/** Percentile distribution as text, in ms, of a histogram in base64. */
export function renderDistribution(encoded: string): string {
  return decodeFromCompressedBase64(encoded).outputPercentileDistribution(TICKS_PER_HALVING, MICROS_PER_MS);
}

/** Corrected latencies go to the file itself, service times to one beside it: `a.hgrm` and `a.service.hgrm`. */
export function writeDistributions(file: string, { corrected, service }: LoadResult['histogram']): void {
  writeFileSync(file, renderDistribution(corrected));
  writeFileSync(serviceFile(file), renderDistribution(service));
}

export function serviceFile(file: string): string {
  const extension = extname(file);
  return `${file.slice(0, file.length - extension.length)}.service${extension}`;
}

/**
 * An interval log: two lines a second, tagged `corrected` and `service`. Lines are written as they come, so that nothing of a long run is
 * kept in memory.
 */
export class IntervalLog implements Disposable {
  readonly #descriptor: number;
  readonly #writer: HistogramLogWriter;

  /** Throws the error of the file system when the file cannot be written. */
  constructor(file: string) {
    this.#descriptor = openSync(file, 'w');
    this.#writer = new HistogramLogWriter((text) => writeSync(this.#descriptor, text));
  }

  begin(startEpochMs: number): void {
    this.#writer.outputLogFormatVersion();
    this.#writer.outputComment('[Latencies in microseconds; Interval_Max in milliseconds]');
    this.#writer.outputStartTime(startEpochMs);
    this.#writer.outputLegend();
  }

  /** `second` counts from the begin. */
  add(second: number, { corrected, service }: LatencyCounts): void {
    for (const [tag, counts] of [
      ['corrected', corrected],
      ['service', service],
    ] as const) {
      const histogram = buildHistogram(counts);
      histogram.tag = tag;
      this.#writer.outputIntervalHistogram(histogram, second, second + 1, MICROS_PER_MS);
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }
}
