/**
 * The edit log of a nameservice: what the active NameNode did, in order. Standby and observer NameNodes apply it to their own trees and
 * so lag behind as far as they are told to; what all of them have applied is dropped.
 */
import type { Plain } from '../wire/messages.ts';
import type { ServedMethod } from './operations.ts';
import type { Caller } from './permission-check.ts';

/** One operation that changed the namespace: enough to do exactly the same again. */
export interface Edit {
  /** State of the namespace after it. */
  readonly txid: number;
  readonly method: ServedMethod;
  readonly request: Plain;
  readonly caller: Caller;
  readonly machine: string;
  readonly timeMs: number;
  /** Key of the retry cache, '' when the call has none. */
  readonly retryKey: string;
}

export class Journal {
  #edits: Edit[] = [];
  /** Position of the first edit kept, counted from the first edit ever. */
  #base = 0;
  lastTxId = 0;

  append(edit: Edit): void {
    this.#edits.push(edit);
    this.lastTxId = edit.txid;
  }

  /** Number of edits ever: the position after the last one. */
  get end(): number {
    return this.#base + this.#edits.length;
  }

  get kept(): number {
    return this.#edits.length;
  }

  /** The edit at a position between those dropped and `end`. */
  at(position: number): Edit | undefined {
    return this.#edits[position - this.#base];
  }

  /** Drops the edits before a position. */
  dropBefore(position: number): void {
    if (position > this.#base) {
      this.#edits = this.#edits.slice(position - this.#base);
      this.#base = position;
    }
  }
}
