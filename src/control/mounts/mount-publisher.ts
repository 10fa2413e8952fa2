import { Piscina } from 'piscina';
import type { BuildResult, BuildTask } from '../../mount/build-task.ts';
import type { MountEntry } from '../../mount/entry.ts';
import { SnapshotPool } from '../../mount/snapshot-pool.ts';
import { type EpochWords, oldestAnnounced, type SharedBytes } from '../../shared/epochs.ts';

/**
 * Builds mount snapshots off the main thread and keeps their memory. A published snapshot is given to every thread by `build`'s caller.
 */
export class MountPublisher {
  readonly #epochs: EpochWords;
  readonly #pool: SnapshotPool;
  readonly #nameservices: readonly string[];
  readonly #piscina: Piscina;

  constructor(epochs: EpochWords, nameservices: readonly string[]) {
    this.#epochs = epochs;
    this.#pool = new SnapshotPool(epochs);
    this.#nameservices = nameservices;
    const suffix = import.meta.filename.endsWith('.ts') ? 'ts' : 'js';
    this.#piscina = new Piscina({
      filename: new URL(`../../mount/build-task.${suffix}`, import.meta.url).href,
      minThreads: 0,
      maxThreads: 1,
      atomics: 'disabled',
      recordTiming: false,
    });
  }

  /** Epoch of the snapshot that threads are given now, 0 before the first. */
  get epoch(): number {
    return this.#pool.current?.epoch ?? 0;
  }

  get buffer(): SharedBytes | null {
    return this.#pool.current?.buffer ?? null;
  }

  /** Every running thread is on `epoch` or a newer one. */
  isEverywhere(epoch: number): boolean {
    return oldestAnnounced(this.#epochs) >= epoch;
  }

  /**
   * Builds the table of these entries and makes it the current one. False: all memory is in use by threads that have not moved on yet; ask
   * again when one has. Throws MountError's text when the table cannot be built.
   */
  async build(entries: readonly MountEntry[]): Promise<boolean> {
    const slot = this.#pool.take();
    if (slot === null) return false;
    const task: BuildTask = { entries, nameservices: this.#nameservices, epoch: slot.epoch, buffer: slot.buffer };
    try {
      const { buffer }: BuildResult = await this.#piscina.run(task);
      this.#pool.publish(slot, buffer);
    } catch (error) {
      this.#pool.abandon(slot);
      throw error;
    }
    return true;
  }

  async close(): Promise<void> {
    await this.#piscina.destroy();
  }
}
