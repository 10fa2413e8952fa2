import type { LoadConnection } from './connection.ts';

/** A call that is sent later than this after it was due is counted as late. */
export const LATE_MS = 5;

/** This open connection may take one more call. */
export function takesCalls({ isFull, slots }: LoadConnection): boolean {
  return !isFull && slots.count < slots.limit;
}

/** What a pacer does its work with. */
export interface Sender {
  /** Puts call `call` of the schedule on the connection, which has a free slot; `dueMs` is performance.now. */
  send(connection: LoadConnection, call: number, dueMs: number, isMeasured: boolean): void;
  /** `issue` is to be called in this turn, after all replies that have come. */
  wake(): void;
}

/** Decides when calls are sent, and on which connection. Times are performance.now. */
export interface Pacer {
  /** Measured calls that were due (a closed loop: sent). Valid once `isOver`. */
  readonly due: number;
  readonly lateForSlots: number;
  readonly lateForLoader: number;
  /** Measured calls that were due and never sent. Valid once `isOver`. */
  readonly unsent: number;
  /** How long after they were due measured calls were sent that found a free slot at once. */
  readonly sendDelay: Uint32Array;
  /** Nothing is sent any more. */
  readonly isOver: boolean;
  /** The run starts now, or a connection is open again. */
  onOpen(connection: LoadConnection): void;
  onBroken(connection: LoadConnection): void;
  /** A call has left its slot, at connection.nowMs. */
  onSlotFree(connection: LoadConnection): void;
  /** A connection is no longer full (see LoadConnection.isFull). */
  onWritable(connection: LoadConnection): void;
  /** A call is over: answered, given up, or lost. `number` is that of its CallSource, for a replay the call's own in the schedule. */
  onCallOver(number: number): void;
  /** Sends what is due. */
  issue(nowMs: number): void;
  /**
   * Ends it: what is due by now, and before the end of a run by time, is sent as far as there are slots; the rest is unsent. `givesUp`: so is
   * what would have been due later.
   */
  end(nowMs: number, givesUp: boolean): void;
  /** Calls that are due and not sent. */
  countWaiting(nowMs: number): number;
}
