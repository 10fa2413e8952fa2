import { StoreUnavailableError } from './store-error.ts';

/** Changes that wait or are under way in one queue; what is beyond is refused. */
export const MAX_QUEUED_CHANGES = 4096;

/** Changes of one record one after the other, of different records at the same time. */
export class ChangeQueue {
  /** The last change of each record. */
  readonly #last = new Map<string, Promise<unknown>>();
  #queued = 0;

  /** Runs `change` after the earlier ones of this record, and settles as it does. Throws StoreUnavailableError when the queue is full. */
  async run<T>(name: string, change: () => Promise<T>): Promise<T> {
    if (this.#queued >= MAX_QUEUED_CHANGES) {
      throw new StoreUnavailableError(
        `${MAX_QUEUED_CHANGES} changes of records wait for the State Store; try again later`,
      );
    }
    this.#queued++;
    const before = this.#last.get(name) ?? Promise.resolve();
    const own = before.then(change, change);
    this.#last.set(name, own);
    try {
      return await own;
    } finally {
      this.#queued--;
      if (this.#last.get(name) === own) this.#last.delete(name);
    }
  }
}
