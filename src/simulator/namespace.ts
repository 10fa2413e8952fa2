/**
 * The tree of one nameservice as one NameNode sees it: inodes, leases, quotas of names, the number of the last edit. Operations (the
 * *-operations.ts files) change it only through the methods here. It has no clock and no randomness of its own: applying the same edits
 * at the same times gives the same tree, inode ids included, which is how standby and observer NameNodes follow the active one.
 */

import { accessDenied, fileNotFound, JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import { FIRST_BLOCK_ID, FIRST_GENERATION_STAMP } from './blocks.ts';
import { CacheDirectives } from './cache-directives.ts';
import { ErasureCodingPolicies } from './erasure-coding-policies.ts';
import type { Inode, InodeAttributes } from './inodes.ts';
import { Directory, File, NO_QUOTA, ROOT_INODE_ID } from './inodes.ts';
import {
  compareNames,
  isInodePath,
  isRawPath,
  isReservedName,
  isValidName,
  MAX_COMPONENT_BYTES,
  splitPath,
} from './paths.ts';
import type { Caller } from './permission-check.ts';
import { checkSuperuser, checkTraverse } from './permission-check.ts';
import type { Intent, ResolvedPath } from './resolved-path.ts';
import { SNAPSHOT_DIRECTORY } from './snapshots.ts';

const MAX_DIRECTORY_ITEMS = 1_048_576;
const UNLIMITED_NAMES = 2n ** 63n - 1n;
/** A writer that has not renewed its lease for this long may lose its files to another one (HDFS's soft limit). */
const LEASE_SOFT_LIMIT_MS = 60_000;

const SNAPSHOT_PREFIX = `${SNAPSHOT_DIRECTORY}/`;

export interface NamespaceOptions {
  readonly superuser: string;
  readonly supergroup: string;
  /** Inode id of the root; those of other inodes follow it. */
  readonly rootInodeId?: number;
}

/** A rolling upgrade of the nameservice, running or finalized. */
export interface RollingUpgrade {
  readonly startedMs: number;
  /** 0 while it runs. */
  readonly finalizedMs: number;
}

interface Lease {
  readonly files: Set<number>;
  renewedMs: number;
}

export class Namespace {
  readonly options: NamespaceOptions;
  readonly root: Directory;
  /** Number of the last edit. */
  txid = 0;
  /** Time of the operation that runs. */
  nowMs = 0;
  /** An edit of the active is being applied: what it allowed is not judged again by state that edits do not carry (leases' age). */
  replaying = false;
  readonly erasureCoding = new ErasureCodingPolicies();
  readonly cache = new CacheDirectives();
  /** Roots of encryption zones by inode id. */
  readonly zones = new Map<number, Directory>();
  readonly snapshottables = new Set<Directory>();
  rollingUpgrade: RollingUpgrade | null = null;
  readonly #inodes = new Map<number, Inode>();
  readonly #leases = new Map<string, Lease>();
  #nextInodeId: number;
  #nextBlockId = FIRST_BLOCK_ID;
  #nextGenerationStamp = FIRST_GENERATION_STAMP;
  #nextSnapshotId = 0;

  constructor(options: NamespaceOptions) {
    this.options = options;
    const rootId = options.rootInodeId ?? ROOT_INODE_ID;
    this.#nextInodeId = rootId + 1;
    this.root = new Directory({
      id: rootId,
      name: '',
      owner: options.superuser,
      group: options.supergroup,
      mode: 0o755,
      mtimeMs: 0,
      atimeMs: 0,
    });
    this.root.namespaceQuota = UNLIMITED_NAMES;
    this.#inodes.set(rootId, this.root);
  }

  /** Resolves a path and checks that the caller may walk it. */
  resolve(caller: Caller, path: string, intent: Intent): ResolvedPath {
    if (intent === 'create' && !isValidName(path)) {
      throw new RemoteException(JAVA.INVALID_PATH, `Invalid path name Invalid file name: ${path}`);
    }
    const components = splitPath(path);
    if (intent !== 'read' && isRawPath(components)) {
      checkSuperuser(caller, components.length === 2 ? '/' : `/${components.slice(2).join('/')}`);
    }
    const resolved = this.#walk(this.#translate(components, path));
    try {
      checkTraverse(caller, resolved);
    } catch (error) {
      // To others than those that make names a parent that is a file is one that may not be entered.
      const tells = intent === 'create' || intent === 'administer';
      if (!tells && error instanceof RemoteException && error.javaClass === JAVA.PARENT_NOT_DIRECTORY) {
        throw accessDenied(error.message);
      }
      throw error;
    }
    if (intent !== 'read' && resolved.isSnapshot) {
      throw new RemoteException(JAVA.SNAPSHOT_READ_ONLY, 'Modification on a read-only snapshot is disallowed');
    }
    return resolved;
  }

  /** Resolves a path without any check of access: what does not exist is simply not there. */
  locate(path: string): ResolvedPath {
    return this.#walk(this.#translate(splitPath(path), path));
  }

  /** Resolves by inode id when the client knows it (files stay open while they are renamed), else by path. */
  resolveOpenFile(caller: Caller, path: string, fileId: number): ResolvedPath {
    const inode = this.#inodes.get(fileId);
    if (fileId === 0 || inode === undefined) {
      const resolved = this.resolve(caller, path, 'write');
      return fileId === 0 ? resolved : { ...resolved, target: null };
    }
    return this.locate(inode.path());
  }

  /** Reserved paths become the ordinary paths that they stand for. */
  #translate(components: readonly string[], path: string): readonly string[] {
    if (isRawPath(components)) {
      return components.slice(2);
    }
    if (!isInodePath(components)) {
      return components;
    }
    const inode = this.#inodes.get(Number(components[2]));
    if (inode === undefined) {
      throw fileNotFound(`File for given inode path does not exist: ${path}`);
    }
    if (components.length === 4 && components[3] === '..') {
      return splitPath((inode.parent ?? this.root).path());
    }
    return [...splitPath(inode.path()), ...components.slice(3)];
  }

  #walk(path: readonly string[]): ResolvedPath {
    const text = `/${path.join('/')}`;
    const components = this.#joinSnapshotName(path);
    const isSnapshot = components !== path;
    const last = components.length - 1;
    if (last < 0) {
      const { root } = this;
      return {
        text,
        name: '',
        above: [],
        target: root,
        parent: null,
        ancestor: null,
        missing: [],
        isSnapshot,
        snapshotList: null,
      };
    }
    const above: Inode[] = [this.root];
    let at: Inode = this.root;
    let depth = 0;
    while (depth < last && at instanceof Directory) {
      const child = childOf(at, components[depth] as string);
      if (child === undefined) {
        break;
      }
      above.push(child);
      at = child;
      depth++;
    }
    const parent = depth === last && at instanceof Directory ? at : null;
    const name = components[last] as string;
    const target = parent === null ? null : (childOf(parent, name) ?? null);
    const isList = name === SNAPSHOT_DIRECTORY && parent !== null && parent.snapshots !== null;
    return {
      text,
      name,
      above,
      target,
      parent,
      ancestor: at,
      missing: components.slice(depth),
      isSnapshot: isSnapshot || isList,
      snapshotList: isList ? parent : null,
    };
  }

  /** `.snapshot` and the name of a snapshot, below a directory that can have any, become one component. */
  #joinSnapshotName(components: readonly string[]): readonly string[] {
    const at = components.indexOf(SNAPSHOT_DIRECTORY);
    if (at < 0 || at + 1 === components.length) {
      return components;
    }
    let directory: Inode | undefined = this.root;
    for (const name of components.slice(0, at)) {
      directory = directory instanceof Directory ? directory.child(name) : undefined;
    }
    if (!(directory instanceof Directory) || directory.snapshots === null) {
      return components;
    }
    const joined = `${SNAPSHOT_PREFIX}${components[at + 1]}`;
    return [...components.slice(0, at), joined, ...components.slice(at + 2)];
  }

  inode(id: number): Inode | undefined {
    return this.#inodes.get(id);
  }

  get inodeCount(): number {
    return this.#inodes.size;
  }

  /** Every change is one edit. */
  logEdit(): void {
    this.txid++;
  }

  takeBlockId(): number {
    return this.#nextBlockId++;
  }

  takeGenerationStamp(): number {
    return this.#nextGenerationStamp++;
  }

  takeSnapshotId(): number {
    return this.#nextSnapshotId++;
  }

  /** All files of the tree, those of snapshots left out. */
  *files(): Generator<File> {
    for (const inode of this.#inodes.values()) {
      if (inode instanceof File) {
        yield inode;
      }
    }
  }

  /** Attributes of an inode that an operation makes now; it takes its parent's group. */
  newAttributes(parent: Directory, name: string, owner: string, mode: number, atimeMs: number): InodeAttributes {
    return { id: this.#nextInodeId++, name, owner, group: parent.group, mode, mtimeMs: this.nowMs, atimeMs };
  }

  /** Whether a child may have this name; `directory` is the path of its parent, which need not exist yet. */
  verifyName(directory: string, name: string): void {
    if (name === '.snapshot') {
      throw new RemoteException(JAVA.HADOOP_ILLEGAL_ARGUMENT, '".snapshot" is a reserved name.');
    }
    if (directory === '/' && isReservedName([name])) {
      throw new RemoteException(
        JAVA.HADOOP_ILLEGAL_ARGUMENT,
        'File name ".reserved" is reserved and cannot be created. If this is during upgrade change the name of the ' +
          'existing file or directory to another name before upgrading to the new release.',
      );
    }
    const bytes = Buffer.byteLength(name);
    if (bytes > MAX_COMPONENT_BYTES) {
      throw new RemoteException(
        JAVA.NAME_TOO_LONG,
        `The maximum path component name limit of ${name} in directory ${directory} is exceeded: ` +
          `limit=${MAX_COMPONENT_BYTES} length=${bytes}`,
      );
    }
  }

  /**
   * Whether a directory may take one more child that brings `names` inodes. A rename counts only in directories that do not hold the
   * source already: those from `from` upwards.
   */
  verifyRoom(parent: Directory, names: number, from: Directory | null = null): void {
    if (parent.childCount >= MAX_DIRECTORY_ITEMS && parent !== from) {
      throw new RemoteException(
        JAVA.DIRECTORY_FULL,
        `The directory item limit of ${parent.path()} is exceeded: ` +
          `limit=${MAX_DIRECTORY_ITEMS} items=${parent.childCount + 1}`,
      );
    }
    const holding = new Set<Directory>();
    for (let at = from; at !== null; at = at.parent) {
      holding.add(at);
    }
    for (let at: Directory | null = parent; at !== null; at = at.parent) {
      const after = at.names + names;
      if (!holding.has(at) && at.namespaceQuota !== NO_QUOTA && at.namespaceQuota < after) {
        throw new RemoteException(
          JAVA.NS_QUOTA,
          `The NameSpace quota (directories and files) of directory ${at.path()} is exceeded: ` +
            `quota=${at.namespaceQuota} file count=${after}`,
        );
      }
    }
  }

  link(parent: Directory, child: Inode): void {
    parent.add(child);
    parent.mtimeMs = this.nowMs;
    this.#inodes.set(child.id, child);
  }

  /** Takes an inode and all below it out of the tree; files that are open lose their writers. */
  remove(inode: Inode): void {
    const { parent } = inode;
    if (parent !== null) {
      parent.remove(inode);
      parent.mtimeMs = this.nowMs;
    }
    const pending: Inode[] = [inode];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      this.#inodes.delete(next.id);
      if (next instanceof Directory) {
        this.zones.delete(next.id);
        this.snapshottables.delete(next);
        for (const child of next.children()) {
          pending.push(child);
        }
      } else {
        this.closeFile(next);
      }
    }
  }

  /** Gives an inode another parent and name. */
  move(inode: Inode, parent: Directory, name: string): void {
    const from = inode.parent;
    if (from !== null) {
      from.remove(inode);
      from.mtimeMs = this.nowMs;
    }
    inode.name = name;
    parent.add(inode);
    parent.mtimeMs = this.nowMs;
  }

  openFile(file: File, holder: string, machine: string): void {
    file.writer = { holder, machine };
    let lease = this.#leases.get(holder);
    if (lease === undefined) {
      lease = { files: new Set(), renewedMs: this.nowMs };
      this.#leases.set(holder, lease);
    }
    lease.files.add(file.id);
    lease.renewedMs = this.nowMs;
  }

  closeFile(file: File): void {
    const { writer } = file;
    if (writer === null) {
      return;
    }
    file.writer = null;
    const lease = this.#leases.get(writer.holder);
    lease?.files.delete(file.id);
    if (lease?.files.size === 0) {
      this.#leases.delete(writer.holder);
    }
  }

  renewLease(holder: string): void {
    const lease = this.#leases.get(holder);
    if (lease !== undefined) {
      lease.renewedMs = this.nowMs;
    }
  }

  /** Whether another client may take over what the holder has open. */
  isLeaseExpired(holder: string): boolean {
    const lease = this.#leases.get(holder);
    return this.replaying || lease === undefined || this.nowMs - lease.renewedMs > LEASE_SOFT_LIMIT_MS;
  }

  /** How exceptions describe a holder. */
  describeLease(holder: string): string {
    const lease = this.#leases.get(holder);
    return lease === undefined
      ? `Holder ${holder} does not have any open files.`
      : `[Lease.  Holder: ${holder}, pending creates: ${lease.files.size}]`;
  }

  /** Files that are open for writing, by inode id. */
  openFiles(): File[] {
    const files: File[] = [];
    for (const lease of this.#leases.values()) {
      for (const id of lease.files) {
        const inode = this.#inodes.get(id);
        if (inode instanceof File) {
          files.push(inode);
        }
      }
    }
    return files.sort((a, b) => a.id - b.id || compareNames(a.name, b.name));
  }
}

/** A child, or the root of a snapshot under its joined name. */
function childOf(directory: Directory, name: string): Inode | undefined {
  return name.startsWith(SNAPSHOT_PREFIX)
    ? directory.snapshots?.get(name.slice(SNAPSHOT_PREFIX.length))?.root
    : directory.child(name);
}
