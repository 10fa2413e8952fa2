import { type EpochWords, LAST_EPOCH, oldestAnnounced, type SharedBytes } from '../shared/epochs.ts';
import { MountError } from './entry.ts';

/** Most buffers there are at any time: the current one, one that threads are leaving, one being built, one for a laggard. */
export const POOL_BUFFERS = 4;

/** The right to build one epoch. */
export interface SnapshotSlot {
  readonly epoch: number;
  /** Memory that no thread looks at any more; null: build into new memory. */
  readonly buffer: SharedBytes | null;
}

export interface PublishedSnapshot {
  readonly epoch: number;
  readonly buffer: SharedBytes;
}

/**
 * Reused memory of mount snapshots. Lives on the main thread; the threads only announce their epochs.
 *
 *   take ──▶ building ──publish──▶ published, oldest first; the last one is current ──all threads past it──▶ take
 *                     ──abandon──▶ free ──▶ take
 *
 * A published buffer is given out again only when a newer one is current and every running thread announces a newer epoch: a thread
 * that has not yet been told of epoch e announces an older one, so e's memory waits for it.
 */
export class SnapshotPool {
  readonly #words: EpochWords;
  readonly #limit: number;
  #lastEpoch = 0;
  readonly #building: SnapshotSlot[] = [];
  readonly #published: PublishedSnapshot[] = [];
  readonly #free: SharedBytes[] = [];

  constructor(words: EpochWords, limit: number = POOL_BUFFERS) {
    if (limit < 2) throw new RangeError(`a snapshot pool needs at least 2 buffers, not ${limit}`);
    this.#words = words;
    this.#limit = limit;
  }

  /** The newest snapshot; null before the first one. Threads that start are given it, after its epoch was announced for them. */
  get current(): PublishedSnapshot | null {
    return this.#published.at(-1) ?? null;
  }

  /** Buffers that exist or will exist once the builds under way are done. */
  get buffers(): number {
    return this.#building.length + this.#published.length + this.#free.length;
  }

  /**
   * The next epoch and memory for it. Null when all buffers are in use: keep the newest entries and ask again when a thread has announced
   * an epoch (or has ended).
   */
  take(): SnapshotSlot | null {
    let buffer = this.#free.pop() ?? null;
    const oldest = this.#published[0];
    if (
      buffer === null &&
      oldest !== undefined &&
      this.#published.length > 1 &&
      oldest.epoch < oldestAnnounced(this.#words)
    ) {
      buffer = oldest.buffer;
      this.#published.shift();
    }
    if (buffer === null && this.buffers >= this.#limit) return null;
    if (this.#lastEpoch === LAST_EPOCH)
      throw new MountError('mount snapshots have used up their epochs; restart the router');
    const slot: SnapshotSlot = { epoch: ++this.#lastEpoch, buffer };
    this.#building.push(slot);
    return slot;
  }

  /**
   * `buffer` (the slot's own, or new memory when that was too small) holds the slot's epoch and is current now. False when a newer epoch
   * has been published meanwhile: this one is dropped and must not be shown to threads.
   */
  publish(slot: SnapshotSlot, buffer: SharedBytes): boolean {
    this.#endBuild(slot);
    const current = this.current;
    if (current !== null && current.epoch > slot.epoch) {
      this.#free.push(buffer);
      return false;
    }
    this.#published.push({ epoch: slot.epoch, buffer });
    return true;
  }

  /** The build failed: its memory is free again. */
  abandon(slot: SnapshotSlot): void {
    this.#endBuild(slot);
    if (slot.buffer !== null) this.#free.push(slot.buffer);
  }

  #endBuild(slot: SnapshotSlot): void {
    const at = this.#building.indexOf(slot);
    if (at < 0) throw new Error(`the mount snapshot of epoch ${slot.epoch} is not being built`);
    this.#building.splice(at, 1);
  }
}
