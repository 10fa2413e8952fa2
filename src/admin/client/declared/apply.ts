import { RemoteError, RpcError } from '../../../control/rpc-client.ts';
import type { MountEntry } from '../../../mount/entry.ts';
import { escapeKey } from '../../../state-store/record-names.ts';
import { encodeMount } from '../../../state-store/records.ts';
import type { AdminClient } from '../admin-client.ts';
import { reasonOf } from '../text.ts';
import type { PlacedMount } from './declared.ts';
import { type Difference, type DifferenceOptions, findDifference, type Step } from './difference.ts';

/** Entries of one call, and their bytes: routers take requests of 16 MB and more. */
export const MAX_BATCH = 1_000;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** Changes and removals that are under way at once. */
const MAX_AT_ONCE = 8;
/** Times that what has no answer is looked at again, through another router where there is one. */
const MAX_ROUNDS = 4;

/** How one step ended. */
export interface Outcome {
  readonly kind: Step['kind'];
  readonly path: string;
  readonly isDone: boolean;
  /** Why it is not done; ''. */
  readonly reason: string;
}

/** Ends without an answer; it may be done or not. */
const LOST = Symbol('lost');
type Result = string | typeof LOST | null;

export type Calls = Pick<
  AdminClient,
  'addMount' | 'addMounts' | 'updateMount' | 'removeMount' | 'readMounts' | 'refreshMounts' | 'reconnect'
>;

/**
 * Does what is to be done, each entry by itself: one that is refused stops no other. `found` is the difference that was shown. What gets no
 * answer is looked up, at the next router when the connection is gone, and done again when it is not there. Rejects only when no router
 * answers any more; `onOutcome` has been told then of all that is known.
 */
export async function applyDifference(
  client: Calls,
  declared: readonly PlacedMount[],
  found: Difference,
  options: DifferenceOptions,
  onOutcome: (outcome: Outcome) => void,
): Promise<void> {
  let open = [...found.steps];
  for (let round = 0; open.length > 0; round++) {
    const lost = await perform(client, open, onOutcome);
    if (lost.length === 0) return;
    if (round + 1 >= MAX_ROUNDS) {
      for (const { kind, path } of lost) {
        onOutcome({ kind, path, isDone: false, reason: 'no answer, again and again; look whether it is done' });
      }
      return;
    }
    await client.reconnect();
    open = await findOpen(client, declared, lost, options, onOutcome);
  }
}

/** Of the steps without an answer those that are still to be done. */
async function findOpen(
  client: Calls,
  declared: readonly PlacedMount[],
  lost: readonly Step[],
  options: DifferenceOptions,
  onOutcome: (outcome: Outcome) => void,
): Promise<Step[]> {
  await client.refreshMounts();
  const paths = new Set(lost.map(({ path }) => path));
  const now = findDifference(
    declared.filter(({ mount }) => paths.has(mount.sourcePath)),
    (await client.readMounts('')).filter(({ entry }) => paths.has(entry.sourcePath)),
    options,
  );
  const open = new Set(now.steps.map(({ path }) => path));
  for (const { kind, path } of lost) {
    if (!open.has(path)) onOutcome({ kind, path, isDone: true, reason: '' });
  }
  return [...now.steps];
}

/** Gives back the steps that got no answer. */
async function perform(
  client: Calls,
  steps: readonly Step[],
  onOutcome: (outcome: Outcome) => void,
): Promise<readonly Step[]> {
  const lost: Step[] = [];
  const settle = (step: Step, result: Result): void => {
    if (result === LOST) lost.push(step);
    else onOutcome({ kind: step.kind, path: step.path, isDone: result === null, reason: result ?? '' });
  };
  const adds = steps.flatMap((step) => (step.kind === 'add' ? [step] : []));
  for (const batch of splitBatches(adds)) {
    const results = await addBatch(
      client,
      batch.map(({ entry }) => entry),
    );
    for (const [i, step] of batch.entries()) settle(step, results[i] ?? null);
  }
  for (const kind of ['change', 'remove'] as const) {
    const open = steps.filter((step) => step.kind === kind);
    const results = new Map<Step, Result>();
    let next = 0;
    const work = async (): Promise<void> => {
      for (let step = open[next++]; step !== undefined; step = open[next++]) {
        results.set(step, await changeOne(client, step));
      }
    };
    await Promise.all(Array.from({ length: Math.min(MAX_AT_ONCE, open.length) }, work));
    for (const step of open) settle(step, results.get(step) ?? null);
  }
  return lost;
}

function splitBatches<T extends { readonly entry: MountEntry }>(adds: readonly T[]): T[][] {
  const batches: T[][] = [];
  let bytes = 0;
  for (const add of adds) {
    const size = encodeMount(add.entry).length;
    const batch = batches.at(-1);
    if (batch === undefined || batch.length >= MAX_BATCH || bytes + size > MAX_BATCH_BYTES) {
      batches.push([add]);
      bytes = size;
    } else {
      batch.push(add);
      bytes += size;
    }
  }
  return batches;
}

/**
 * Adds entries in one call, so that routers are told once. When one of them makes the router refuse all, both halves are tried by themselves,
 * down to the one.
 */
async function addBatch(client: Calls, entries: readonly MountEntry[]): Promise<Result[]> {
  const [first] = entries;
  if (first === undefined) return [];
  if (entries.length === 1) return [await addOne(client, first)];
  let failed: readonly string[] | null;
  try {
    failed = await client.addMounts(entries);
  } catch (error) {
    if (!(error instanceof RemoteError)) return entries.map(() => lostOrThrow(error));
    const half = Math.ceil(entries.length / 2);
    return [...(await addBatch(client, entries.slice(0, half))), ...(await addBatch(client, entries.slice(half)))];
  }
  if (failed === null) return entries.map(() => null);
  // Reported keys have a colon for each underscore of the path, or the other way round.
  const names = new Set(failed.map(escapeKey));
  const results = entries.map(({ sourcePath }): Result => (names.has(escapeKey(sourcePath)) ? EXISTS : null));
  // The router says that something was not added, but not what: it is looked up.
  return results.some((result) => result !== null) ? results : entries.map((): Result => LOST);
}

const EXISTS = 'there is an entry of this path already, or the State Store did not take it';

function addOne(client: Calls, entry: MountEntry): Promise<Result> {
  return answerOf(client.addMount(entry), EXISTS);
}

function changeOne(client: Calls, step: Step): Promise<Result> {
  switch (step.kind) {
    case 'add':
      return addOne(client, step.entry);
    case 'change':
      return answerOf(client.updateMount(step.entry, step.before), 'the router did not write it');
    case 'remove':
      return answerOf(client.removeMount(step.path), 'the router did not remove it, or it was gone already');
  }
}

/** `otherwise`: the reason when the router answers with false. */
async function answerOf(call: Promise<boolean>, otherwise: string): Promise<Result> {
  try {
    return (await call) ? null : otherwise;
  } catch (error) {
    return error instanceof RemoteError && !error.fatal ? reasonOf(error) : lostOrThrow(error);
  }
}

function lostOrThrow(error: unknown): typeof LOST {
  if (error instanceof RpcError || (error instanceof RemoteError && error.fatal)) return LOST;
  throw error;
}
