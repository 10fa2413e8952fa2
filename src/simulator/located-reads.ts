/**
 * Reads that tell where blocks are, on NameNodes to which no DataNode has reported them. An observer leaves such reads to the active; in
 * safe mode getBlockLocations asks the client to come again.
 */
import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import type { BlockPlaces } from './blocks.ts';
import { StatusFlag } from './file-status.ts';
import { formatMode } from './inodes.ts';
import type { Site } from './operation.ts';

/** How located blocks of this NameNode look. */
export function placesOf(site: Site): BlockPlaces {
  return site.namenode.knowsPlaces ? 'known' : 'unknown';
}

/** For getBlockLocations; `located` is LocatedBlocksProto. */
export function checkBlockLocations(site: Site, located: Plain, src: string): void {
  const { namenode, namespace } = site;
  // A read that became an edit, by its access time, was answered by the active.
  if (namespace.replaying) {
    return;
  }
  if (!namenode.safeMode) {
    checkOnObserver(site, located, () => src);
  } else if (lacksPlaces(located)) {
    const text = namenode.describeSafeMode(`Zero blocklocations for ${src}`);
    throw new RemoteException(JAVA.RETRIABLE, `${JAVA.SAFE_MODE}: ${text}`);
  }
}

/** For the status of a path; `status` is HdfsFileStatusProto. */
export function checkStatus(site: Site, status: Plain, src: string): void {
  checkOnObserver(site, status['locations'] as Plain | undefined, () => src);
}

/** For an entry of a listing: the text shows all of it. */
export function checkEntry(site: Site, status: Plain): void {
  checkOnObserver(site, status['locations'] as Plain | undefined, () => describeStatus(status));
}

function checkOnObserver(site: Site, located: Plain | undefined, subject: () => string): void {
  if (site.namenode.state === 'observer' && located !== undefined && lacksPlaces(located)) {
    throw new RemoteException(JAVA.OBSERVER_RETRY, `Zero blocklocations for ${subject()}`);
  }
}

function lacksPlaces(located: Plain): boolean {
  return (located['blocks'] as Plain[]).some((block) => (block['locs'] as Plain[]).length === 0);
}

/** As Java prints a status that carries locations; its path is set only by clients. */
function describeStatus(status: Plain): string {
  const { perm } = status['permission'] as { perm: number };
  const flags = Number(status['flags']);
  const has = (flag: number): boolean => (flags & flag) !== 0;
  return (
    `HdfsLocatedFileStatus{path=null; isDirectory=false; length=${status['length']}; ` +
    `replication=${status['block_replication']}; blocksize=${status['blocksize']}; ` +
    `modification_time=${status['modification_time']}; access_time=${status['access_time']}; owner=${status['owner']}; ` +
    `group=${status['group']}; permission=${formatMode(perm)}; isSymlink=false; hasAcl=${has(StatusFlag.HAS_ACL)}; ` +
    `isEncrypted=${has(StatusFlag.HAS_CRYPT)}; isErasureCoded=${has(StatusFlag.HAS_EC)}}`
  );
}
