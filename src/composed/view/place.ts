import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import type { MountSnapshot } from '../../mount/snapshot.ts';
import { type Answer, isNotFound } from '../answer.ts';
import { type Located, locate } from '../locate.ts';
import { type SyntheticStatus, syntheticStatus } from './synthetic.ts';

const PARENT_NOT_DIRECTORY = 'org.apache.hadoop.fs.ParentNotDirectoryException';

/** What a path of the client stands for: where it lies, and what mount points make of it. Plain data, as Located. */
export interface Place extends Located {
  /** Its status where nothing real is there; null when no mount point makes it visible. */
  readonly synthetic: SyntheticStatus | null;
}

/** As `locate`, without mount check. */
export function findPlace(engine: Engine, call: Call, spelled: Buffer): Place {
  const located = locate(engine, call, spelled, false);
  const { path, atMount, mountsBelow } = located;
  const snapshot = engine.resolver.snapshot as MountSnapshot;
  const synthetic = atMount || mountsBelow ? syntheticStatus(snapshot, engine.settings, path, '') : null;
  return { ...located, synthetic };
}

/**
 * The answer says that nothing is there. Above mount points something is there in any case: a file in its way, of which mount points make a
 * directory, is as good as nothing.
 */
export function isMissing(answer: Answer, { mountsBelow }: Place): boolean {
  if (isNotFound(answer)) return true;
  return mountsBelow && !answer.ok && answer.refused.className === PARENT_NOT_DIRECTORY;
}
