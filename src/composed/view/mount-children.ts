import { Deadline } from '../../call/deadline.ts';
import type { MountSnapshot } from '../../mount/snapshot.ts';
import { LISTING_HEAD_BYTES, renamedBound, writeRenamed, writeStatus } from '../../wire/listing-scan.ts';
import { encode, messageType } from '../../wire/messages.ts';
import type { Answer } from '../answer.ts';
import { type Composition, MAX_PARTS_AT_ONCE, type Target } from '../composition.ts';
import { locate } from '../locate.ts';
import { clientMethod } from '../request.ts';
import { chooseStatus, type FoundStatus, statusIn } from './find-status.ts';
import { joinPath, type SyntheticStatus, syntheticStatus } from './synthetic.ts';

/** Destinations asked for one page of a listing; mount points beyond show what their records say. */
export const MAX_DESTINATIONS_ASKED = 512;

/** A name of a listing that is there because of mount points; plain data. */
export interface MountChild {
  readonly name: Buffer;
  /** It is a mount point itself, not only an ancestor of some. */
  readonly isMount: boolean;
  readonly synthetic: SyntheticStatus;
  readonly targets: readonly Target[];
  readonly everywhere: boolean;
}

/** The name under a directory, as the mount table of this moment has it; null when it has none any more. */
export function describeChild(c: Composition, directory: string, name: Buffer): MountChild | null {
  const { engine, call } = c;
  const snapshot = engine.resolver.snapshot as MountSnapshot;
  const text = name.toString();
  const path = joinPath(directory, text);
  const bytes = Buffer.from(path);
  const mount = snapshot.find(bytes, 0, bytes.length);
  const isMount = mount >= 0 && snapshot.atMount;
  if (!isMount && !snapshot.mountsBelow) return null;
  const synthetic = syntheticStatus(snapshot, engine.settings, path, text);
  const plain = { name, isMount, synthetic, targets: [], everywhere: false };
  if (!isMount) return plain;
  try {
    const { targets, everywhere } = locate(engine, call, bytes, false);
    // Explicit paths: one request serves all.
    const explicit = targets.map((target) => ({ ...target, path: target.path ?? bytes }));
    return { ...plain, targets: explicit, everywhere };
  } catch {
    // Its nameservice is not behind this router.
    return plain;
  }
}

/**
 * The statuses of mount points as their destinations have them: what a client would be told of each. They are asked all at once and for no
 * longer than `dfs.federation.router.client.mount-status.time-out`; null for one whose destinations are missing or have not answered.
 */
export async function askChildren(
  c: Composition,
  children: readonly MountChild[],
  located: boolean,
): Promise<(FoundStatus | null)[]> {
  const asked: Target[] = [];
  const firsts: number[] = [];
  for (const { targets } of children) {
    const fits = asked.length + targets.length <= MAX_DESTINATIONS_ASKED;
    firsts.push(fits ? asked.length : -1);
    if (fits) asked.push(...targets);
  }
  const answers = await askForSome(c, asked, located);
  return children.map(({ targets, everywhere }, i) => {
    const first = firsts[i] as number;
    if (first < 0) return null;
    const statuses: FoundStatus[] = [];
    for (const answer of answers.slice(first, first + targets.length)) {
      const status = answer?.ok === true ? statusIn(answer.body) : null;
      if (status !== null) statuses.push(status);
    }
    return chooseStatus(statuses, everywhere);
  });
}

/** The answers that came in time. */
async function askForSome(
  c: Composition,
  targets: readonly Target[],
  located: boolean,
): Promise<(Answer | undefined)[]> {
  if (targets.length === 0) return [];
  const { clock, wheel, settings } = c.engine;
  const method = clientMethod(located ? 'getLocatedFileInfo' : 'getFileInfo');
  const request = c.other(method, { src: '/' });
  const answers = new Array<Answer | undefined>(targets.length).fill(undefined);
  const late = Promise.withResolvers<void>();
  const deadline = new Deadline(() => {
    next = targets.length;
    late.resolve();
  });
  let next = 0;
  const askNext = async (): Promise<void> => {
    while (next < targets.length) {
      const at = next++;
      answers[at] = await c.ask(request, targets[at] as Target);
    }
  };
  clock.tick();
  wheel.add(deadline, settings.mountStatusTimeoutMs);
  const workers = Array.from({ length: Math.min(MAX_PARTS_AT_ONCE, targets.length) }, askNext);
  await Promise.race([Promise.all(workers), late.promise]);
  wheel.remove(deadline);
  return [...answers];
}

/** A status of another path as an entry of that name, field and all. */
export function renamedEntry({ body, scan }: FoundStatus, name: Buffer): Buffer {
  const status = Buffer.allocUnsafe(renamedBound(scan, 0, name.length));
  return entryOf(status.subarray(0, writeRenamed(status, 0, body, scan, 0, name)));
}

export function syntheticEntry(status: SyntheticStatus): Buffer {
  return entryOf(encode(messageType('hadoop.hdfs.HdfsFileStatusProto'), status));
}

function entryOf(status: Buffer): Buffer {
  const out = Buffer.allocUnsafe(status.length + LISTING_HEAD_BYTES);
  return out.subarray(0, writeStatus(out, 0, status));
}
