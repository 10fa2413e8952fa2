import { isDeepStrictEqual } from 'node:util';
import type { Plain } from '../../../src/wire/messages.ts';
import { join } from '../../support/plain-view.ts';
import { createRequest, mkdirsRequest } from '../../support/several-mounts.ts';
import { ask, comparable, comparableEntries, listAll, type Outcome, show } from './compare.ts';
import { ANY_REFUSAL, type Forced, isBelow, MountRules, nameOf, parentOf } from './mount-rules.ts';
import { concatRefusal, partsDirectories, renameRefusal } from './move-rules.ts';
import type { Operation, PathChoice, Plan, Read } from './plan.ts';
import { readRequest, tellRead } from './reads.ts';
import { CURRENT, HOME, isInTrash } from './trash.ts';
import type { World } from './world.ts';

const WRITER = 'writer';
const CREATE_AND_OVERWRITE = 3;
const CREATE_ONLY = 1;
const XATTR_CREATE_AND_REPLACE = 3;
const BLOCK_BYTES = 1024;
const MAX_DEPTH = 8;

/** The router's clients see something else than one plain tree. */
export class Divergence extends Error {
  override readonly name = 'Divergence';
}

/** One plan, carried out through the router and on a plain tree; throws Divergence at the first difference. */
export class Sequence {
  readonly #world: World;
  readonly #rules: MountRules;
  /** What was done so far, with the paths that were meant. */
  readonly log: string[] = [];
  calls = 0;
  #known: string[] = [];
  #usesTrash = false;

  constructor(world: World, plan: Plan) {
    this.#world = world;
    this.#rules = new MountRules(plan.mounts, plan.defaultNameservice);
    this.#known = this.#rules.skeleton();
  }

  async run(operations: readonly Operation[]): Promise<void> {
    for (const operation of operations) await this.#execute(operation);
    this.log.push('compare the whole tree');
    await this.#compareTree('/', 0);
  }

  #resolve(choice: PathChoice): string {
    if (typeof choice === 'string') return choice;
    const known = this.#known[choice.nth % this.#known.length] as string;
    return join(known, choice.child);
  }

  #note(path: string): void {
    if (!this.#known.includes(path)) this.#known.push(path);
  }

  async #execute(operation: Operation): Promise<void> {
    switch (operation.op) {
      case 'mkdirs':
        return await this.#mkdirs(this.#resolve(operation.path), operation.parents, operation.perm);
      case 'write':
        return await this.#write(operation, this.#resolve(operation.path));
      case 'append': {
        const src = this.#resolve(operation.path);
        const done = await this.#change('append', src, { src, clientName: WRITER }, () => null);
        if (done) await this.#change('complete', src, { src, clientName: WRITER }, (value) => value['result']);
        return;
      }
      case 'delete': {
        const src = this.#resolve(operation.path);
        await this.#change('delete', src, { src, recursive: operation.recursive }, (value) => value['result']);
        return;
      }
      case 'rename':
        return await this.#rename('rename', this.#resolve(operation.from), this.#resolve(operation.to), {});
      case 'rename2':
        return await this.#rename2(this.#resolve(operation.from), this.#resolve(operation.to), operation.overwrite);
      case 'concat':
        return await this.#concat(
          this.#resolve(operation.target),
          operation.sources.map((source) => this.#resolve(source)),
        );
      case 'setPermission': {
        const src = this.#resolve(operation.path);
        await this.#mark('setPermission', src, { src, permission: { perm: operation.perm } });
        return;
      }
      case 'setOwner':
        return await this.#setOwner(this.#resolve(operation.path), operation.owner, operation.group);
      case 'setTimes': {
        const src = this.#resolve(operation.path);
        await this.#mark('setTimes', src, { src, mtime: operation.mtime, atime: operation.mtime });
        return;
      }
      case 'setReplication': {
        const src = this.#resolve(operation.path);
        await this.#change(
          'setReplication',
          src,
          { src, replication: operation.replication },
          (value) => value['result'],
        );
        return;
      }
      case 'truncate': {
        const src = this.#resolve(operation.path);
        const request = { src, newLength: operation.bytes, clientName: WRITER };
        await this.#change('truncate', src, request, (value) => value['result']);
        return;
      }
      case 'setXAttr': {
        const src = this.#resolve(operation.path);
        const { name, value } = operation;
        const xAttr = { namespace: 'USER', name, value: Buffer.from(value) };
        await this.#mark('setXAttr', src, { src, xAttr, flag: XATTR_CREATE_AND_REPLACE });
        return;
      }
      case 'removeXAttr': {
        const src = this.#resolve(operation.path);
        await this.#mark('removeXAttr', src, { src, xAttr: { namespace: 'USER', name: operation.name } });
        return;
      }
      case 'read':
        return await this.#read(operation.how, this.#resolve(operation.path));
      case 'list':
        return await this.#list(this.#resolve(operation.path), operation.located);
      case 'batch':
        return await this.#batch(operation.paths.map((choice) => this.#resolve(choice)));
      case 'ancestors': {
        for (let path = this.#resolve(operation.path); ; path = parentOf(path)) {
          await this.#list(path, false);
          await this.#read('getFileInfo', path);
          if (path === '/') return;
        }
      }
      case 'trash':
        return await this.#moveToTrash(this.#resolve(operation.path));
      case 'emptyTrash': {
        const request = { src: CURRENT, recursive: true };
        if (this.#usesTrash) await this.#change('delete', CURRENT, request, (value) => value['result'], null);
        return;
      }
    }
  }

  /**
   * A change that both are to make alike, or the router refuses because of the mount table alone. True when it was made. `told` is what of
   * the answer must be the same.
   */
  async #change(
    method: string,
    path: string,
    request: object,
    told: (value: Plain) => unknown,
    forced: Forced | null = this.#rules.refusalOfChange(method, path),
  ): Promise<boolean> {
    this.log.push(
      `${method} ${show(request)}${forced === null ? '' : ` (a router refuses it: ${forced.isFalse ? 'false' : forced.className || 'for some reason'})`}`,
    );
    const routed = await this.#routed(method, request);
    if (forced !== null) {
      this.#expectRefusal(routed, forced);
      return false;
    }
    const plain = await ask(this.#world.plain, method, request);
    this.#expectSame(this.#tellChange(routed, request, told), this.#tellChange(plain, request, told));
    if (!('value' in plain)) return false;
    const result = plain.value['result'];
    return result !== false;
  }

  /**
   * Without `createParent` a file further up in another of several nameservices is in the way of a new name: that something above is no
   * directory, and that the directory above is missing, are both true.
   */
  #tellChange(outcome: Outcome, request: object, told: (value: Plain) => unknown): unknown {
    const { src, createParent } = request as { src?: string; createParent?: boolean };
    const isBlocked = 'error' in outcome && outcome.error === 'ParentNotDirectoryException';
    if (!isBlocked || createParent !== false || src === undefined || !this.#rules.isSeveral(src)) {
      return tell(outcome, told);
    }
    return { error: 'FileNotFoundException' };
  }

  /**
   * A change of a path itself. Of mount points and of the directories above them a NameNode knows only what was made; their permissions are
   * put back, for new children may take them over.
   */
  async #mark(method: string, path: string, request: object): Promise<void> {
    const isSkeleton = this.#rules.isSkeleton(path);
    let forced = this.#rules.refusalOfChange(method, path);
    const locations = this.#rules.locations(path);
    const holders = isSkeleton && forced === null ? await this.#world.holders(locations) : [];
    if (isSkeleton && forced === null && holders.length === 0)
      forced = { className: 'FileNotFoundException', text: '' };
    // Not in all of its locations: those that come later would not have it.
    if (isSkeleton && forced === null && method.endsWith('XAttr') && holders.length < locations.length) return;
    const done = await this.#change(method, path, request, () => null, forced);
    if (!(done && isSkeleton)) return;
    if (method === 'setPermission') {
      await this.#change(method, path, { src: path, permission: { perm: 0o755 } }, () => null);
    }
  }

  async #mkdirs(path: string, parents: boolean, perm: number): Promise<void> {
    const createsParent = parents || this.#rules.isSkeleton(path);
    const forced =
      this.#rules.refusalOfChange('mkdirs', path) ?? (createsParent ? null : await this.#parentUnknown(path));
    // What is made on the way of what mount points show already gets that permission too, and hands it on.
    const isWhole = await this.#isSkeletonMade(path);
    const request = mkdirsRequest(path, createsParent, isWhole ? perm : 0o755);
    if (await this.#change('mkdirs', path, request, (value) => value['result'], forced)) this.#note(path);
  }

  /** Whether the nearest directory that mount points show, at or above, is in all of its locations. */
  async #isSkeletonMade(path: string): Promise<boolean> {
    let nearest = path;
    while (!this.#rules.isSkeleton(nearest) && nearest !== '/') nearest = parentOf(nearest);
    const locations = this.#rules.locations(nearest);
    return path !== nearest && (await this.#world.holders(locations)).length === locations.length;
  }

  /** Only mount points make the directory above: the NameNode does not know it, and creates it only where it is told to. */
  async #parentUnknown(path: string): Promise<Forced | null> {
    const parent = parentOf(path);
    if (!this.#rules.isSkeleton(parent)) return null;
    const holders = await this.#world.holders(this.#rules.locations(parent));
    return holders.length > 0 ? null : { className: 'FileNotFoundException', text: '' };
  }

  async #write({ parents, overwrite, perm, bytes }: Operation & { readonly op: 'write' }, path: string): Promise<void> {
    const forced = this.#rules.refusalOfChange('create', path) ?? (parents ? null : await this.#parentUnknown(path));
    const request = createRequest(path, {
      masked: { perm },
      clientName: WRITER,
      createFlag: overwrite ? CREATE_AND_OVERWRITE : CREATE_ONLY,
      createParent: parents,
      blockSize: BLOCK_BYTES,
    });
    const made = await this.#change(
      'create',
      path,
      request,
      (value) => comparable(value['fs'] as Plain, path, this.#rules),
      forced,
    );
    if (!made) return;
    this.#note(path);
    this.log.push(`write ${bytes} bytes to ${path}`);
    this.#expectSame(await this.#fill(true, path, bytes), await this.#fill(false, path, bytes));
  }

  /** One block of a new file, if any, and its end. */
  async #fill(routed: boolean, src: string, bytes: number): Promise<unknown> {
    const say = (method: string, request: object): Promise<Outcome> =>
      routed ? this.#routed(method, request) : ask(this.#world.plain, method, request);
    let last: Plain | undefined;
    if (bytes > 0) {
      const added = await say('addBlock', { src, clientName: WRITER, excludeNodes: [], favoredNodes: [], flags: [] });
      if ('error' in added) return added;
      last = { ...((added.value['block'] as Plain)['b'] as Plain), numBytes: bytes };
    }
    const completed = await say('complete', { src, clientName: WRITER, ...(last === undefined ? {} : { last }) });
    return tell(completed, (value) => value['result']);
  }

  /** In place of a mount point only where all its targets are there: the directories above them may be missing. */
  async #rename2(from: string, to: string, overwrite: boolean): Promise<void> {
    const locations = this.#rules.locations(to);
    const isWhole = !this.#rules.isSkeleton(to) || (await this.#world.holders(locations)).length === locations.length;
    await this.#rename('rename2', from, to, { overwriteDest: overwrite && isWhole });
  }

  async #rename(method: 'rename' | 'rename2', from: string, to: string, options: object): Promise<void> {
    const isFile = (await this.#typeOf(from)) === 'IS_FILE';
    const places = [to];
    // The old rename moves into a directory.
    if (method === 'rename' && (await this.#typeOf(to)) === 'IS_DIR') places.push(join(to, nameOf(from)));
    for (const place of places) {
      if (await partsDirectories(this.#world, this.#rules, from, place, isFile)) return;
    }
    const forced = await renameRefusal(this.#world, this.#rules, method, from, to);
    const request = { src: from, dst: to, ...options };
    if (await this.#change(method, from, request, (value) => value['result'], forced)) {
      this.#note(to);
      this.#note(join(to, nameOf(from)));
    }
  }

  async #concat(target: string, sources: readonly string[]): Promise<void> {
    const forced = await concatRefusal(this.#world, this.#rules, target, sources);
    await this.#change('concat', target, { trg: target, srcs: sources }, () => null, forced);
  }

  /** The group only of files: children take it over, and directories above mount points may come to be with another one. */
  async #setOwner(src: string, username: string, groupname: string): Promise<void> {
    const isFile = groupname !== '' && (await this.#typeOf(src)) === 'IS_FILE';
    const group = isFile ? { groupname } : {};
    await this.#mark('setOwner', src, { src, ...(username === '' ? {} : { username }), ...group });
  }

  async #read(how: Read, path: string): Promise<void> {
    this.log.push(`${how} ${path}`);
    const request = readRequest(how, path);
    const routed = await this.#routed(how, request);
    const forced = this.#rules.refusalOfRead(path);
    if (forced !== null) return this.#expectRefusal(routed, forced);
    const plain = await ask(this.#world.plain, how, request);
    const told = (value: Plain): unknown => tellRead(how, value, path, this.#rules);
    this.#expectSame(tell(routed, told), tell(plain, told));
  }

  async #list(path: string, located: boolean): Promise<void> {
    this.log.push(`list ${path}${located ? ' with locations' : ''}`);
    const routed = await listAll(this.#world.routed, path, located);
    const forced = this.#rules.refusalOfRead(path);
    if (forced !== null) return this.#expectRefusal(routed ?? { value: {} }, forced);
    const plain = await listAll(this.#world.plain, path, located);
    this.#expectSame(this.#tellListing(routed, path), this.#tellListing(plain, path));
  }

  #tellListing(listing: Awaited<ReturnType<typeof listAll>>, path: string): unknown {
    if (listing === null) return null;
    if ('error' in listing) return { error: listing.error };
    const { entries, faults } = listing;
    if (faults.length > 0) return { faults };
    // A file is listed as itself.
    if (entries.length === 1 && String(entries[0]?.['path']) === '')
      return comparable(entries[0] as Plain, path, this.#rules);
    return comparableEntries(entries, path, this.#rules);
  }

  async #batch(paths: readonly string[]): Promise<void> {
    this.log.push(`list at once ${paths.join(' ')}`);
    const routed = await this.#batchOf(true, paths);
    const plain = await this.#batchOf(false, paths);
    const expected = plain.map((each, i) => {
      const forced = this.#rules.refusalOfRead(paths[i] as string);
      return forced === null ? each : { error: forced.className };
    });
    this.#expectSame(routed, expected);
  }

  async #batchOf(routed: boolean, paths: readonly string[]): Promise<unknown[]> {
    const found: Plain[][] = paths.map(() => []);
    const errors = new Map<number, string>();
    let startAfter: unknown = Buffer.alloc(0);
    for (;;) {
      const request = { paths, startAfter, needLocation: false };
      const outcome = routed
        ? await this.#routed('getBatchedListing', request)
        : await ask(this.#world.plain, 'getBatchedListing', request);
      if ('error' in outcome) return [{ error: outcome.error }];
      for (const { parentIdx, partialListing, exception } of outcome.value['listings'] as Plain[]) {
        found[parentIdx as number]?.push(...(partialListing as Plain[]));
        const className = (exception as Plain | undefined)?.['className'] as string | undefined;
        if (className !== undefined) errors.set(parentIdx as number, className.slice(className.lastIndexOf('.') + 1));
      }
      if (outcome.value['hasMore'] !== true) break;
      startAfter = outcome.value['startAfter'];
    }
    return found.map((entries, i) => {
      const error = errors.get(i);
      return error === undefined ? this.#tellListing({ entries, faults: [] }, paths[i] as string) : { error };
    });
  }

  /** As the shell deletes: the directory above in the trash, then the rename. */
  async #moveToTrash(path: string): Promise<void> {
    if (path === '/' || this.#rules.locations(HOME).length === 0 || isBelow(HOME, path) || isBelow(path, '/user'))
      return;
    if (this.#rules.refusalOfChange('mkdirs', HOME) !== null || path === '/user') return;
    if (!this.#usesTrash) {
      this.log.push(`a home directory in every nameservice`);
      this.#usesTrash = true;
      for (const client of [this.#world.routed, this.#world.plain, ...this.#world.direct.values()]) {
        await client.call('ClientProtocol.mkdirs', mkdirsRequest(HOME));
      }
    }
    if ((await this.#typeOf(path)) === null) return;
    const above = join(CURRENT, parentOf(path).slice(1));
    const request = { src: path, dst: join(above, nameOf(path)), overwriteDest: false, moveToTrash: true };
    const forced = this.#rules.refusalOfChange('rename2', path);
    const made = await this.#change(
      'mkdirs',
      above,
      mkdirsRequest(above, true, 0o700),
      (value) => value['result'],
      null,
    );
    if (made) await this.#change('rename2', path, request, () => null, forced);
  }

  async #typeOf(src: string): Promise<string | null> {
    const outcome = await ask(this.#world.plain, 'getFileInfo', { src });
    const status = 'value' in outcome ? (outcome.value['fs'] as Plain | undefined) : undefined;
    return status === undefined ? null : String(status['fileType']);
  }

  async #compareTree(path: string, depth: number): Promise<void> {
    if (depth > MAX_DEPTH) return;
    await this.#read('getFileInfo', path);
    await this.#read('getXAttrs', path);
    const type = await this.#typeOf(path);
    if (type === 'IS_FILE') {
      await this.#read('getBlockLocations', path);
      if (!isInTrash(path)) await this.#expectOneHolder(path, 'file');
      return;
    }
    const isWhole = this.#rules.isSeveral(path) && !this.#rules.isEverywhere(path) && !this.#rules.isSkeleton(path);
    if (isWhole && !isInTrash(path)) await this.#expectOneHolder(path, 'directory');
    await this.#list(path, false);
    await this.#read('getContentSummary', path);
    const listing = await listAll(this.#world.plain, path, false);
    if (listing === null || 'error' in listing) return;
    for (const entry of listing.entries) await this.#compareTree(join(path, String(entry['path'])), depth + 1);
  }

  /**
   * A second file of a path would come to light when the first is deleted. So would a second directory with HASH and LOCAL, to which marks
   * are not set.
   */
  async #expectOneHolder(path: string, kind: 'file' | 'directory'): Promise<void> {
    const holders = await this.#world.holders(this.#rules.locations(path));
    this.#expectSame(
      holders.map(({ isDirectory }) => (isDirectory ? 'directory' : 'file')),
      [kind],
    );
  }

  async #routed(method: string, request: object): Promise<Outcome> {
    this.calls++;
    return await ask(this.#world.routed, method, request);
  }

  #expectRefusal(routed: Outcome | object, { className, text, isFalse }: Forced): void {
    if (isFalse === true) {
      this.#expectSame(routed, { value: { result: false } });
      return;
    }
    const refusal = 'error' in routed ? (routed as { error: string; text: string }) : null;
    if (refusal !== null && className === ANY_REFUSAL) return;
    if (refusal?.error === className && refusal.text.includes(text)) return;
    throw new Divergence(`expected ${className}: …${text}…\nbut got  ${show(routed)}`);
  }

  #expectSame(routed: unknown, plain: unknown): void {
    if (isDeepStrictEqual(routed, plain)) return;
    throw new Divergence(`one tree:      ${show(plain)}\nby the router: ${show(routed)}`);
  }
}

function tell(outcome: Outcome, told: (value: Plain) => unknown): unknown {
  return 'error' in outcome ? { error: outcome.error } : { value: told(outcome.value) };
}
