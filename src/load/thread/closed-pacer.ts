import type { LoadConnection } from './connection.ts';
import { type Pacer, type Sender, takesCalls } from './pacer.ts';

const NO_COUNTS = new Uint32Array(0);

/** The closed loop: every slot of an open connection always has a call, until the time is over or the calls are made. */
export class ClosedPacer implements Pacer {
  readonly lateForSlots = 0;
  readonly lateForLoader = 0;
  readonly sendDelay: Uint32Array = NO_COUNTS;
  unsent = 0;
  due = 0;
  isOver = false;
  readonly #sender: Sender;
  readonly #measureStartMs: number;
  readonly #endMs: number;
  readonly #calls: number;

  /** Calls sent from `measureStartMs` on are measured: `calls` of them, or those sent before `endMs`. */
  constructor(sender: Sender, measureStartMs: number, endMs: number, calls: number | null) {
    this.#sender = sender;
    this.#measureStartMs = measureStartMs;
    this.#endMs = endMs;
    this.#calls = calls ?? Number.POSITIVE_INFINITY;
  }

  onOpen(connection: LoadConnection): void {
    this.#fill(connection, performance.now());
  }

  onBroken(): void {}

  onSlotFree(connection: LoadConnection): void {
    this.#fill(connection, connection.nowMs);
  }

  onWritable(connection: LoadConnection): void {
    this.#fill(connection, performance.now());
  }

  onCallOver(): void {}

  issue(): void {}

  end(_nowMs: number, givesUp: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    if (!givesUp || this.#calls === Number.POSITIVE_INFINITY) return;
    this.unsent = this.#calls - this.due;
    this.due = this.#calls;
  }

  countWaiting(): number {
    return 0;
  }

  #fill(connection: LoadConnection, nowMs: number): void {
    while (!this.isOver && nowMs < this.#endMs && takesCalls(connection)) {
      const isMeasured = nowMs >= this.#measureStartMs;
      this.#sender.send(connection, 0, nowMs, isMeasured);
      if (isMeasured && ++this.due >= this.#calls) this.isOver = true;
    }
  }
}
