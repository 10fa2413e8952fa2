/** One operation of the data path to be timed. */
export interface Subject {
  readonly name: string;
  /**
   * Does the operation `times` times and returns a number that depends on all of them, so that the compiler cannot leave any out.
   * The loop is inside: a single operation is too short for a clock. A promise if and only if `awaited`: the operation needs another thread.
   */
  readonly run: (times: number) => number | Promise<number>;
  readonly awaited?: boolean;
  /** Operations for each reading of the clock, when it is not BATCH. */
  readonly batch?: number;
  /** The straightforward way to do the same, that the operation took the place of. */
  readonly alternative?: Subject;
}

/** Operations for each reading of the clock. */
export const BATCH = 10_000;

/** Subjects that hold something open, such as a thread, until they have been timed. */
export interface OpenSubjects extends AsyncDisposable {
  readonly subjects: readonly Subject[];
}

/** Fails the bench when an operation does not do what it is timed for. */
export function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`micro bench: ${what}`);
}
