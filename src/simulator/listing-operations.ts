/** Status and listings. */
import { createHash } from 'node:crypto';
import { bytesAsText, flagOf, numberOf, textOf, textsOf } from '../control/rpc-server/fields.ts';
import { fileNotFound, JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import { decodePlain, encode, messageType } from '../wire/messages.ts';
import { SNAPSHOT_LIST_STATUS, statusOf } from './file-status.ts';
import type { Inode } from './inodes.ts';
import { File } from './inodes.ts';
import { checkEntry, checkStatus, placesOf } from './located-reads.ts';
import type { Site } from './operation.ts';
import { compareNames } from './paths.ts';
import { Access, checkPermission, checkSuperuser } from './permission-check.ts';
import type { ResolvedPath } from './resolved-path.ts';
import type { Snapshot } from './snapshots.ts';

/** Entries of one page, `dfs.ls.limit`. */
export const LISTING_LIMIT = 1000;
/** Paths of one batched listing, `dfs.batched.ls.limit`. */
const MAX_BATCHED_PATHS = 100;
const INODE_PATH_PREFIX = '/.reserved/.inodes/';
const KEY_TYPE = 'hadoop.hdfs.BatchedListingKeyProto';

/** getFileInfo and getFileLinkInfo: there are no symbolic links here, so they are the same. */
export function getFileInfo(site: Site, request: Plain): Plain {
  return statusAnswer(site, request, false);
}

export function getLocatedFileInfo(site: Site, request: Plain): Plain {
  return statusAnswer(site, request, true);
}

function statusAnswer(site: Site, request: Plain, located: boolean): Plain {
  const { namespace, caller } = site;
  const src = textOf(request, 'src');
  const { target, snapshotList } = caller.superuser ? namespace.locate(src) : namespace.resolve(caller, src, 'read');
  if (snapshotList !== null) {
    return { fs: SNAPSHOT_LIST_STATUS };
  }
  if (target === null) {
    return {};
  }
  const fs = statusOf(target, '', located ? placesOf(site) : 'left out');
  checkStatus(site, fs, src);
  return { fs };
}

/** A page of a directory. */
interface Page {
  readonly entries: Plain[];
  readonly remaining: number;
  /** Name of the last entry; empty for a file, which lists as itself. */
  readonly lastName: string;
}

export function getListing(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  const page = listPage(site, src, bytesAsText(request, 'startAfter'), flagOf(request, 'needLocation'));
  for (const entry of page?.entries ?? []) {
    checkEntry(site, entry);
  }
  return page === null ? {} : { dirList: { partialListing: page.entries, remainingEntries: page.remaining } };
}

/** Null when the path does not exist. */
function listPage(site: Site, src: string, startAfter: string, located: boolean): Page | null {
  const { namespace, caller } = site;
  const path = namespace.resolve(caller, src, 'read');
  const after = nameAfter(site, startAfter);
  const places = located ? placesOf(site) : 'left out';
  if (path.snapshotList !== null) {
    return listSnapshots(site, path.snapshotList.snapshots?.all() ?? [], after);
  }
  if (path.name === '.snapshot') {
    throw fileNotFound(`Directory does not exist: ${path.text}`);
  }
  const { target } = path;
  if (target === null) {
    return null;
  }
  if (target instanceof File) {
    checkPermission(caller, path, {});
    return { entries: [statusOf(target, '', places)], remaining: 0, lastName: '' };
  }
  checkPermission(caller, path, { target: Access.READ_EXECUTE });
  const names = target.sortedNames();
  const limit = site.settings.listingLimit;
  const start = after === '' ? 0 : target.positionAfter(after);
  const end = Math.min(names.length, start + limit);
  const entries: Plain[] = [];
  // Replicas that are told of count as entries do.
  for (let at = start, budget = limit; at < end && budget > 0; at++) {
    const name = names[at] as string;
    const child = target.child(name) as Inode;
    entries.push(statusOf(child, name, places));
    budget -= located && child instanceof File ? child.blocks.length * child.replication : 0;
  }
  const listed = start + entries.length;
  return { entries, remaining: names.length - listed, lastName: names[listed - 1] ?? '' };
}

function listSnapshots(site: Site, snapshots: readonly Snapshot[], after: string): Page {
  const later = snapshots.filter(({ name }) => after === '' || compareNames(name, after) > 0);
  const page = later.slice(0, site.settings.listingLimit);
  return {
    entries: page.map(({ name, root }) => statusOf(root, name)),
    remaining: later.length - page.length,
    lastName: page.at(-1)?.name ?? '',
  };
}

/** A page may start after an inode path, which names the entry by its id. */
function nameAfter(site: Site, startAfter: string): string {
  if (!startAfter.startsWith('/')) {
    return startAfter;
  }
  const id = startAfter.startsWith(INODE_PATH_PREFIX) ? Number(startAfter.slice(INODE_PATH_PREFIX.length)) : Number.NaN;
  const inode = site.namespace.inode(id);
  if (inode === undefined) {
    throw new RemoteException(JAVA.START_AFTER_NOT_FOUND, `Can't find startAfter ${startAfter}`);
  }
  return inode.name;
}

/** Pages of several directories at once. What goes wrong with a path is said in its place. */
export function getBatchedListing(site: Site, request: Plain): Plain {
  const paths = textsOf(request, 'paths');
  if (paths.length > MAX_BATCHED_PATHS) {
    throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, `Too many source paths (${paths.length} > ${MAX_BATCHED_PATHS})`);
  }
  const located = flagOf(request, 'needLocation');
  const key = readKey(request, paths);
  const listings: Plain[] = [];
  let { after } = key;
  let at = key.index;
  let entries = 0;
  let last: Page | null = null;
  for (; at < paths.length; at++) {
    last = null;
    try {
      last = listPage(site, paths[at] as string, after, located);
      if (last === null) {
        throw fileNotFound(`Path ${paths[at]} does not exist`);
      }
      entries += last.entries.length;
      listings.push({ partialListing: last.entries, parentIdx: at });
    } catch (error) {
      if (!(error instanceof RemoteException)) {
        throw error;
      }
      const exception = { className: error.javaClass, message: error.message };
      listings.push({ partialListing: [], parentIdx: at, exception });
    }
    after = '';
    if ((last !== null && last.remaining > 0) || entries >= site.settings.listingLimit) {
      break;
    }
  }
  const isDone = at >= paths.length || (at === paths.length - 1 && last !== null && last.remaining === 0);
  return {
    listings,
    hasMore: !isDone,
    startAfter: isDone ? Buffer.alloc(0) : keyAfter(paths, at, last?.lastName ?? ''),
  };
}

/** Where a batched listing goes on. A key without a name stands after a path that was listed to its end. */
function readKey(request: Plain, paths: readonly string[]): { index: number; after: string } {
  const bytes = request['startAfter'];
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) {
    return { index: 0, after: '' };
  }
  let key: Plain;
  try {
    key = decodePlain(messageType(KEY_TYPE), bytes);
  } catch (error) {
    throw new RemoteException(JAVA.PROTOBUF, error instanceof Error ? error.message : String(error));
  }
  if (!checksumOf(paths).equals(key['checksum'] as Buffer)) {
    throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, 'startAfter belongs to a listing of other paths');
  }
  const after = bytesAsText(key, 'startAfter');
  return { index: numberOf(key, 'pathIndex') + (after === '' ? 1 : 0), after };
}

function keyAfter(paths: readonly string[], pathIndex: number, lastName: string): Buffer {
  return encode(messageType(KEY_TYPE), { checksum: checksumOf(paths), pathIndex, startAfter: Buffer.from(lastName) });
}

function checksumOf(paths: readonly string[]): Buffer {
  return createHash('sha256').update(paths.join('\0')).digest().subarray(0, 16);
}

/** One page of the files that are open for writing below a path, after an inode id. */
export function listOpenFiles(site: Site, request: Plain): Plain {
  checkSuperuser(site.caller, 'listOpenFiles');
  const types = (request['types'] as string[] | undefined) ?? [];
  const after = numberOf(request, 'id');
  const below = textOf(request, 'path');
  const prefix = below === '' || below === '/' ? '/' : `${below}/`;
  const isListed = openFileFilter(types);
  const found = site.namespace
    .openFiles()
    .filter((file) => file.id > after && isListed(file) && isAtOrBelow(file.path(), below, prefix));
  const page = found.slice(0, site.settings.listingLimit);
  return {
    entries: page.map((file) => ({
      id: file.id,
      path: file.path(),
      clientName: file.writer?.holder ?? '',
      clientMachine: file.writer?.machine ?? '',
    })),
    hasMore: found.length > page.length,
    types,
  };
}

function isAtOrBelow(path: string, below: string, prefix: string): boolean {
  return path === below || path.startsWith(prefix);
}

/** BLOCKING_DECOMMISSION: open files with a block on a node that is being decommissioned. */
function openFileFilter(types: readonly string[]): (file: File) => boolean {
  if (types.length === 0 || types.includes('ALL_OPEN_FILES')) {
    return () => true;
  }
  return (file) =>
    file.blocks.some((block) => block.nodes.some((node) => node.figures.adminState === 'DECOMMISSION_INPROGRESS'));
}

/** The inode of a path that must exist; `problem` begins the text of the FileNotFoundException. */
export function existing(
  site: Site,
  src: string,
  problem: string,
): Omit<ResolvedPath, 'target'> & { readonly target: Inode } {
  const path = site.namespace.resolve(site.caller, src, 'read');
  const { target } = path;
  if (target === null) {
    throw fileNotFound(`${problem} ${src}`);
  }
  return { ...path, target };
}
