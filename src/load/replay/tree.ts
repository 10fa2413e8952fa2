/**
 * What must have been there before a recorded log began, so that its calls meet what they met. The calls are gone through in order on a
 * tree of the paths that they name. A path that is opened, moved, deleted or changed before the log itself makes it was there; one that is
 * created was not. Looks (getFileInfo, getListing) succeed in the log whether there was something or not: they count only where nothing
 * else speaks against it.
 */

export type Kind = 'any' | 'file' | 'directory';

/** A path that has to be made before the replay. */
export interface StartEntry {
  /** In the names of the log. */
  readonly path: string;
  readonly isDirectory: boolean;
  /** Who changed its permissions first, and so was its owner or the superuser; null when nobody did. */
  readonly owner: string | null;
}

const NONE = -1;
/** Of the calls that a call must not overtake, the last ones are told. */
const MAX_AFTER = 16;

class Node {
  /** At this point of the log. */
  state: 'unknown' | 'present' | 'absent';
  kind: Kind = 'any';
  /** It may have been there before the log, at the place that `startParent` and `startName` tell. Not so for what is made again. */
  readonly startParent: Node | null;
  readonly startName: string;
  mayBeOld: boolean;
  /** It was there before the log. */
  isOld = false;
  /** The log made it, and nothing said that it was there before. */
  isNew = false;
  /** Something looked at it before anything else was known. */
  hint: 'none' | 'file' | 'directory' = 'none';
  owner: string | null = null;
  children: Map<string, Node> | null = null;
  /** Number of the last call that made, removed, moved or replaced it; NONE before. */
  changedBy: number = NONE;
  /** Calls since then that were about it or anything below: the last MAX_AFTER of them. */
  uses: number[] = [];

  constructor(startParent: Node | null, startName: string, mayBeOld: boolean) {
    this.startParent = startParent;
    this.startName = startName;
    this.mayBeOld = mayBeOld;
    this.state = mayBeOld ? 'unknown' : 'absent';
  }

  use(call: number): void {
    this.uses.push(call);
    if (this.uses.length > MAX_AFTER) this.uses.shift();
  }

  /** Whatever waits for this call waits for those before it too. */
  change(call: number): void {
    this.changedBy = call;
    this.uses = [call];
  }

  child(name: string): Node {
    this.children ??= new Map();
    let child = this.children.get(name);
    if (child === undefined) {
      child = new Node(this, name, this.mayBeOld);
      this.children.set(name, child);
    }
    return child;
  }
}

/**
 * Each method takes the next call of the log and answers whether it can be made with what was there; when not, the call is to be left out and
 * has changed nothing. Paths are absolute and canonical; the root itself is only looked at.
 */
export class ReplayTree {
  /** Number of the next call. */
  call = 0;
  /**
   * After a call that is possible: calls before it that it must not overtake, for they made, moved or removed what this one is about, or were
   * about what this one moves, removes or replaces. Those that they must not overtake themselves are left out.
   */
  after: readonly number[] = [];
  readonly #root = new Node(null, '', true);
  /** All that may have been there before the log and something was said about; parents come before what is in them. */
  readonly #known: Node[] = [];

  constructor() {
    this.#root.state = 'present';
    this.#root.kind = 'directory';
    this.#root.isOld = true;
  }

  /** getFileInfo (`file`) or getListing (`directory`): always possible. */
  look(path: string, kind: 'file' | 'directory'): true {
    const chain = this.#walk(path);
    const node = lastOf(chain);
    if (node.state === 'unknown' && node.hint !== 'directory') {
      if (node.hint === 'none') this.#known.push(node);
      node.hint = kind;
    }
    this.after = lastChange(chain);
    this.#mark(chain);
    return true;
  }

  /** Any call that only succeeds on a path that is there. */
  use(path: string, kind: Kind): boolean {
    const chain = this.#walk(path);
    if (!this.#require(lastOf(chain), kind)) return false;
    this.after = lastChange(chain);
    this.#mark(chain);
    return true;
  }

  /** setPermission: of the owner alone. */
  own(path: string, user: string): boolean {
    const chain = this.#walk(path);
    const node = lastOf(chain);
    if (!this.#require(node, 'any')) return false;
    if (node.isOld) node.owner ??= user;
    this.after = lastChange(chain);
    this.#mark(chain);
    return true;
  }

  /**
   * Directories around a new file or directory that are not there any more, or not yet, the outermost first: what makes the last one makes them
   * too. Empty when it cannot be made at all.
   */
  missingAround(path: string, kind: 'file' | 'directory'): string[] {
    const chain = this.#walk(path);
    if (!canMake(chain, kind)) return [];
    const names = path.split('/');
    return chain.slice(1, -1).flatMap((each, index) => (isMissing(each) ? [names.slice(0, index + 2).join('/')] : []));
  }

  /** Missing parents are made; a directory that is there is no error. */
  makeDirectory(path: string): boolean {
    return this.#makePath(path, 'directory');
  }

  /** Missing parents are made, a file that is there is replaced. */
  createFile(path: string): boolean {
    return this.#makePath(path, 'file');
  }

  remove(path: string): boolean {
    const chain = this.#walk(path);
    if (path === '/' || !this.#require(lastOf(chain), 'any')) return false;
    this.after = allUses(chain);
    this.#mark(chain);
    this.#bury(parentOf(chain), nameOf(path));
    return true;
  }

  /** Into a directory that is there, else to the very place. What would replace something is not possible. */
  move(from: string, to: string): boolean {
    if (from === '/' || to === from || to.startsWith(`${from}/`)) return false;
    const sources = this.#walk(from);
    const source = lastOf(sources);
    const given = this.#walk(to);
    const { state, kind } = lastOf(given);
    const isInto = to === '/' || (state === 'present' && kind === 'directory');
    const name = nameOf(isInto ? from : to);
    const targets: Chain = isInto ? [given[0], ...given.slice(1), lastOf(given).child(name)] : given;
    const replaced = lastOf(targets);
    const parent = parentOf(targets);
    const isTaken = replaced.state === 'present' || replaced === source || isAround(replaced, source);
    if (isTaken || !canBe(source, 'any') || !canBe(parent, 'directory')) return false;
    this.#require(source, 'any');
    this.#require(parent, 'directory');
    this.after = [...new Set([...allUses(sources), ...allUses(targets)])];
    this.#mark(sources);
    this.#mark(targets);
    this.#bury(parentOf(sources), nameOf(from));
    replaced.state = 'absent';
    replaced.isNew = true;
    parent.children?.set(name, source);
    source.change(this.call);
    return true;
  }

  /** What has to be there, parents before what is in them. */
  startEntries(): StartEntry[] {
    for (const node of this.#known) {
      if (!node.isOld && node.state === 'unknown' && isFree(node)) this.#require(node, 'any');
    }
    const paths = new Map<Node, string>([[this.#root, '']]);
    const entries: StartEntry[] = [];
    const add = (node: Node): string => {
      const known = paths.get(node);
      if (known !== undefined) return known;
      const path = `${node.startParent === null ? '' : add(node.startParent)}/${node.startName}`;
      paths.set(node, path);
      entries.push({ path, isDirectory: node.kind === 'directory', owner: node.owner });
      return path;
    };
    for (const node of this.#known) if (node.isOld) add(node);
    return entries;
  }

  /** The nodes of a path from the root on. */
  #walk(path: string): Chain {
    const chain: [Node, ...Node[]] = [this.#root];
    let node = this.#root;
    for (let start = 1; start < path.length; ) {
      const slash = path.indexOf('/', start);
      const end = slash < 0 ? path.length : slash;
      node = node.child(path.slice(start, end));
      chain.push(node);
      start = end + 1;
    }
    return chain;
  }

  #mark(chain: Chain): void {
    for (const node of chain) node.use(this.call);
  }

  #require(node: Node, kind: Kind): boolean {
    if (!canBe(node, kind)) return false;
    if (node.kind === 'any') node.kind = kind === 'any' && node.hint === 'directory' ? 'directory' : kind;
    if (node.state === 'unknown') this.#makeOld(node);
    return true;
  }

  /** It was there before the log, and so were the directories around it. */
  #makeOld(node: Node): void {
    this.#markOld(node);
    for (let at = node.startParent; at !== null; at = at.startParent) {
      at.kind = 'directory';
      if (at.isOld) return;
      this.#markOld(at);
    }
  }

  #markOld(node: Node): void {
    if (node.hint === 'none') this.#known.push(node);
    node.isOld = true;
    node.isNew = false;
    if (node.state === 'unknown') node.state = 'present';
  }

  /**
   * False when something else is there, or one of the directories around it is a file. Those around it were there unless the log says
   * something else.
   */
  #makePath(path: string, kind: 'file' | 'directory'): boolean {
    const chain = this.#walk(path);
    const node = lastOf(chain);
    if (!canMake(chain, kind)) return false;
    const isThere = node.state === 'present' && kind === 'directory';
    this.after = isThere ? lastChange(chain) : allUses(chain);
    for (const each of chain.slice(0, -1)) {
      if (each.state === 'unknown' && !isMissing(each)) {
        each.kind = 'directory';
        this.#makeOld(each);
      } else this.#make(each, 'directory');
    }
    this.#make(node, kind);
    this.#mark(chain);
    // A file that is written over is a new one.
    if (kind === 'file') node.change(this.call);
    return true;
  }

  /** What was there is gone; what comes to this place later is new. */
  #bury(parent: Node, name: string): void {
    const grave = new Node(null, name, false);
    grave.change(this.call);
    parent.children?.set(name, grave);
  }

  /** The log makes it now, unless it is there. */
  #make(node: Node, kind: 'file' | 'directory'): void {
    if (node.state === 'present') {
      if (node.kind === 'any') node.kind = kind;
      return;
    }
    node.isNew = true;
    node.state = 'present';
    node.kind = kind;
    node.change(this.call);
    // A directory that is made once more may have been there; a file has nothing in it.
    if (kind === 'file') node.mayBeOld = false;
  }
}

type Chain = readonly [Node, ...Node[]];

function lastOf(chain: Chain): Node {
  return chain.at(-1) ?? chain[0];
}

function parentOf(chain: Chain): Node {
  return chain.at(-2) ?? chain[0];
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The last call that changed something on the way: it must not overtake those before it either. */
function lastChange(chain: Chain): number[] {
  let last = NONE;
  for (const { changedBy } of chain) last = Math.max(last, changedBy);
  return last === NONE ? [] : [last];
}

/** Besides, all calls about what is at the end of the chain, or below. */
function allUses(chain: Chain): number[] {
  return [...new Set([...lastChange(chain), ...lastOf(chain).uses])];
}

/** Whether nothing stands in the way of a new file or directory at the end of the chain. */
function canMake(chain: Chain, kind: 'file' | 'directory'): boolean {
  const node = lastOf(chain);
  if (chain.some((each) => each !== node && each.state === 'present' && each.kind === 'file')) return false;
  return node.state !== 'present' || node.kind === 'any' || node.kind === kind;
}

/** Not there at this point of the log. */
function isMissing(node: Node): boolean {
  return node.state === 'absent' || (node.state === 'unknown' && !isFree(node));
}

/** Whether it is there as `kind`, or may have been so before the log. */
function canBe(node: Node, kind: Kind): boolean {
  if (node.state === 'absent') return false;
  if (node.state === 'unknown' && !canBeOld(node)) return false;
  return kind === 'any' || node.kind === 'any' || node.kind === kind;
}

/** Whether `directory` was one of those around `node` before the log. */
function isAround(directory: Node, node: Node): boolean {
  for (let at = node.startParent; at !== null; at = at.startParent) if (at === directory) return true;
  return false;
}

/** Whether the directories around it may have been there before the log. */
function canBeOld(node: Node): boolean {
  for (let at = node.startParent; at !== null; at = at.startParent) {
    if (at.kind === 'file' || !at.mayBeOld) return false;
    if (at.isOld) return true;
  }
  return true;
}

/** Whether, besides, nothing says that they were not there. */
function isFree(node: Node): boolean {
  for (let at = node.startParent; at !== null && !at.isOld; at = at.startParent) if (at.isNew) return false;
  return canBeOld(node);
}
