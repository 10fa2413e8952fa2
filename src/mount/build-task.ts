/**
 * Piscina task that builds a mount snapshot off the main thread:
 *
 *   const { buffer } = await pool.run({ entries, nameservices, epoch, buffer: slot.buffer }, { filename: BUILD_TASK_FILE });
 *
 * The result is verified before it is handed back. A table that cannot be built rejects with the MountError's message.
 */
import type { SharedBytes } from '../shared/epochs.ts';
import type { MountEntry } from './entry.ts';
import { buildSnapshot } from './radix-build.ts';
import { MountSnapshot } from './snapshot.ts';

export interface BuildTask {
  readonly entries: readonly MountEntry[];
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

export default function buildMountSnapshot(task: BuildTask): BuildResult {
  const buffer = buildSnapshot(task.entries, task.nameservices, task.epoch, task.buffer);
  const snapshot = MountSnapshot.from(buffer);
  return { buffer, epoch: snapshot.epoch, mounts: snapshot.mountCount };
}
