import type { Client } from '../../call/client.ts';
import { Deadline } from '../../call/deadline.ts';
import type { Engine } from '../../call/engine.ts';

/** Answers that one worker shares at one time; at the bound each call asks for itself. */
export const MAX_SHARED_ANSWERS = 256;

type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  /** `leaderGone`: its client left, which says nothing about the answer. */
  | { readonly ok: false; readonly error: unknown; readonly leaderGone: boolean };

interface Shared<T> {
  readonly outcome: Promise<Outcome<T>>;
  forget: () => void;
}

/**
 * Answers that many calls want at about the same time: the first call asks, those that come while it does wait for the same answer, and those
 * that come soon after take what is there. An answer is kept within the memory budget, else not at all.
 */
export class SharedAnswers<T> {
  readonly #engine: Engine;
  readonly #keptMs: number;
  readonly #sizeOf: (value: T) => number;
  readonly #shared = new Map<string, Shared<T>>();

  /** `sizeOf` in bytes. */
  constructor(engine: Engine, keptMs: number, sizeOf: (value: T) => number) {
    this.#engine = engine;
    this.#keptMs = keptMs;
    this.#sizeOf = sizeOf;
  }

  /** The answer of this key: shared, or made by `make` in the name of `client`. Throws what `make` throws. */
  async get(client: Client, key: string, make: () => Promise<T>): Promise<T> {
    for (;;) {
      const shared = this.#shared.get(key);
      if (shared === undefined) return await this.#lead(client, key, make);
      const outcome = await shared.outcome;
      if (outcome.ok) return outcome.value;
      if (!outcome.leaderGone) throw outcome.error;
    }
  }

  has(key: string): boolean {
    return this.#shared.has(key);
  }

  /** The next call asks anew; calls that wait already keep waiting. */
  forget(key: string): void {
    this.#shared.get(key)?.forget();
  }

  forgetAll(): void {
    for (const shared of [...this.#shared.values()]) shared.forget();
  }

  async #lead(client: Client, key: string, make: () => Promise<T>): Promise<T> {
    if (this.#shared.size >= MAX_SHARED_ANSWERS) return await make();
    const { promise, resolve } = Promise.withResolvers<Outcome<T>>();
    const shared: Shared<T> = { outcome: promise, forget: () => this.#remove(key, shared) };
    this.#shared.set(key, shared);
    try {
      const value = await make();
      if (this.#shared.get(key) === shared) this.#keep(key, shared, value);
      resolve({ ok: true, value });
      return value;
    } catch (error) {
      this.#remove(key, shared);
      resolve({ ok: false, error, leaderGone: client.gone });
      throw error;
    }
  }

  #keep(key: string, shared: Shared<T>, value: T): void {
    const { budget, wheel, clock } = this.#engine;
    const bytes = this.#sizeOf(value);
    if (!budget.claim(bytes)) {
      this.#remove(key, shared);
      return;
    }
    const deadline = new Deadline(() => shared.forget());
    shared.forget = () => {
      wheel.remove(deadline);
      this.#remove(key, shared);
      budget.release(bytes);
    };
    clock.tick();
    wheel.add(deadline, this.#keptMs);
  }

  #remove(key: string, shared: Shared<T>): void {
    if (this.#shared.get(key) === shared) this.#shared.delete(key);
  }
}
