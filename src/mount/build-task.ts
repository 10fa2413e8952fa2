/**
 * Piscina task that builds a mount snapshot off the main thread:
 *
 *   const result = await pool.run({ entries, removed: [], base: null, nameservices, epoch, buffer: slot.buffer }, { filename: BUILD_TASK_FILE });
 *
 * The thread keeps the entries of its last table: a task may give what has changed since. The result is verified before it is handed back.
 * A table that cannot be built rejects with the MountError's message.
 */
import { constants, setPriority } from 'node:os';
import type { SharedBytes } from '../shared/epochs.ts';
import type { MountEntry } from './entry.ts';
import { buildSnapshot } from './radix-build.ts';
import { MountSnapshot } from './snapshot.ts';

export interface BuildTask {
  /** All entries; with a base those that are new or differ in it. */
  readonly entries: readonly MountEntry[];
  /** Source paths of entries of the base that are gone. */
  readonly removed: readonly string[];
  /** Epoch of the table that the entries are a difference to; null: they are all. */
  readonly base: number | null;
  /** Names of the topology, in its order. */
  readonly nameservices: readonly string[];
  readonly epoch: number;
  /** Memory to write into when the table fits; null for new memory. */
  readonly buffer: SharedBytes | null;
}

export interface BuildResult {
  /** `BuildTask.buffer`, or new memory when that was too small. */
  readonly buffer: SharedBytes;
  readonly epoch: number;
  readonly mounts: number;
}

export const BUILD_TASK_FILE = import.meta.url;

/** The entries of the last table of this thread, by source path. */
let held: { readonly epoch: number; readonly entries: Map<string, MountEntry> } | null = null;

/** Null: this thread does not have the base, all entries are needed. */
export default function buildMountSnapshot(task: BuildTask): BuildResult | null {
  yieldToOthers();
  const { base, epoch } = task;
  let { entries } = task;
  if (base === null) held = { epoch, entries: new Map(entries.map((entry) => [entry.sourcePath, entry])) };
  else {
    if (held?.epoch !== base) return null;
    const table = held.entries;
    for (const path of task.removed) table.delete(path);
    for (const entry of entries) table.set(entry.sourcePath, entry);
    held = { epoch, entries: table };
    entries = [...table.values()];
  }
  const buffer = buildSnapshot(entries, task.nameservices, epoch, task.buffer);
  const snapshot = MountSnapshot.from(buffer);
  return { buffer, epoch: snapshot.epoch, mounts: snapshot.mountCount };
}

/** Where there are few processors the threads that serve calls go first. Linux counts priorities by thread. */
function yieldToOthers(): void {
  try {
    setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Not allowed here: a table is built all the same.
  }
}
