/**
 * What observer reads do, by nameservice: one region of doubles per thread, plain adds by that thread, summed by the reader (as
 * shared/counters.ts).
 */
export const FIGURES = [
  /** Answers, exceptions too, of active NameNodes and of observers to reads that observers may answer; ms from sending to answer, summed. */
  'activeReads',
  'activeReadMs',
  'observerReads',
  'observerReadMs',
  /** Transactions from the client's floor to what the router knows, summed over the calls that went to observers. */
  'floorLag',

  // Reads that went to the active, by reason.
  /** The client brought no state id for the nameservice. */
  'withoutFloor',
  /** It brought one above what the router knows. */
  'floorAbove',
  /** Nothing is known of the active's state id: none was proved yet, or its state context is off. */
  'unknownState',
  /** The active has not answered the router within the refresh period. */
  'notFresh',
  /** No observer is known, or all are left alone. */
  'withoutObserver',

  // Attempts at observers that went on elsewhere, by reason.
  'retriedOnActive',
  'tooFarBehind',
  'observerNotReady',
  'observerStandby',
  'observerTimedOut',
  'observerUnreachable',
  /** It answered without having reached what the client has seen: its state context is off. */
  'observerOlder',
  /** Answers of NameNodes asked as the active one that were older than what the client has seen; another one was asked too. */
  'activeOlder',

  /** Times that an observer was left alone, and tries whether it answers again. */
  'holds',
  'probes',
  /** msyncs of clients, those of their auto-msync periods too, which look the same; those that the router sent of itself, and how many of them failed. */
  'clientMsyncs',
  'refreshes',
  'refreshesFailed',
] as const;

export type FigureName = (typeof FIGURES)[number];

const INDEX = Object.fromEntries(FIGURES.map((name, index) => [name, index])) as Record<FigureName, number>;
/** Position of each figure, for `Figures.add`. */
export const Figure: Readonly<Record<FigureName, number>> = INDEX;

export function figuresBytes(threads: number, nameservices: number): number {
  return threads * nameservices * FIGURES.length * 8;
}

export class Figures {
  readonly #region: Float64Array;

  constructor(shared: SharedArrayBuffer, thread: number, nameservices: number) {
    const length = nameservices * FIGURES.length;
    this.#region = new Float64Array(shared, thread * length * 8, length);
  }

  add(nameservice: number, figure: number, amount = 1): void {
    const at = nameservice * FIGURES.length + figure;
    this.#region[at] = (this.#region[at] as number) + amount;
  }
}

/** Sums over all threads, by nameservice and name. */
export function readFigures(shared: SharedArrayBuffer, nameservices: number): Record<FigureName, number>[] {
  const all = new Float64Array(shared);
  const sums = Array.from(
    { length: nameservices },
    () => Object.fromEntries(FIGURES.map((name) => [name, 0])) as Record<FigureName, number>,
  );
  for (let i = 0; i < all.length; i++) {
    const of = sums[Math.floor(i / FIGURES.length) % nameservices] as Record<FigureName, number>;
    of[FIGURES[i % FIGURES.length] as FigureName] += all[i] as number;
  }
  return sums;
}
