import { escapeKey } from '../../state-store/record-names.ts';
import { encodeDisabledNameservice } from '../../state-store/records.ts';
import { ChangeQueue } from './change-queue.ts';
import type { StateStore } from './state-store.ts';

/**
 * Nameservices that administrators have taken out of service. Changes read the store first, so that they hold right after each other. Throws
 * as StateStore's methods do.
 */
export class DisabledNameservices {
  readonly #store: StateStore;
  readonly #queue = new ChangeQueue();

  constructor(store: StateStore) {
    this.#store = store;
  }

  /** Cached ids, sorted. */
  ids(): string[] {
    return [...this.#store.records('DisabledNameservice').keys()].sort();
  }

  has(nameserviceId: string): boolean {
    return this.#store.records('DisabledNameservice').has(nameserviceId);
  }

  /** False when it is disabled already. Whether there is such a nameservice is the caller's to know. */
  async disable(nameserviceId: string): Promise<boolean> {
    const name = escapeKey(nameserviceId);
    return await this.#queue.run(name, async () => {
      await this.#store.requireFresh('DisabledNameservice');
      if (this.has(nameserviceId)) return false;
      const nowMs = this.#store.clock.wallMs();
      const bytes = encodeDisabledNameservice({ dateCreated: nowMs, dateModified: nowMs, nameserviceId });
      return await this.#store.put('DisabledNameservice', name, bytes, { update: false, errorIfExists: true });
    });
  }

  /** False when it is not disabled. */
  async enable(nameserviceId: string): Promise<boolean> {
    return await this.#queue.run(escapeKey(nameserviceId), async () => {
      await this.#store.requireFresh('DisabledNameservice');
      let isRemoved = false;
      for (const name of this.#store.cache('DisabledNameservice').namesOf(nameserviceId)) {
        if (await this.#store.remove('DisabledNameservice', name)) isRemoved = true;
      }
      return isRemoved;
    });
  }
}
