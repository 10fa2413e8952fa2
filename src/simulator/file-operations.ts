/**
 * Files: creating, opening, closing, leases. A file has no blocks here, because there are no DataNodes: whoever wants to write gets the
 * answer of a NameNode without DataNodes.
 */
import type { Plain } from '../wire/messages.ts';
import { checkParentExists, makeMissingParents } from './directory-operations.ts';
import { messageOf, messagesOf, numberOf, textOf, textsOf } from './fields.ts';
import type { Inode } from './inodes.ts';
import { Directory, File, locatedBlocksOf, statusOf } from './inodes.ts';
import type { ResolvedPath } from './namespace.ts';
import type { Site } from './operation.ts';
import { checkPathLength, isReservedName, isValidName, splitPath } from './paths.ts';
import { Access, checkPermission, checkSuperuser } from './permission-check.ts';
import { fileNotFound, ioException, JAVA, RemoteException } from './remote-exception.ts';
import { policyId } from './storage-policies.ts';

const CreateFlag = { CREATE: 1, OVERWRITE: 2 } as const;
export const MIN_REPLICATION = 1;
export const MAX_REPLICATION = 512;
const ACCESS_TIME_PRECISION_MS = 3_600_000;

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
  const ecPolicy = textOf(request, 'ecPolicyName');
  if (ecPolicy !== '') {
    throw new RemoteException(
      JAVA.HADOOP_ILLEGAL_ARGUMENT,
      `Policy '${ecPolicy}' does not match any enabled erasure coding policies: []. ` +
        'An erasure coding policy can be enabled by enableErasureCodingPolicy API.',
    );
  }
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
  const file = new File(
    namespace.newAttributes(parent, path.name, caller.user, mode, namespace.nowMs),
    replication,
    numberOf(request, 'blockSize'),
    { holder, machine },
  );
  if (policy !== null) {
    file.storagePolicy = policy;
  }
  namespace.link(parent, file);
  namespace.openFile(file, holder, machine);
  namespace.logEdit();
  return { fs: statusOf(file, '', false) };
}

/** Opens a closed file again; an empty one has no last block to go on with. */
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
  releaseLease(site, path.target, path.text, holder, 'APPEND_FILE');
  namespace.openFile(path.target, holder, machine);
  namespace.logEdit();
  return { stat: statusOf(path.target, '', false) };
}

export function complete(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot complete file ${src}`);
  const holder = textOf(request, 'clientName');
  const fileId = numberOf(request, 'fileId');
  const { target } = site.namespace.resolveOpenFile(site.caller, src, fileId);
  // The answer to the first complete may have been lost: the file is closed, and the client asks again.
  if (target instanceof File && target.writer === null && messageOf(request, 'last') === undefined) {
    return { result: true };
  }
  site.namespace.closeFile(checkLease(site, target, src, fileId, holder));
  site.namespace.logEdit();
  return { result: true };
}

export function fsync(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot fsync file ${src}`);
  checkOpenFile(site, src, numberOf(request, 'fileId'), textOf(request, 'client'));
  site.namespace.logEdit();
  return {};
}

export function addBlock(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot add block to ${src}`);
  checkOpenFile(site, src, numberOf(request, 'fileId'), textOf(request, 'clientName'));
  const excluded = messagesOf(request, 'excludeNodes').length;
  throw ioException(
    `File ${src} could only be written to 0 of the 1 minReplication nodes. ` +
      `There are 0 datanode(s) running and ${excluded} node(s) are excluded in this operation.`,
  );
}

/** The block cannot be one of the file's: nothing changes. */
export function abandonBlock(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  const block = messageOf(request, 'b') ?? {};
  site.checkSafeMode(
    `Cannot abandon block ${textOf(block, 'poolId')}:blk_${numberOf(block, 'blockId')}` +
      `_${numberOf(block, 'generationStamp')} for file${src}`,
  );
  checkOpenFile(site, src, numberOf(request, 'fileId'), textOf(request, 'holder'));
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
  if (length > 0) {
    throw new RemoteException(
      JAVA.HADOOP_ILLEGAL_ARGUMENT,
      `Cannot truncate to a larger file size. Current size: 0, truncate size: ${length}.`,
    );
  }
  return { result: true };
}

/** Sources must have blocks, which no file here has: once all else is in order, that is the answer. */
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
  for (const src of srcs) {
    const path = namespace.resolve(caller, src, 'write');
    checkPermission(caller, path, { target: Access.READ, parent: Access.WRITE });
    const file = fileAt(path, src);
    if (file.parent !== target.parent) {
      throw illegalConcat(`Source file ${path.text} is not in the same directory with the target ${targetPath.text}`);
    }
    if (file === target) {
      throw illegalConcat(`concat: the src file ${path.text} is the same with the target file ${targetPath.text}`);
    }
  }
  throw illegalConcat(`concat: source file ${srcs[0]} is invalid or empty or underConstruction`);
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
  // A read that comes long after the last one is noted in the file's access time: only the active NameNode can do that.
  if (namespace.nowMs > file.atimeMs + ACCESS_TIME_PRECISION_MS) {
    site.checkCategory('WRITE');
    file.atimeMs = namespace.nowMs;
    namespace.logEdit();
  }
  return { locations: locatedBlocksOf(file) };
}

export function isFileClosed(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  return { result: fileAt(site.namespace.resolve(site.caller, src, 'read'), src).writer === null };
}

export function getPreferredBlockSize(site: Site, request: Plain): Plain {
  const src = textOf(request, 'filename');
  return { bsize: fileAt(site.namespace.resolve(site.caller, src, 'read'), src).blockSize };
}

/** One page of the files that are open for writing below a path, after an inode id. */
export function listOpenFiles(site: Site, request: Plain): Plain {
  checkSuperuser(site.caller, 'listOpenFiles');
  const after = numberOf(request, 'id');
  const below = textOf(request, 'path');
  const prefix = below === '' || below === '/' ? '/' : `${below}/`;
  const found = site.namespace
    .openFiles()
    .filter((file) => file.id > after && (file.path() === below || file.path().startsWith(prefix)));
  return {
    entries: found.slice(0, site.settings.listingLimit).map((file) => ({
      id: file.id,
      path: file.path(),
      clientName: file.writer?.holder ?? '',
      clientMachine: file.writer?.machine ?? '',
    })),
    hasMore: found.length > site.settings.listingLimit,
    types: ['ALL_OPEN_FILES'],
  };
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

function fileAt(path: ResolvedPath, src: string): File {
  if (path.target === null) {
    throw fileNotFound(`File does not exist: ${src}`);
  }
  if (path.target instanceof Directory) {
    throw fileNotFound(`Path is not a file: ${path.text}`);
  }
  return path.target;
}

function checkOpenFile(site: Site, src: string, fileId: number, holder: string): File {
  const { target } = site.namespace.resolveOpenFile(site.caller, src, fileId);
  return checkLease(site, target, src, fileId, holder);
}

/** The file, if the holder has it open. */
function checkLease(site: Site, target: Inode | null, src: string, fileId: number, holder: string): File {
  const about = `${src} (inode ${fileId}) ${site.namespace.describeLease(holder)}`;
  if (target === null) {
    throw fileNotFound(`File does not exist: ${about}`);
  }
  if (target instanceof Directory) {
    throw new RemoteException(JAVA.LEASE_EXPIRED, `INode is not a regular file: ${about}`);
  }
  if (target.writer === null) {
    throw new RemoteException(JAVA.LEASE_EXPIRED, `File is not open for writing: ${about}`);
  }
  if (target.writer.holder !== holder) {
    throw new RemoteException(
      JAVA.LEASE_EXPIRED,
      `Client (=${holder}) is not the lease owner (=${target.writer.holder}: ${about}`,
    );
  }
  return target;
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
