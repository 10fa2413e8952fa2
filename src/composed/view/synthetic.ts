import type { Engine } from '../../call/engine.ts';
import type { MountEntry } from '../../mount/entry.ts';
import type { MountSnapshot } from '../../mount/snapshot.ts';
import type { Settings } from '../../shared/settings.ts';
import type { Located } from '../locate.ts';

/** Permission of a directory that no mount covers and that only exists as an ancestor of mount points. */
const VIRTUAL_MODE = 0o777;

/** HdfsFileStatusProto of a directory that exists only because of mount points. */
export interface SyntheticStatus {
  readonly fileType: 'IS_DIR';
  readonly path: Buffer;
  readonly length: 0;
  readonly permission: { readonly perm: number };
  readonly owner: string;
  readonly group: string;
  readonly modification_time: number;
  readonly access_time: number;
  readonly block_replication: 0;
  readonly blocksize: 0;
  readonly fileId: 0;
  readonly childrenNum: number;
  readonly storagePolicy: 0;
  readonly flags: 0;
}

/**
 * Status of a mount point (its record's owner, group, mode) or of an ancestor of mount points (the router's user, the superuser group, 0777),
 * also when another mount covers that ancestor: the record speaks of its own directory, not of those below it. `name` is empty for the path
 * asked for, the last component in listings. The date is the newest of the records at or below.
 */
export function syntheticStatus(
  snapshot: MountSnapshot,
  settings: Settings,
  path: string,
  name: string,
): SyntheticStatus {
  const bytes = Buffer.from(path);
  const mount = snapshot.find(bytes, 0, bytes.length);
  const entry: MountEntry | null = mount >= 0 && snapshot.atMount ? snapshot.entryOf(mount) : null;
  const { date, children } = factsOf(snapshot, path);
  return {
    fileType: 'IS_DIR',
    path: Buffer.from(name),
    length: 0,
    permission: { perm: entry === null ? VIRTUAL_MODE : entry.mode },
    owner: entry === null ? settings.routerUser : entry.owner,
    group: entry === null ? settings.superGroup : entry.group,
    modification_time: date,
    access_time: date,
    block_replication: 0,
    blocksize: 0,
    fileId: 0,
    childrenNum: children,
    storagePolicy: 0,
    flags: 0,
  };
}

/**
 * The status of a path that mount points make visible, by the mount table of this moment: it takes the longer the more of them there are, and
 * is seldom wanted. Null for any other path.
 */
export function syntheticAt(engine: Engine, { path, atMount, mountsBelow }: Located): SyntheticStatus | null {
  if (!atMount && !mountsBelow) return null;
  return syntheticStatus(engine.resolver.snapshot as MountSnapshot, engine.settings, path, '');
}

interface Facts {
  readonly date: number;
  readonly children: number;
}

/** What large directories of a mount table look like: to count takes long, and the same few are asked for again and again. */
const facts = new WeakMap<MountSnapshot, Map<string, Facts>>();
/** Directories kept of one table; at the bound each is counted anew. */
const MAX_KEPT = 256;
/** Smaller directories are counted at once. */
const LARGE_CHILDREN = 64;

function factsOf(snapshot: MountSnapshot, path: string): Facts {
  const known = facts.get(snapshot)?.get(path);
  if (known !== undefined) return known;
  const counted = { date: snapshot.latestDateBelow(path), children: (snapshot.childrenOf(path) ?? []).length };
  if (counted.children < LARGE_CHILDREN) return counted;
  const kept = facts.get(snapshot) ?? new Map<string, Facts>();
  facts.set(snapshot, kept);
  if (kept.size < MAX_KEPT) kept.set(path, counted);
  return counted;
}

export function joinPath(directory: string, name: string): string {
  return directory === '/' ? `/${name}` : `${directory}/${name}`;
}
