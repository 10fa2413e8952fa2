import { requireAll } from '../answer.ts';
import type { AskOptions, Composition, Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import { failoverWaitMs } from '../waiting.ts';
import {
  exists,
  failuresOf,
  findNearestAbove,
  isTargetRoot,
  refuses,
  type Spot,
  type Standing,
  spotAbove,
  survey,
} from './survey.ts';

/**
 * Where a new path goes on a mount whose directories are in one location each (HASH, LOCAL): to the location that has it already, else to
 * the one that has the nearest directory above it, so that a directory that was renamed stays in one piece. The mount's own targets do not
 * count, for all locations have them: without a directory below the mount point it is the first in order.
 *
 * Who does not answer within `dfs.federation.router.client.mount-status.time-out` is passed over as soon as another has the parent. A
 * file is not made, and a missing parent not told, before all have answered: any of them may have it.
 */
export async function findPlaceOfNew(c: Composition, located: Located, kind: 'file' | 'directory'): Promise<Target> {
  const { targets } = located;
  const spot: Spot = { path: located.path, targets };
  const above = spotAbove(spot);
  const createsParent = c.request()['createParent'] === true;
  const needsAll = kind === 'file' || !createsParent;
  const soon: AskOptions = { unansweredMs: c.engine.settings.mountStatusTimeoutMs };
  const patient: AskOptions = { unreachedMs: failoverWaitMs(c.engine) };
  for (const options of needsAll ? [soon, patient] : [soon]) {
    const [itself = [], parent = []] = await survey(c, above === null ? [spot] : [spot, above], options);
    const isWithin = (each: Standing): boolean => exists(each) && !(createsParent && isTargetRoot(each.target));
    const decisive =
      itself.find(isFile) ??
      parent.find(isFile) ??
      // Who refuses to tell may have the file: it refuses the call as well.
      itself.find((each) => exists(each) || (kind === 'file' && refuses(each))) ??
      parent.find(isWithin);
    if (decisive !== undefined) return targets[decisive.location] as Target;
    const unasked = failuresOf([...itself, ...parent]).filter(({ unavailable }) => unavailable);
    if (unasked.length === 0) break;
    if (options === patient) requireAll(unasked);
  }
  const nearest =
    createsParent && above !== null
      ? await findNearestAbove(c, above, needsAll ? patient : soon, 'below the root')
      : null;
  const holder = nearest?.find(isFile) ?? nearest?.find(exists);
  return targets[holder?.location ?? 0] as Target;
}

function isFile({ kind }: Standing): boolean {
  return kind === 'file';
}
