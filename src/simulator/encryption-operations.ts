/** Encryption zones: making and finding them, encrypting them again. */

import { numberOf, textOf } from '../control/rpc-server/fields.ts';
import { fileNotFound, ioException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import type { EncryptionZone, Reencryption } from './encryption-zones.ts';
import { keyVersionOf, reencryptionEndMs } from './encryption-zones.ts';
import { Directory, File } from './inodes.ts';
import type { Site } from './operation.ts';
import { Access, checkPermission, checkSuperuser } from './permission-check.ts';
import type { ResolvedPath } from './resolved-path.ts';

/** Zones or states of one page. */
const LIST_LIMIT = 100;

export function createEncryptionZone(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  const keyName = textOf(request, 'keyName');
  checkSuperuser(site.caller, 'createEncryptionZone');
  if (keyName === '') {
    throw ioException('Must specify a key name when creating an encryption zone');
  }
  site.checkSafeMode(`Cannot create encryption zone on ${src}`);
  const { target, text } = site.namespace.resolve(site.caller, src, 'write');
  if (target === null) {
    throw fileNotFound(`cannot find ${text}`);
  }
  if (target instanceof File) {
    throw ioException('Attempt to create an encryption zone for a file.');
  }
  if (target.zone !== null) {
    throw ioException(`Directory ${text} is already an encryption zone.`);
  }
  if (target.childCount > 0) {
    throw ioException('Attempt to create an encryption zone for a non-empty directory.');
  }
  target.zone = { keyName, reencryption: null };
  site.namespace.zones.set(target.id, target);
  site.namespace.logEdit();
  return {};
}

export function getEZForPath(site: Site, request: Plain): Plain {
  const root = zoneRootOf(site, textOf(request, 'src'));
  return root?.zone == null ? {} : { zone: zoneMessage(root, root.zone) };
}

/** The zone that holds a path, else the root of the nameservice. */
export function getEnclosingRoot(site: Site, request: Plain): Plain {
  return { enclosingRootPath: zoneRootOf(site, textOf(request, 'filename'))?.path() ?? '/' };
}

/** Also of a path that does not exist: what would be made there belongs to the zone of its nearest ancestor. */
function zoneRootOf(site: Site, src: string): Directory | null {
  const path = site.namespace.resolve(site.caller, src, 'read');
  checkPermission(site.caller, path, { target: Access.READ });
  return (path.target ?? path.ancestor)?.zoneRoot() ?? null;
}

function zoneMessage(directory: Directory, { keyName }: EncryptionZone): Plain {
  return {
    id: directory.id,
    path: directory.path(),
    suite: 'AES_CTR_NOPADDING',
    cryptoProtocolVersion: 'ENCRYPTION_ZONES',
    keyName,
  };
}

export function listEncryptionZones(site: Site, request: Plain): Plain {
  checkSuperuser(site.caller, 'listEncryptionZones');
  const { page, hasMore } = zonesAfter(site, numberOf(request, 'id'), () => true);
  return { zones: page.map(({ directory, zone }) => zoneMessage(directory, zone)), hasMore };
}

interface Rooted {
  readonly directory: Directory;
  readonly zone: EncryptionZone;
}

function zonesAfter(
  site: Site,
  id: number,
  isListed: (zone: EncryptionZone) => boolean,
): { page: Rooted[]; hasMore: boolean } {
  const later = [...site.namespace.zones.values()]
    .filter((directory) => directory.id > id)
    .sort((a, b) => a.id - b.id)
    .flatMap((directory) =>
      directory.zone !== null && isListed(directory.zone) ? [{ directory, zone: directory.zone }] : [],
    );
  const limit = Math.min(LIST_LIMIT, site.settings.listingLimit);
  return { page: later.slice(0, limit), hasMore: later.length > limit };
}

export function reencryptEncryptionZone(site: Site, request: Plain): Plain {
  checkSuperuser(site.caller, 'reencryptEncryptionZone');
  const src = textOf(request, 'zone');
  const isStart = textOf(request, 'action') === 'START_REENCRYPT';
  site.checkSafeMode(`NameNode in safemode, cannot ${isStart ? 'start' : 'cancel'} re-encryption on zone ${src}`);
  const { target, text } = site.namespace.resolve(site.caller, src, 'write');
  if (target === null) {
    throw fileNotFound(`${text} does not exist.`);
  }
  if (!(target instanceof Directory) || target.zone === null) {
    throw ioException(`Path ${text} is not the root of an encryption zone.`);
  }
  const { nowMs } = site.namespace;
  const running = target.zone.reencryption;
  const isRunning = running !== null && nowMs < reencryptionEndMs(running);
  if (isStart) {
    if (isRunning) {
      throw ioException(`Zone ${text} is already submitted for re-encryption.`);
    }
    target.zone.reencryption = { submittedMs: nowMs, files: countFiles(target), canceledMs: null };
  } else {
    if (!isRunning) {
      throw ioException(`Zone ${text} is not under re-encryption`);
    }
    running.canceledMs = nowMs;
  }
  site.namespace.logEdit();
  return {};
}

function countFiles(directory: Directory): number {
  let files = 0;
  for (const child of directory.children()) {
    files += child instanceof Directory ? countFiles(child) : 1;
  }
  return files;
}

export function listReencryptionStatus(site: Site, request: Plain): Plain {
  checkSuperuser(site.caller, 'listReencryptionStatus');
  const { page, hasMore } = zonesAfter(site, numberOf(request, 'id'), (zone) => zone.reencryption !== null);
  return {
    statuses: page.flatMap(({ directory, zone }) =>
      zone.reencryption === null ? [] : [reencryptionMessage(site, directory, zone.keyName, zone.reencryption)],
    ),
    hasMore,
  };
}

function reencryptionMessage(site: Site, directory: Directory, keyName: string, one: Reencryption): Plain {
  const endMs = reencryptionEndMs(one);
  const isDone = site.namespace.nowMs >= endMs;
  const isCanceled = one.canceledMs !== null;
  return {
    id: directory.id,
    path: directory.path(),
    state: isDone ? 'COMPLETED' : 'PROCESSING',
    ezKeyVersionName: keyVersionOf(keyName),
    submissionTime: one.submittedMs,
    canceled: isCanceled,
    numReencrypted: isDone && !isCanceled ? one.files : 0,
    numFailures: 0,
    ...(isDone ? { completionTime: endMs } : {}),
  };
}

/** Files do not leave their zone by a rename, and none come in. */
export function checkSameZone(source: ResolvedPath, destination: ResolvedPath): void {
  const from = source.target?.parent?.zoneRoot() ?? null;
  const to = destination.ancestor?.zoneRoot() ?? null;
  const moved = source.target;
  const isZoneRoot = moved instanceof Directory && moved.zone !== null;
  if (from === to || (isZoneRoot && to === null)) {
    return;
  }
  if (from === null) {
    throw ioException(
      isZoneRoot
        ? `${source.text} can't be moved from encryption zone ${source.text} to encryption zone ${to?.path() ?? ''}.`
        : `${source.text} can't be moved into an encryption zone.`,
    );
  }
  if (to === null) {
    throw ioException(`${source.text} can't be moved from an encryption zone.`);
  }
  throw ioException(
    `${source.text} can't be moved from encryption zone ${from.path()} to encryption zone ${to.path()}.`,
  );
}
