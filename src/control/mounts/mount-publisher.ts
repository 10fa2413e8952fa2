import { Piscina } from 'piscina';
import type { BuildResult, BuildTask } from '../../mount/build-task.ts';
import type { MountEntry } from '../../mount/entry.ts';
import { SnapshotPool } from '../../mount/snapshot-pool.ts';
import { type EpochWords, oldestAnnounced, type SharedBytes } from '../../shared/epochs.ts';

/** The thread that builds stays so long without work: a new one takes longer to start than a table to be built. */
const IDLE_MS = 30_000;

/** An entry of the last table. */
interface Row {
  entry: MountEntry;
  /** Of the table that it was last seen in. */
  epoch: number;
}

/**
 * Builds mount snapshots off the main thread and keeps their memory. A published snapshot is given to every thread by `build`'s caller.
 */
export class MountPublisher {
  readonly #epochs: EpochWords;
  readonly #pool: SnapshotPool;
  readonly #nameservices: readonly string[];
  readonly #piscina: Piscina<BuildTask, BuildResult | null>;
  /** The last table, whose entries the building thread has, unless it is a new one. */
  #last: { readonly epoch: number; readonly rows: Map<string, Row> } | null = null;

  constructor(epochs: EpochWords, nameservices: readonly string[], idleMs: number = IDLE_MS) {
    this.#epochs = epochs;
    this.#pool = new SnapshotPool(epochs);
    this.#nameservices = nameservices;
    const suffix = import.meta.filename.endsWith('.ts') ? 'ts' : 'js';
    this.#piscina = new Piscina({
      filename: new URL(`../../mount/build-task.${suffix}`, import.meta.url).href,
      minThreads: 0,
      idleTimeout: idleMs,
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
    const { epoch, buffer } = slot;
    const last = this.#last;
    // Whether the thread takes it is not known until it has answered.
    this.#last = null;
    const rows = last?.rows ?? new Map<string, Row>();
    const difference = takeTable(rows, entries, epoch);
    const rest = { nameservices: this.#nameservices, epoch, buffer };
    try {
      let built: BuildResult | null = null;
      // One path twice is for the builder to refuse.
      if (last !== null && difference !== null) {
        built = await this.#piscina.run({ ...difference, base: last.epoch, ...rest });
      }
      built ??= await this.#piscina.run({ entries, removed: [], base: null, ...rest });
      if (built === null) throw new Error('the mount table was given in full, and was not built');
      this.#pool.publish(slot, built.buffer);
    } catch (error) {
      this.#pool.abandon(slot);
      throw error;
    }
    this.#last = { epoch, rows };
    return true;
  }

  async close(): Promise<void> {
    await this.#piscina.destroy();
  }
}

/**
 * Makes `rows` the table of these entries. What has changed by that: entries that are not the same objects as before, for they are never
 * changed once they are known, and paths of those that are gone. Null: a path is there twice.
 */
function takeTable(
  rows: Map<string, Row>,
  entries: readonly MountEntry[],
  epoch: number,
): Pick<BuildTask, 'entries' | 'removed'> | null {
  const changed: MountEntry[] = [];
  for (const entry of entries) {
    const row = rows.get(entry.sourcePath);
    if (row?.epoch === epoch) return null;
    if (row?.entry !== entry) changed.push(entry);
    if (row === undefined) rows.set(entry.sourcePath, { entry, epoch });
    else {
      row.entry = entry;
      row.epoch = epoch;
    }
  }
  const removed: string[] = [];
  if (rows.size > entries.length) {
    for (const [path, row] of rows) if (row.epoch !== epoch) removed.push(path);
    for (const path of removed) rows.delete(path);
  }
  return { entries: changed, removed };
}
