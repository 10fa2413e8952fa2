import type { MountEntry } from '../mount/entry.ts';
import type { MountSnapshot } from '../mount/snapshot.ts';
import type { Settings } from '../shared/settings.ts';
import type { Plain } from '../wire/messages.ts';

/** Permission of a directory that no mount covers and that only exists as an ancestor of mount points. */
const VIRTUAL_MODE = 0o777;

/**
 * HdfsFileStatusProto of a directory that exists only because of mount points: a mount point (its record's owner, group, mode) or an ancestor
 * of some (the router's user, the superuser group, 0777). `name` is empty for the path asked for, the last component in listings.
 */
export function syntheticStatus(snapshot: MountSnapshot, settings: Settings, path: string, name: string): Plain {
  const bytes = Buffer.from(path);
  const mount = snapshot.find(bytes, 0, bytes.length);
  const entry: MountEntry | null = mount >= 0 ? snapshot.entryOf(mount) : null;
  const date = snapshot.latestDateBelow(path);
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
    childrenNum: (snapshot.childrenOf(path) ?? []).length,
    storagePolicy: 0,
    flags: 0,
  };
}

export function joinPath(directory: string, name: string): string {
  return directory === '/' ? `/${name}` : `${directory}/${name}`;
}
