import type { AskOptions, Composition, Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import { exists, survey } from './survey.ts';

/**
 * Where a change of a path is to be made on a mount whose directories are in one location each, as a rule (HASH, LOCAL). A directory that several
 * locations have is one directory for clients, whichever of them answers: it is changed in all of these, as where directories exist
 * everywhere. A file is in the first location that has one, as a rule the first of all: then nobody else is asked. Who does not answer within
 * `dfs.federation.router.client.mount-status.time-out` is passed over as soon as another has the path.
 */
export async function findScattered(c: Composition, located: Located): Promise<Located> {
  const { path, targets } = located;
  const first = targets[0] as Target;
  const soon: AskOptions = { unansweredMs: c.engine.settings.mountStatusTimeoutMs };
  const [atFirst = []] = await survey(c, [{ path, targets: [first] }], soon);
  const isFileAtFirst = atFirst[0]?.kind === 'file';
  const [others = []] = isFileAtFirst ? [] : await survey(c, [{ path, targets: targets.slice(1) }], soon);
  const holders = [...atFirst, ...others].filter(exists);
  const [seen] = holders;
  if (seen === undefined) return located;
  if (seen.kind === 'file') return { ...located, targets: [seen.target] };
  const directories = holders.filter(({ kind }) => kind === 'directory').map(({ target }) => target);
  return { ...located, targets: directories, everywhere: directories.length > 1 };
}
