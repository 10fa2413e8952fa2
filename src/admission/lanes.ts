import type { Method } from '../call/method.ts';
import { METHODS } from '../call/methods.ts';

/**
 * What is kept apart in the queue and in the window of a nameservice, so that one does not wait for the other: reads, changes (a NameNode
 * makes them one at a time, and waits for its journal), and reads known to take long.
 */
export const Lane = { READ: 0, WRITE: 1, HEAVY: 2 } as const;
export const LANES = 3;

/** Most of a window that one lane may take, in eighths: the rest is there for the others at any time, however long its calls last. */
const EIGHTHS: readonly number[] = [7, 6, 2];

/**
 * Order in which lanes take what becomes free; one whose turn it is and that has nothing leaves it to the next. No lane starves: HEAVY has one
 * turn of nine, and comes to more as soon as the others have nothing.
 */
export const TURNS: readonly number[] = [
  Lane.READ,
  Lane.WRITE,
  Lane.READ,
  Lane.WRITE,
  Lane.READ,
  Lane.WRITE,
  Lane.READ,
  Lane.WRITE,
  Lane.HEAVY,
];

/** By index of the method. */
export const LANE_OF: Uint8Array = Uint8Array.from(METHODS, laneOf);
/** 1 for methods whose round trip tells how busy a NameNode is: reads that cost it next to nothing. By index of the method. */
export const IS_CHEAP: Uint8Array = Uint8Array.from(METHODS, ({ cost }) => (cost === 'cheap' ? 1 : 0));

function laneOf({ effect, cost }: Method): number {
  if (cost === 'heavy') return Lane.HEAVY;
  return effect === 'write' ? Lane.WRITE : Lane.READ;
}

/** How many calls of a lane a window of `limit` calls lets through. */
export function laneLimit(lane: number, limit: number): number {
  return Math.ceil((limit * (EIGHTHS[lane] as number)) / 8);
}
