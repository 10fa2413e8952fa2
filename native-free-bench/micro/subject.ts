/** One operation of the data path to be timed. */
export interface Subject {
  readonly name: string;
  /**
   * Does the operation `times` times and returns a number that depends on all of them, so that the compiler cannot leave any out.
   * The loop is inside: a single operation is too short for a clock.
   */
  readonly run: (times: number) => number;
}

/** Fails the bench when an operation does not do what it is timed for. */
export function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`micro bench: ${what}`);
}
