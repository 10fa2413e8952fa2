import { isBelowFile, isNotFound } from '../answer.ts';
import type { AskOptions, Composition } from '../composition.ts';
import { failureOf } from '../locations/answers.ts';
import { exists, failuresOf, type Spot, type Standing, survey } from '../locations/survey.ts';
import type { Refused } from '../refused.ts';
import { failoverWaitMs } from '../waiting.ts';

/** What the locations of a path have there. */
export interface Statuses {
  /** Those that have something, in the order of the targets. */
  readonly found: readonly Standing[];
  /** Why others did not say; null when all did. */
  readonly failure: Refused | null;
  /** That of one that could be asked: the caller may not look there. */
  readonly refusal: Refused | null;
}

/** Asks what each location of each path has there, all at once. */
export async function findStatuses(
  c: Composition,
  spots: readonly Spot[],
  options: AskOptions = {},
): Promise<Statuses[]> {
  return (await survey(c, spots, options)).map((standings) => {
    const failures = failuresOf(standings).filter((each) => !isNotFound(each) && !isBelowFile(each));
    return {
      found: standings.filter(exists),
      failure: failureOf(failures),
      refusal: failures.find(({ unavailable }) => !unavailable)?.refused ?? null,
    };
  });
}

/** Of every location of a path: when some did not say, all are asked again, for as long as a failover takes. Throws Refused. */
export async function requireStatuses(c: Composition, spot: Spot, known: Statuses): Promise<readonly Standing[]> {
  if (known.failure === null) return known.found;
  const [again = known] = await findStatuses(c, [spot], { unreachedMs: failoverWaitMs(c.engine) });
  if (again.failure !== null) throw again.failure;
  return again.found;
}

export const NO_STATUSES: Statuses = { found: [], failure: null, refusal: null };

export function isDirectory({ kind }: Standing): boolean {
  return kind === 'directory';
}
