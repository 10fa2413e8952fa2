/**
 * The NameNode's retry cache: the answer to an @AtMostOnce call is kept under (client id, call id), so that the same call, sent again
 * because its answer was lost, is answered and not executed again. Failed calls are not kept: they run again.
 */
import type { Plain } from '../wire/messages.ts';

/** `dfs.namenode.retrycache.expirytime.millis` */
const EXPIRY_MS = 600_000;
/** Entries beyond this push out the oldest. */
const MAX_ENTRIES = 100_000;

interface Entry {
  readonly answer: Plain;
  readonly expiresMs: number;
}

export class RetryCache {
  /** In order of their making, hence of their expiry. */
  readonly #entries = new Map<string, Entry>();

  /** The answer that the call got before; undefined when it has not been executed or that was too long ago. */
  find(key: string, nowMs: number): Plain | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined || entry.expiresMs <= nowMs ? undefined : entry.answer;
  }

  store(key: string, answer: Plain, nowMs: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { answer, expiresMs: nowMs + EXPIRY_MS });
    for (const [oldest, entry] of this.#entries) {
      if (entry.expiresMs > nowMs && this.#entries.size <= MAX_ENTRIES) {
        break;
      }
      this.#entries.delete(oldest);
    }
  }

  get size(): number {
    return this.#entries.size;
  }
}
