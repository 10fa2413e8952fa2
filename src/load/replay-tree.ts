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

  constructor(startParent: Node | null, startName: string, mayBeOld: boolean) {
    this.startParent = startParent;
    this.startName = startName;
    this.mayBeOld = mayBeOld;
    this.state = mayBeOld ? 'unknown' : 'absent';
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

/** Where a path leads: the directory that holds it, its name there, and the node itself. */
interface Place {
  readonly parent: Node;
  readonly name: string;
  readonly node: Node;
}

/**
 * Each method takes the next call of the log and answers whether it can be made with what was there; when not, the call is to be left out and
 * has changed nothing. Paths are absolute and canonical; the root itself is only looked at.
 */
export class ReplayTree {
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
    const { node } = this.#find(path);
    if (node.state === 'unknown' && node.hint !== 'directory') {
      if (node.hint === 'none') this.#known.push(node);
      node.hint = kind;
    }
    return true;
  }

  /** Any call that only succeeds on a path that is there. */
  use(path: string, kind: Kind): boolean {
    return this.#require(this.#find(path).node, kind);
  }

  /** setPermission: of the owner alone. */
  own(path: string, user: string): boolean {
    const { node } = this.#find(path);
    if (!this.#require(node, 'any')) return false;
    if (node.isOld) node.owner ??= user;
    return true;
  }

  /** Missing parents are made; a directory that is there is no error. */
  makeDirectory(path: string): boolean {
    const { node } = this.#find(path);
    if ((node.state === 'present' && node.kind === 'file') || !this.#makeParents(path)) return false;
    this.#make(node, 'directory');
    return true;
  }

  /** Missing parents are made, a file that is there is replaced. */
  createFile(path: string): boolean {
    const { node } = this.#find(path);
    if ((node.state === 'present' && node.kind === 'directory') || !this.#makeParents(path)) return false;
    this.#make(node, 'file');
    return true;
  }

  remove(path: string): boolean {
    const { parent, name, node } = this.#find(path);
    if (path === '/' || !this.#require(node, 'any')) return false;
    bury(parent, name);
    return true;
  }

  /** Into a directory that is there, else to the very place. What would replace something is not possible. */
  move(from: string, to: string): boolean {
    if (from === '/' || to === from || to.startsWith(`${from}/`)) return false;
    const source = this.#find(from);
    const given = this.#find(to);
    const isInto = given.node.state === 'present' && given.node.kind === 'directory';
    const parent = isInto ? given.node : given.parent;
    const name = isInto ? source.name : given.name;
    const replaced = parent.child(name);
    const isTaken = replaced.state === 'present' || replaced === source.node || isAround(replaced, source.node);
    if (isTaken || !canBe(source.node, 'any') || !canBe(parent, 'directory')) return false;
    this.#require(source.node, 'any');
    this.#require(parent, 'directory');
    bury(source.parent, source.name);
    replaced.state = 'absent';
    replaced.isNew = true;
    parent.children?.set(name, source.node);
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

  #find(path: string): Place {
    let parent = this.#root;
    if (path === '/') return { parent, name: '', node: parent };
    let start = 1;
    for (let end = path.indexOf('/', 1); end >= 0; end = path.indexOf('/', start)) {
      parent = parent.child(path.slice(start, end));
      start = end + 1;
    }
    const name = path.slice(start);
    return { parent, name, node: parent.child(name) };
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

  /** False when one of them is a file. One that was looked at before was there: who writes a file looks for its directory first. */
  #makeParents(path: string): boolean {
    const chain: Node[] = [];
    let at = this.#root;
    let start = 1;
    for (let end = path.indexOf('/', 1); end >= 0; end = path.indexOf('/', start)) {
      at = at.child(path.slice(start, end));
      if (at.state === 'present' && at.kind === 'file') return false;
      chain.push(at);
      start = end + 1;
    }
    for (const node of chain) {
      if (node.state === 'unknown' && node.hint !== 'none' && isFree(node)) {
        node.kind = 'directory';
        this.#makeOld(node);
      } else this.#make(node, 'directory');
    }
    return true;
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
    // A directory that is made once more may have been there; a file has nothing in it.
    if (kind === 'file') node.mayBeOld = false;
  }
}

/** What was there is gone; what comes to this place later is new. */
function bury(parent: Node, name: string): void {
  parent.children?.set(name, new Node(null, name, false));
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
