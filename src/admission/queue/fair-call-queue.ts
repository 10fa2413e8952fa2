import { type Call, CallQueue } from '../../call/call.ts';

export class FairCallQueue {
  readonly #capacity: number;
  readonly #lists: CallQueue[];
  constructor(capacity: number, _weights: readonly number[], _multiplexer: readonly number[], lanes: number) {
    this.#capacity = capacity;
    this.#lists = Array.from({ length: lanes }, () => new CallQueue());
  }
  get length(): number {
    return this.#lists.reduce((sum, { length }) => sum + length, 0);
  }
  lengthOf(lane: number): number {
    return (this.#lists[lane] as CallQueue).length;
  }
  lengthOfLevel(_level: number): number {
    return this.length;
  }
  overflowedOf(_level: number): number {
    return 0;
  }
  put(call: Call): boolean {
    if (this.length >= this.#capacity) return false;
    (this.#lists[call.lane] as CallQueue).push(call);
    return true;
  }
  putBack(call: Call): void {
    (this.#lists[call.lane] as CallQueue).push(call);
  }
  take(lane: number): Call | null {
    return (this.#lists[lane] as CallQueue).shift();
  }
  remove(call: Call): void {
    (this.#lists[call.lane] as CallQueue).remove(call);
  }
  oldest(beforeMs: number): Call | null {
    for (const { head } of this.#lists) if (head !== null && head.queuedMs <= beforeMs) return head;
    return null;
  }
  drainTo(fn: (call: Call) => void): void {
    for (const list of this.#lists) for (let call = list.shift(); call !== null; call = list.shift()) fn(call);
  }
}
