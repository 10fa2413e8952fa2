import { formatCount, formatMicros, formatRate } from '../result/format.ts';
import type { SeriesPoint } from '../result/result.ts';

/** Where the lines go; standard error has all of it. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const DEFAULT_COLUMNS = 80;
const ERASE_LINE = '\r\u001b[K';

/** A line a second: written over the last one on a terminal, one after the other elsewhere. */
export class Progress {
  readonly #stream: ProgressStream;
  /** Seconds that the load will last; null when it ends otherwise. */
  readonly #totalSeconds: number | null;
  #isOpen = false;
  #hasMeasured = false;

  constructor(stream: ProgressStream, totalSeconds: number | null) {
    this.#stream = stream;
    this.#totalSeconds = totalSeconds;
  }

  show(point: SeriesPoint): void {
    this.#hasMeasured ||= point.measured;
    const line = renderPoint(point, this.#totalSeconds, this.#hasMeasured);
    if (this.#stream.isTTY !== true) {
      this.#stream.write(`${line}\n`);
      return;
    }
    // A line that wraps could not be written over.
    this.#stream.write(ERASE_LINE + line.slice(0, (this.#stream.columns ?? DEFAULT_COLUMNS) - 1));
    this.#isOpen = true;
  }

  /** What follows begins on a line of its own. */
  end(): void {
    if (this.#isOpen) this.#stream.write(ERASE_LINE);
    this.#isOpen = false;
  }
}

/** What is not measured comes before the measured time, or is the rest of the replies after it. */
export function renderPoint(point: SeriesPoint, totalSeconds: number | null, hasMeasured: boolean): string {
  const { second, measured, callsPerSecond, errors, waiting, inFlight, corrected } = point;
  // The last replies come after the end.
  const total = Math.ceil(totalSeconds ?? Number.POSITIVE_INFINITY);
  const at = `${Math.min(second + 1, total)}${totalSeconds === null ? '' : `/${total}`} s`;
  return [
    at.padStart(totalSeconds === null ? 6 : String(total).length * 2 + 3),
    `${formatRate(callsPerSecond)}/s`.padStart(10),
    `p99 ${corrected.max === 0 ? '–' : formatMicros(corrected.p99)}`.padEnd(11),
    `errors ${formatCount(errors)}`,
    `waiting ${formatCount(waiting)}`,
    `in flight ${formatCount(inFlight)}`,
    ...(measured ? [] : [hasMeasured ? '(last replies)' : '(warm-up)']),
  ].join('  ');
}
