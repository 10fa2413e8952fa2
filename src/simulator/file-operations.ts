/** Files: creating, opening, closing, leases, changes of their lengths. */

import { messageOf, numberOf, textOf, textsOf } from '../control/rpc-server/fields.ts';
import { fileNotFound, ioException, JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import { commitLastBlock } from './block-operations.ts';
import { locatedBlock, locatedBlocksOf, typeSpace } from './blocks.ts';
import { checkParentExists, inheritFromParent, makeMissingParents, unmaskedMode } from './directory-operations.ts';
import { encryptFile } from './encryption-zones.ts';
import type { ErasureCodingPolicy } from './erasure-coding-policies.ts';
import { statusOf } from './file-status.ts';
import { Directory, File } from './inodes.ts';
import { checkBlockLocations, placesOf } from './located-reads.ts';
import { checkLease, checkOpenFile, fileAt } from './open-files.ts';
import type { Site } from './operation.ts';
import { checkPathLength, isReservedName, isValidName, splitPath } from './paths.ts';
import { Access, checkPermission } from './permission-check.ts';
import { verifySpace } from './quotas.ts';
import type { ResolvedPath } from './resolved-path.ts';
import { policyId } from './storage-policies.ts';

const CreateFlag = { CREATE: 1, OVERWRITE: 2, NEW_BLOCK: 32, SHOULD_REPLICATE: 128 } as const;
/** What files of an erasure coding policy say when asked for their replication. */
const STRIPED_REPLICATION = 1;
export const MIN_REPLICATION = 1;
export const MAX_REPLICATION = 512;

export function create(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  const holder = textOf(request, 'clientName');
  checkPathLength('create', src);
  if (!isValidName(src) || isReservedName(splitPath(src))) {
    throw new RemoteException(JAVA.INVALID_PATH, `Invalid path name ${src}`);
  }
  site.checkSafeMode(`Cannot create file${src}`);
  const { namespace, caller, machine } = site;
  const flags = numberOf(request, 'createFlag');
  const overwrite = (flags & CreateFlag.OVERWRITE) !== 0;
  let path = namespace.resolve(caller, src, 'create');
  checkPermission(caller, path, { ancestor: Access.WRITE });
  if (path.target instanceof Directory) {
    throw new RemoteException(JAVA.FILE_EXISTS, `${path.text} already exists as a directory`);
  }
  if (path.target === null && (flags & CreateFlag.CREATE) === 0) {
    throw fileNotFound(`Can't overwrite non-existent ${src}`);
  }
  if (path.target !== null && overwrite) {
    checkPermission(caller, path, { target: Access.WRITE });
  }
  if (request['createParent'] !== true) {
    checkParentExists(path);
  }
  const coding = codingOf(site, request, flags);
  const replication = numberOf(request, 'replication');
  checkReplication(replication, `${src}, clientName=${machine}`);
  const storagePolicy = textOf(request, 'storagePolicy');
  const policy = storagePolicy === '' ? null : policyId(storagePolicy);
  if (path.target !== null) {
    if (!overwrite) {
      releaseLease(site, path.target, path.text, holder, 'CREATE_FILE');
      throw new RemoteException(JAVA.FILE_EXISTS, `${src} for client ${machine} already exists`);
    }
    namespace.remove(path.target);
    namespace.logEdit();
    path = namespace.locate(path.text);
  }
  const parent = makeMissingParents(site, path, null);
  const mode = numberOf(messageOf(request, 'masked') ?? {}, 'perm');
  const policyAbove = coding === 'of parent' ? parent.effectiveErasureCoding() : coding;
  const file = new File(
    namespace.newAttributes(parent, path.name, caller.user, mode, namespace.nowMs),
    policyAbove === null ? replication : STRIPED_REPLICATION,
    numberOf(request, 'blockSize'),
    { holder, machine },
  );
  file.erasureCodingPolicy = policyAbove;
  const zone = parent.zoneRoot()?.zone ?? null;
  file.encryption = zone === null ? null : encryptFile(zone, file.id);
  inheritFromParent(parent, file, unmaskedMode(request, mode));
  if (policy !== null) {
    file.storagePolicy = policy;
  }
  namespace.link(parent, file);
  namespace.openFile(file, holder, machine);
  namespace.logEdit();
  return { fs: statusOf(file, '') };
}

/** The policy that the client names, null for replicas; else the one of the directory. */
function codingOf(site: Site, request: Plain, flags: number): ErasureCodingPolicy | null | 'of parent' {
  if ((flags & CreateFlag.SHOULD_REPLICATE) !== 0) {
    return null;
  }
  const name = textOf(request, 'ecPolicyName');
  return name === '' ? 'of parent' : site.namespace.erasureCoding.findEnabled(name);
}

/** Opens a closed file again; its last block is gone on with unless it is full, or the client wants a new one. */
export function append(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  const holder = textOf(request, 'clientName');
  const { namespace, caller, machine } = site;
  site.checkSafeMode(`Cannot append to file${src}`);
  const path = namespace.resolve(caller, src, 'write');
  if (path.target instanceof Directory) {
    throw new RemoteException(JAVA.FILE_EXISTS, `Cannot append to directory ${src}; already exists as a directory.`);
  }
  checkPermission(caller, path, { target: Access.WRITE });
  if (path.target === null) {
    throw fileNotFound(`Failed to append to non-existent file ${src} for client ${machine}`);
  }
  const file = path.target;
  releaseLease(site, file, path.text, holder, 'APPEND_FILE');
  const last = file.blocks.at(-1);
  const goesOn =
    last !== undefined &&
    last.bytes < file.blockSize &&
    file.erasureCodingPolicy === null &&
    (numberOf(request, 'flag') & CreateFlag.NEW_BLOCK) === 0;
  if (goesOn) {
    verifySpace(file.parent, () => {
      const more = file.blockSize - last.bytes;
      return {
        bytes: more * file.replication,
        types: typeSpace(file.effectivePolicy(), file.replication, more),
      };
    });
    last.isCommitted = false;
  }
  namespace.openFile(file, holder, machine);
  namespace.logEdit();
  return {
    ...(goesOn ? { block: locatedBlock(last, file.length - last.bytes, null) } : {}),
    stat: statusOf(file, ''),
  };
}

export function complete(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot complete file ${src}`);
  const holder = textOf(request, 'clientName');
  const fileId = numberOf(request, 'fileId');
  const { target } = site.namespace.resolveOpenFile(site.caller, src, fileId);
  const last = messageOf(request, 'last');
  const lastId = last === undefined ? undefined : numberOf(last, 'blockId');
  // The answer to the first complete may have been lost: the file is closed, and the client asks again.
  if (target instanceof File && target.writer === null && lastId === target.blocks.at(-1)?.id) {
    return { result: true };
  }
  const file = checkLease(site, target, src, fileId, holder);
  commitLastBlock(site, file, last);
  for (const block of file.blocks) {
    block.isCommitted = true;
  }
  file.mtimeMs = site.namespace.nowMs;
  site.namespace.closeFile(file);
  site.namespace.logEdit();
  return { result: true };
}

export function fsync(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot fsync file ${src}`);
  const file = checkOpenFile(site, src, numberOf(request, 'fileId'), textOf(request, 'client'));
  const length = numberOf(request, 'lastBlockLength', -1);
  const last = file.blocks.at(-1);
  if (last !== undefined && length > 0) {
    last.bytes = length;
  }
  site.namespace.logEdit();
  return {};
}

export function recoverLease(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot recover the lease of ${src}`);
  const path = site.namespace.resolve(site.caller, src, 'write');
  const file = fileAt(path, src);
  if (file.writer !== null) {
    checkPermission(site.caller, path, { target: Access.WRITE });
    site.namespace.closeFile(file);
    site.namespace.logEdit();
  }
  return { result: true };
}

/** No edit: followers learn about leases from the edits that open and close files. */
export function renewLease(site: Site, request: Plain): Plain {
  const holder = textOf(request, 'clientName');
  site.checkSafeMode(`Cannot renew lease for ${holder}`);
  site.namespace.renewLease(holder);
  return {};
}

export function truncate(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  const length = numberOf(request, 'newLength');
  site.checkSafeMode(`Cannot truncate for ${src}`);
  if (length < 0) {
    throw new RemoteException(JAVA.HADOOP_ILLEGAL_ARGUMENT, `Cannot truncate to a negative file size: ${length}.`);
  }
  const path = site.namespace.resolve(site.caller, src, 'write');
  checkPermission(site.caller, path, { target: Access.WRITE });
  const file = fileAt(path, src);
  releaseLease(site, file, path.text, textOf(request, 'clientName'), 'TRUNCATE_FILE');
  if (length > file.length) {
    throw new RemoteException(
      JAVA.HADOOP_ILLEGAL_ARGUMENT,
      `Cannot truncate to a larger file size. Current size: ${file.length}, truncate size: ${length}.`,
    );
  }
  if (length === file.length) {
    return { result: true };
  }
  const isOnBoundary = cutBlocks(file, length);
  file.mtimeMs = site.namespace.nowMs;
  site.namespace.logEdit();
  return { result: isOnBoundary };
}

/** Whether no block had to be cut: DataNodes have to do that, so the client is told to wait, though here it is done at once. */
function cutBlocks(file: File, length: number): boolean {
  let end = file.length;
  for (let last = file.blocks.at(-1); last !== undefined && end > length; last = file.blocks.at(-1)) {
    const start = end - last.bytes;
    if (start < length) {
      last.bytes = length - start;
      return false;
    }
    file.blocks.pop();
    end = start;
  }
  return true;
}

/** The blocks of the sources move to the end of the target, and the sources go. */
export function concat(site: Site, request: Plain): Plain {
  const trg = textOf(request, 'trg');
  const srcs = textsOf(request, 'srcs');
  const { namespace, caller } = site;
  if (srcs.length === 0) {
    throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, 'No sources given');
  }
  site.checkSafeMode(`Cannot concat ${trg}`);
  const targetPath = namespace.resolve(caller, trg, 'write');
  checkPermission(caller, targetPath, { target: Access.WRITE });
  const target = fileAt(targetPath, trg);
  if (target.zoneRoot() !== null) {
    throw illegalConcat('concat can not be called for files in an encryption zone.');
  }
  if (target.writer !== null) {
    throw illegalConcat(`concat: target file ${targetPath.text} is under construction`);
  }
  const sources = new Set<File>();
  for (const src of srcs) {
    const path = namespace.resolve(caller, src, 'write');
    checkPermission(caller, path, { target: Access.READ, parent: Access.WRITE });
    sources.add(sourceOf(path, src, target, targetPath.text));
  }
  for (const source of sources) {
    target.blocks.push(...source.blocks);
    source.blocks = [];
    namespace.remove(source);
  }
  target.mtimeMs = namespace.nowMs;
  namespace.logEdit();
  return {};
}

function sourceOf(path: ResolvedPath, src: string, target: File, targetText: string): File {
  const file = fileAt(path, src);
  if (file.parent !== target.parent) {
    throw illegalConcat(`Source file ${path.text} is not in the same directory with the target ${targetText}`);
  }
  if (file === target) {
    throw illegalConcat(`concat: the src file ${path.text} is the same with the target file ${targetText}`);
  }
  if (file.writer !== null || file.blocks.length === 0) {
    throw illegalConcat(`concat: source file ${src} is invalid or empty or underConstruction`);
  }
  if (file.blockSize > target.blockSize) {
    throw illegalConcat(
      `concat: source file ${src} has preferred block size ${file.blockSize} which is greater than the target file's ` +
        `preferred block size ${target.blockSize}`,
    );
  }
  return file;
}

function illegalConcat(message: string): RemoteException {
  return new RemoteException(JAVA.HADOOP_ILLEGAL_ARGUMENT, message);
}

export function getBlockLocations(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  for (const field of ['offset', 'length'] as const) {
    if (numberOf(request, field) < 0) {
      throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, `Negative ${field} is not supported. File: ${src}`);
    }
  }
  const { namespace, caller } = site;
  const path = namespace.resolve(caller, src, 'read');
  const file = fileAt(path, src);
  checkPermission(caller, path, { target: Access.READ });
  const locations = locatedBlocksOf(file, placesOf(site));
  checkBlockLocations(site, locations, src);
  if (!path.isSnapshot) {
    renewAccessTime(site, file);
  }
  return { locations };
}

/**
 * A read that comes long after the last one is noted in the file's access time: only the active NameNode can do that, and unlike other
 * edits this one is not waited for.
 */
function renewAccessTime({ namespace, namenode, settings, checkCategory }: Site, file: File): void {
  const { accessTimePrecisionMs } = settings;
  const isDue = accessTimePrecisionMs > 0 && namespace.nowMs > file.atimeMs + accessTimePrecisionMs;
  if (isDue && (namespace.replaying || !(namenode.safeMode || namenode.fenced))) {
    checkCategory('WRITE');
    file.atimeMs = namespace.nowMs;
    namespace.logEdit();
  }
}

export function isFileClosed(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  return { result: fileAt(site.namespace.resolve(site.caller, src, 'read'), src).writer === null };
}

export function getPreferredBlockSize(site: Site, request: Plain): Plain {
  const src = textOf(request, 'filename');
  return { bsize: fileAt(site.namespace.resolve(site.caller, src, 'read'), src).blockSize };
}

/** `subject` ends the text: the path, for create also the client. */
export function checkReplication(replication: number, subject: string): void {
  if (replication < MIN_REPLICATION) {
    throw ioException(
      `Requested replication factor of ${replication} is less than the required minimum of ${MIN_REPLICATION} for ${subject}`,
    );
  }
  if (replication > MAX_REPLICATION) {
    throw ioException(
      `Requested replication factor of ${replication} exceeds maximum of ${MAX_REPLICATION} for ${subject}`,
    );
  }
}

/** A file that another client has open is refused, unless that client has been silent for too long: then it is closed. */
function releaseLease(site: Site, file: File, text: string, holder: string, operation: string): void {
  const { writer } = file;
  if (writer === null) {
    return;
  }
  const attempt = `Failed to ${operation} ${text} for ${holder} on ${site.machine} because`;
  if (writer.holder === holder) {
    throw new RemoteException(JAVA.ALREADY_BEING_CREATED, `${attempt} ${holder} is already the current lease holder.`);
  }
  if (!site.namespace.isLeaseExpired(writer.holder)) {
    throw new RemoteException(
      JAVA.ALREADY_BEING_CREATED,
      `${attempt} this file lease is currently owned by ${writer.holder} on ${writer.machine}`,
    );
  }
  site.namespace.closeFile(file);
  site.namespace.logEdit();
}
