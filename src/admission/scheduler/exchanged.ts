/**
 * What the threads tell each other so that all of them schedule by what callers cost the whole router:
 *
 *   main ── collect ──▶ worker            every second, and at the end of each period
 *   main ◀── booked ─── worker            what it has charged since the last time
 *   main ── merge ────▶ worker            within a period: what the others have charged
 *   main ── state ────▶ worker            after a sweep, and when a worker starts or has other settings: all there is
 *
 * `generation` is that of the main thread's settings: what belongs to others is of no use any more. A worker has it from the state. Arrays have one entry for each name or each level; the
 * names are at most MAX_CALLERS and the one for all others.
 */
export interface Booked {
  readonly names: readonly string[];
  readonly costs: Float64Array;
  /** Calls answered, and the ms that they took, by level. */
  readonly answered: Float64Array;
  readonly queueMs: Float64Array;
  readonly processingMs: Float64Array;
}

/** A scheduler as it is; see DecayScheduler. */
export interface SchedulerState {
  readonly names: readonly string[];
  readonly decayed: Float64Array;
  readonly raw: Float64Array;
  readonly cachedLevels: Uint8Array;
  readonly rawTotal: number;
  readonly serviceRawTotal: number;
  readonly averagesMs: Float64Array;
  readonly lastAnswered: Float64Array;
}

export type ToScheduler =
  | { readonly kind: 'admission-collect'; readonly generation: number }
  | { readonly kind: 'admission-merge'; readonly generation: number; readonly booked: readonly Booked[] }
  | { readonly kind: 'admission-state'; readonly generation: number; readonly state: SchedulerState };

export interface FromScheduler {
  readonly kind: 'admission-booked';
  readonly generation: number;
  readonly booked: Booked;
}
