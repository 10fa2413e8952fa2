/**
 * What admission does, by nameservice: one region of doubles per thread, written by that thread alone, summed by the reader (as
 * shared/counters.ts).
 */
export const FIGURES = [
  /** Calls let through at once, and calls that were let through after they had waited. */
  'passed',
  'waited',
  /** Calls that were not sent because they got the answer of an identical one that waited; while that has none, they count already. */
  'shared',
  // Calls that were not let through.
  /** The queue was full. */
  'refusedFull',
  /** Calls of their level, or of a better one, took too long lately. */
  'refusedSlow',
  /** They had waited for as long as a call may. */
  'refusedLate',

  // Levels: as they are now (written each second).
  'inFlight',
  'inFlightReads',
  'inFlightWrites',
  'inFlightHeavy',
  /** How many may be in flight. */
  'window',
  'waiting',
  'waitingReads',
  'waitingWrites',
  'waitingHeavy',
  /** Highest number waiting in the last second. */
  'waitingPeak',
] as const;

export type FigureName = (typeof FIGURES)[number];

const INDEX = Object.fromEntries(FIGURES.map((name, index) => [name, index])) as Record<FigureName, number>;
/** Position of each figure, for `Figures.add`. */
export const Figure: Readonly<Record<FigureName, number>> = INDEX;

/** Most priority levels that are counted apart; a configuration with more is refused. */
export const MAX_LEVELS = 16;
/** Calls that wait in each level now, and calls that found their level full (`FairCallQueueSize_pN`, `FairCallQueueOverflowedCalls_pN`). */
const BY_LEVEL = 2;

/**
 * Buckets of a histogram of times: eight to each doubling, from 1 µs. A time is in the bucket whose bounds are at most an eighth apart.
 */
const SUB_BITS = 3;
export const BUCKETS = (31 - SUB_BITS + 1) << SUB_BITS;
/** Time that calls waited in the queue; time from sending to the answer of the NameNode. */
export const HISTOGRAMS = ['queueTime', 'processingTime'] as const;
export type HistogramName = (typeof HISTOGRAMS)[number];

const BLOCK = FIGURES.length + BY_LEVEL * MAX_LEVELS + HISTOGRAMS.length * BUCKETS;

export function figuresBytes(threads: number, nameservices: number): number {
  return threads * nameservices * BLOCK * 8;
}

export class Figures {
  readonly #region: Float64Array;

  constructor(shared: SharedArrayBuffer, thread: number, nameservices: number) {
    const length = nameservices * BLOCK;
    this.#region = new Float64Array(shared, thread * length * 8, length);
  }

  add(nameservice: number, figure: number): void {
    const at = nameservice * BLOCK + figure;
    this.#region[at] = (this.#region[at] as number) + 1;
  }

  set(nameservice: number, figure: number, value: number): void {
    this.#region[nameservice * BLOCK + figure] = value;
  }

  setLevel(nameservice: number, level: number, waiting: number, overflowed: number): void {
    const at = nameservice * BLOCK + FIGURES.length + level * BY_LEVEL;
    this.#region[at] = waiting;
    this.#region[at + 1] = overflowed;
  }

  /** `histogram`: index into HISTOGRAMS. */
  time(nameservice: number, histogram: number, ms: number): void {
    const at = nameservice * BLOCK + FIGURES.length + BY_LEVEL * MAX_LEVELS + histogram * BUCKETS + bucketOf(ms);
    this.#region[at] = (this.#region[at] as number) + 1;
  }
}

/** Bucket of a time. Those below 8 µs have one each µs. */
export function bucketOf(ms: number): number {
  const us = ms <= 0 ? 0 : Math.min(Math.trunc(ms * 1000), 0x7fff_ffff);
  const shift = Math.max(0, 31 - Math.clz32(us) - SUB_BITS);
  return (shift << SUB_BITS) + (us >>> shift);
}

/** Upper bound of a bucket in ms: the first time that is in the next one. */
export function boundOf(bucket: number): number {
  const shift = Math.max(0, (bucket >>> SUB_BITS) - 1);
  return ((bucket + 1 - (shift << SUB_BITS)) * 2 ** shift) / 1000;
}

/** Sums over all threads of one nameservice. */
export interface Sums {
  readonly figures: Readonly<Record<FigureName, number>>;
  readonly levels: readonly { readonly waiting: number; readonly overflowed: number }[];
  /** Calls by bucket. */
  readonly histograms: Readonly<Record<HistogramName, Float64Array>>;
}

/** `levels`: how many there are now. What further ones had before other settings came into force is not told. */
export function readFigures(shared: SharedArrayBuffer, nameservices: number, levels: number = MAX_LEVELS): Sums[] {
  const all = new Float64Array(shared);
  const length = nameservices * BLOCK;
  const total = new Float64Array(length);
  for (let from = 0; from < all.length; from += length) {
    for (let i = 0; i < length; i++) total[i] = (total[i] as number) + (all[from + i] as number);
  }
  return Array.from({ length: nameservices }, (_, nameservice) => {
    const sums = total.subarray(nameservice * BLOCK, (nameservice + 1) * BLOCK);
    const figures = Object.fromEntries(FIGURES.map((name, i) => [name, sums[i]])) as Record<FigureName, number>;
    const byLevel = Array.from({ length: levels }, (_, level) => ({
      waiting: sums[FIGURES.length + level * BY_LEVEL] as number,
      overflowed: sums[FIGURES.length + level * BY_LEVEL + 1] as number,
    }));
    const histograms = Object.fromEntries(
      HISTOGRAMS.map((name, i) => {
        const from = FIGURES.length + BY_LEVEL * MAX_LEVELS + i * BUCKETS;
        return [name, sums.subarray(from, from + BUCKETS)];
      }),
    ) as Record<HistogramName, Float64Array>;
    return { figures, levels: byLevel, histograms };
  });
}
