import type { Composition, Target } from '../composition.ts';
import { failureOf } from '../locations/answers.ts';
import { exists, failuresOf, type Standing, survey } from '../locations/survey.ts';
import type { Refused } from '../refused.ts';
import { FAILOVER_WAIT_MS } from '../waiting.ts';

/** What the locations of a path have there. */
export interface Statuses {
  /** Those that have something, in the order of the targets. */
  readonly found: readonly Standing[];
  /** Why others did not say; null when all did. */
  readonly failure: Refused | null;
}

/**
 * Asks each location what it has at the client's path. With `all`, what a location has that could not be reached matters: it is asked again, for
 * as long as a failover takes.
 */
export async function findStatuses(
  c: Composition,
  path: string,
  targets: readonly Target[],
  all = false,
): Promise<Statuses> {
  const options = all ? { unreachedMs: FAILOVER_WAIT_MS } : {};
  const [standings = []] = await survey(c, [{ path, targets }], options);
  const failures = failuresOf(standings).filter(({ refused }) => refused.className !== FILE_NOT_FOUND);
  return { found: standings.filter(exists), failure: failureOf(failures) };
}

/** As `findStatuses`, and throws what keeps a location from saying. */
export async function requireStatuses(
  c: Composition,
  path: string,
  targets: readonly Target[],
): Promise<readonly Standing[]> {
  const { found, failure } = await findStatuses(c, path, targets, true);
  if (failure !== null) throw failure;
  return found;
}

export function isDirectory({ kind }: Standing): boolean {
  return kind === 'directory';
}

const FILE_NOT_FOUND = 'java.io.FileNotFoundException';
