/** Averages and windows below this are zero. */
const PRECISION = 0.0001;

/** Calls answered and how long they took, by level: in the window that is open, and what became of those before. Times are whole ms. */
export class ResponseTimes {
  readonly answered: Float64Array;
  readonly queueMs: Float64Array;
  readonly processingMs: Float64Array;
  /** Time per call by level, of all windows that were closed; each counts less with each one after it. */
  readonly averagesMs: Float64Array;
  /** Calls of the window that was closed last. */
  readonly lastAnswered: Float64Array;

  constructor(levels: number) {
    this.answered = new Float64Array(levels);
    this.queueMs = new Float64Array(levels);
    this.processingMs = new Float64Array(levels);
    this.averagesMs = new Float64Array(levels);
    this.lastAnswered = new Float64Array(levels);
  }

  /** Each part is cut to whole ms, as Java measures it. */
  note(level: number, queueMs: number, processingMs: number): void {
    this.answered[level] = (this.answered[level] as number) + 1;
    this.queueMs[level] = (this.queueMs[level] as number) + Math.trunc(queueMs);
    this.processingMs[level] = (this.processingMs[level] as number) + Math.trunc(processingMs);
  }

  /** What others have noted, by level. */
  add(answered: Float64Array, queueMs: Float64Array, processingMs: Float64Array): void {
    for (let level = 0; level < this.answered.length; level++) {
      this.answered[level] = (this.answered[level] as number) + (answered[level] ?? 0);
      this.queueMs[level] = (this.queueMs[level] as number) + (queueMs[level] ?? 0);
      this.processingMs[level] = (this.processingMs[level] as number) + (processingMs[level] ?? 0);
    }
  }

  /** Closes the window. */
  roll(factor: number): void {
    for (let level = 0; level < this.answered.length; level++) {
      const answered = this.answered[level] as number;
      const total = (this.queueMs[level] as number) + (this.processingMs[level] as number);
      const mean = answered > 0 ? total / answered : 0;
      const before = this.averagesMs[level] as number;
      this.averagesMs[level] = before > PRECISION || mean > PRECISION ? before * factor + mean : 0;
      this.lastAnswered[level] = answered;
    }
    this.clearWindow();
  }

  clearWindow(): void {
    this.answered.fill(0);
    this.queueMs.fill(0);
    this.processingMs.fill(0);
  }

  /** Calls of this level wait for a while: those of its own level or of a better one have taken longer than they may. */
  exceeds(limitsMs: readonly number[], level: number): boolean {
    for (let each = 0; each <= level; each++) {
      if ((this.averagesMs[each] as number) > (limitsMs[each] as number)) return true;
    }
    return false;
  }
}
