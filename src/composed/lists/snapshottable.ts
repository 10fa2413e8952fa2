import type { Plain } from '../../wire/messages.ts';
import type { Composition, Outcome } from '../composition.ts';
import { askRequired } from '../everywhere/fan-out.ts';
import { clientPathsOf, compareBytes, joinPath } from './client-path.ts';
import { reachOfAll } from './reach.ts';

/**
 * getSnapshottableDirListing: the directories of all nameservices in the order of their clients' paths, each path once. Directories that no
 * mount point shows are left out.
 */
export async function listSnapshottable(c: Composition): Promise<Outcome> {
  const { engine } = c;
  const reach = reachOfAll(engine, await clientPathsOf(engine));
  const targets = [...reach.directories.keys()].map((nameservice) => ({ nameservice, path: null, prefixBytes: 0 }));
  const listed = new Map<string, Plain>();
  let anyList = false;
  for (const { nameservice, body } of await askRequired(c, c.own, targets)) {
    const list = c.read(body)['snapshottableDirList'] as Plain | undefined;
    anyList ||= list !== undefined;
    for (const directory of (list?.['snapshottableDirListing'] ?? []) as Plain[]) {
      const path = reach.clientPathOf(nameservice, fullPathOf(directory));
      if (path !== null && !listed.has(path)) listed.set(path, withPath(directory, path));
    }
  }
  // Without a list clients print nothing at all, not even an empty one.
  if (!anyList) return c.write({});
  const sorted = [...listed].sort(([a], [b]) => compareBytes(a, b)).map(([, directory]) => directory);
  return c.write({ snapshottableDirList: { snapshottableDirListing: sorted } });
}

/** The root has an empty name and no parent. */
function fullPathOf(directory: Plain): string {
  const name = ((directory['dirStatus'] as Plain)['path'] as Buffer).toString();
  const parent = (directory['parent_fullpath'] as Buffer).toString();
  return parent === '' ? `/${name}` : joinPath(parent, name);
}

function withPath(directory: Plain, path: string): Plain {
  const end = path.lastIndexOf('/');
  const parent = path === '/' ? '' : path.slice(0, end) || '/';
  const dirStatus = { ...(directory['dirStatus'] as Plain), path: Buffer.from(path.slice(end + 1)) };
  return { ...directory, dirStatus, parent_fullpath: Buffer.from(parent) };
}
