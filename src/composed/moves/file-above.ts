import type { Composition, Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import { exists, findNearestAbove, type Standing } from '../locations/survey.ts';
import { NO_STATUSES, type Statuses } from './status.ts';

/**
 * The client's path of a file above a path of several locations, null when there is none. Only the nameservice that has the file knows of it,
 * and a NameNode does not tell a superuser who asks it for a status. `seenAbove` is of the parent; nothing found there: it is looked further up.
 */
export async function findFileAbove(
  c: Composition,
  { path, targets, everywhere }: Located,
  seenAbove: Statuses = NO_STATUSES,
): Promise<string | null> {
  // One location alone says it itself.
  if (targets.length < 2) return null;
  const known = seenAbove.found.length > 0 ? seenAbove.found : await findNearestAbove(c, { path, targets }, {});
  const [first] = (known ?? []).filter(exists);
  const file = everywhere ? known?.find(isFile) : first;
  return file === undefined || !isFile(file) ? null : shorten(path, targets[file.location] as Target, file.target);
}

/** What a NameNode says of it. */
export function notDirectory(file: string): string {
  return `${file} (is not a directory)`;
}

function isFile({ kind }: Standing): boolean {
  return kind === 'file';
}

/** The path with as many names less as `above` has less than `target`. */
function shorten(path: string, target: Target, above: Target): string {
  const names = path.split('/');
  return names.slice(0, names.length - (depthOf(target) - depthOf(above))).join('/');
}

function depthOf({ path }: Target): number {
  return path === null ? 0 : path.toString('latin1').split('/').length;
}
