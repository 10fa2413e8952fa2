import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReplayTree } from '../../src/load/replay/tree.ts';

/** `path` for a file, `path/` for a directory, with `:owner`. */
function startOf(tree: ReplayTree): string[] {
  return tree
    .startEntries()
    .map(({ path, isDirectory, owner }) => `${path}${isDirectory ? '/' : ''}${owner === null ? '' : `:${owner}`}`)
    .sort();
}

type Step = (tree: ReplayTree) => boolean;
const open =
  (path: string): Step =>
  (tree) =>
    tree.use(path, 'file');
const stat =
  (path: string): Step =>
  (tree) =>
    tree.look(path, 'file');
const list =
  (path: string): Step =>
  (tree) =>
    tree.look(path, 'directory');
const create =
  (path: string): Step =>
  (tree) =>
    tree.createFile(path);
const mkdirs =
  (path: string): Step =>
  (tree) =>
    tree.makeDirectory(path);
const remove =
  (path: string): Step =>
  (tree) =>
    tree.remove(path);
const move =
  (from: string, to: string): Step =>
  (tree) =>
    tree.move(from, to);
const chmod =
  (path: string, user: string): Step =>
  (tree) =>
    tree.own(path, user);

function follow(...steps: Step[]): { start: string[]; possible: boolean[] } {
  const tree = new ReplayTree();
  const possible = steps.map((step) => step(tree));
  return { start: startOf(tree), possible };
}

describe('what was there before a log', () => {
  it.each<[string, Step[], string[]]>([
    ['what is opened, and the way to it', [open('/a/b/f')], ['/a/', '/a/b/', '/a/b/f']],
    ['not what the log creates', [create('/f'), open('/f')], []],
    ['not what was deleted and is made again on the way', [remove('/d'), create('/d/e/f'), open('/d/e/f')], ['/d']],
    ['not what it makes', [mkdirs('/a'), create('/a/f'), remove('/a')], []],
    ['what is around that', [mkdirs('/a/b'), create('/c/f')], ['/a/', '/c/']],
    ['what is deleted', [remove('/a/f')], ['/a/', '/a/f']],
    ['what is moved, and the directory that takes it', [move('/a/f', '/b/g')], ['/a/', '/a/f', '/b/']],
    ['what is changed, with its owner', [chmod('/f', 'bob'), chmod('/f', 'root')], ['/f:bob']],
    ['what is looked at and never made', [stat('/a/f'), list('/d')], ['/a/', '/a/f', '/d/']],
    ['not what is looked at before it is made', [stat('/f'), list('/d'), create('/f'), mkdirs('/d')], []],
    ['not what is looked at in a directory that is made later', [stat('/d/f'), mkdirs('/d')], []],
    ['not what is looked at in a directory that was made just now', [mkdirs('/d'), stat('/d/f')], []],
    ['not where something is moved to', [mkdirs('/d'), stat('/d/f'), open('/f'), move('/f', '/d/f')], ['/f']],
    ['a directory that was looked at before something came into it', [stat('/d'), create('/d/f')], ['/d/']],
    ['a listed path that is opened is a file', [list('/f'), open('/f')], ['/f']],
    ['a path that is looked at and holds something is a directory', [stat('/d'), open('/d/f')], ['/d/', '/d/f']],
    ['a deleted path that held something', [stat('/d/f'), remove('/d')], ['/d/', '/d/f']],
    ['a directory that is made although it holds something', [mkdirs('/d'), open('/d/f')], ['/d/', '/d/f']],
    ['a part of something moved, at its first place', [move('/a', '/b'), open('/b/f')], ['/a/', '/a/f']],
    ['also after two moves', [move('/a', '/b'), move('/b/c', '/e'), open('/e/f')], ['/a/', '/a/c/', '/a/c/f']],
    ['what is moved into a directory', [mkdirs('/d'), move('/f', '/d'), open('/d/f')], ['/f']],
    ['not what comes again after a deletion', [remove('/f'), create('/f'), open('/f')], ['/f']],
    ['a file that is written over', [open('/f'), create('/f')], ['/f']],
  ])('%s', (_, steps, start) => {
    const followed = follow(...steps);
    expect(followed.possible).toEqual(steps.map(() => true));
    expect(followed.start).toEqual(start);
  });

  it.each<[string, Step[]]>([
    ['opening what was deleted', [remove('/f'), open('/f')]],
    ['opening something in what was deleted', [remove('/d'), open('/d/f')]],
    ['opening what was moved away', [move('/f', '/g'), open('/f')]],
    ['opening a directory', [open('/d/f'), open('/d')]],
    ['writing over a directory', [mkdirs('/d'), create('/d')]],
    ['writing below a file', [open('/f'), create('/f/g')]],
    ['making a directory of a file', [create('/f'), mkdirs('/f')]],
    ['something below a file that was created', [create('/f'), open('/f/g')]],
    ['moving over a file', [open('/f'), move('/g', '/f')]],
    ['moving into itself', [mkdirs('/d'), move('/d', '/d/e')]],
    ['moving to where nothing is', [remove('/d'), move('/f', '/d/f')]],
    ['moving what is not there', [remove('/f'), move('/f', '/g')]],
    ['deleting twice', [remove('/f'), remove('/f')]],
    ['deleting the root', [remove('/')]],
    ['moving the root', [move('/', '/d')]],
    ['moving something up to its own directory', [move('/d/f', '/d')]],
    ['moving something to the root, where it is', [move('/f', '/')]],
  ])('%s is not possible, and changes nothing', (_, steps) => {
    const before = steps.slice(0, -1);
    const { start, possible } = follow(...steps);
    expect(possible).toEqual([...before.map(() => true), false]);
    expect(start).toEqual(follow(...before).start);
  });

  it('lists directories before what is in them', () => {
    const tree = new ReplayTree();
    for (const step of [stat('/a/b/c'), open('/a/x'), move('/a', '/z'), open('/z/q/r')]) step(tree);
    const paths = tree.startEntries().map(({ path }) => path);
    for (const path of paths) {
      const parent = path.slice(0, path.lastIndexOf('/'));
      if (parent !== '') expect(paths.slice(0, paths.indexOf(path))).toContain(parent);
    }
  });
});

const lastSixteen = Array.from({ length: 16 }, (_, i) => i + 4);

it.each<[string, Step[], number[]]>([
  ['a look at what was just made', [stat('/a'), create('/f'), stat('/f')], [1]],
  ['a look at something else', [create('/f'), stat('/g')], []],
  ['looks among each other', [stat('/f'), list('/'), open('/f')], []],
  ['something in a directory that was just made', [mkdirs('/d'), stat('/x'), create('/d/f')], [0]],
  ['a directory that was made on the way', [remove('/d'), create('/d/e/f'), stat('/x'), create('/d/g')], [1]],
  ['a directory that was there anyway', [open('/d/f'), mkdirs('/d'), open('/d/g')], []],
  [
    'all that is below a deleted directory',
    [mkdirs('/d'), create('/d/f'), stat('/x'), create('/d/g'), remove('/d')],
    [0, 1, 3],
  ],
  [
    'no more of them than counts',
    [...Array.from({ length: 20 }, (_, i) => stat(`/d/${i}`)), remove('/d')],
    lastSixteen,
  ],
  ['a deletion of what was just read', [open('/f'), stat('/x'), remove('/f')], [0]],
  ['a deletion of what holds what was just read', [open('/d/f'), stat('/x'), remove('/d')], [0]],
  ['a file in the place of a deleted one', [remove('/f'), stat('/x'), create('/f')], [0]],
  ['a look into a deleted directory', [remove('/d'), stat('/x'), stat('/d/f')], [0]],
  ['what was moved', [stat('/x'), move('/a', '/b'), stat('/x'), open('/b/f')], [1]],
  ['a move of what was just read', [open('/a/f'), stat('/x'), move('/a', '/b')], [0]],
  ['a move to where something looked', [open('/a'), stat('/b'), move('/a', '/b')], [0, 1]],
  ['a file where something was moved away', [move('/a', '/b'), stat('/x'), create('/a')], [0]],
  ['a read of a file that is written over', [open('/f'), create('/f'), stat('/x'), open('/f')], [1]],
  ['a file that is written over after a read', [create('/f'), open('/f'), stat('/x'), create('/f')], [0, 1]],
  ['a file whose permission was changed', [chmod('/f', 'a'), stat('/x'), remove('/f')], [0]],
])('must not overtake an earlier call: %s', (_, steps, after) => {
  const tree = new ReplayTree();
  for (const [call, step] of steps.entries()) {
    tree.call = call;
    expect(step(tree)).toBe(true);
  }
  expect(tree.after).toEqual(after);
});

/** A file system in a map, as strict as a NameNode that makes no directories on the way: path to whether it is a directory. */
class Files {
  readonly #all = new Map<string, boolean>([['/', true]]);

  put(path: string, isDirectory: boolean): void {
    if (path === '/') return;
    if (this.#all.get(parentOf(path)) !== true) throw new Error(`no directory for ${path}`);
    this.#all.set(path, isDirectory);
  }

  apply([name, path, to]: readonly [string, string, string]): void {
    const kind = this.#all.get(path);
    switch (name) {
      case 'open':
        check(kind === false, 'not a file');
        return;
      case 'create':
        check(kind !== true, 'a directory is there');
        this.put(path, false);
        return;
      case 'mkdirs':
        check(kind !== false, 'a file is there');
        this.put(path, true);
        return;
      case 'remove':
        check(kind !== undefined, 'nothing there');
        for (const each of this.#below(path)) this.#all.delete(each);
        return;
      case 'chmod':
        check(kind !== undefined, 'nothing there');
        return;
      case 'move': {
        check(kind !== undefined, 'nothing there');
        const target = this.#all.get(to) === true ? `${to === '/' ? '' : to}${path.slice(path.lastIndexOf('/'))}` : to;
        check(!this.#all.has(target) && this.#all.get(parentOf(target)) === true, 'no place');
        for (const each of this.#below(path)) {
          this.#all.set(target + each.slice(path.length), this.#all.get(each) === true);
          this.#all.delete(each);
        }
      }
    }
  }

  #below(path: string): string[] {
    return [...this.#all.keys()].filter((each) => each === path || each.startsWith(`${path}/`));
  }
}

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')));
}

const STEPS: Readonly<Record<string, (path: string, to: string) => Step>> = {
  open,
  create,
  mkdirs,
  remove,
  move,
  stat,
  list,
  chmod: (path) => chmod(path, 'alice'),
};

const KINDS = { create: 'file', mkdirs: 'directory' } as const;

it('every call that is possible by the tree succeeds on a file system that begins with its entries', () => {
  const name = fc.constantFrom('a', 'b', 'c');
  const path = fc.array(name, { maxLength: 4 }).map((names) => `/${names.join('/')}`);
  const call = fc.tuple(fc.constantFrom(...Object.keys(STEPS)), path, path);
  fc.assert(
    fc.property(fc.array(call, { maxLength: 30 }), (calls) => {
      const tree = new ReplayTree();
      const possible = calls.flatMap((each) => {
        const [method, source, to] = each;
        const missing = method === 'create' || method === 'mkdirs' ? tree.missingAround(source, KINDS[method]) : [];
        for (const path of missing) expect(tree.makeDirectory(path)).toBe(true);
        const around = missing.map((path): typeof each => ['mkdirs', path, '']);
        if (STEPS[method]?.(source, to)(tree) === true) return [...around, each];
        expect(missing).toEqual([]);
        return [];
      });
      const files = new Files();
      for (const entry of tree.startEntries()) files.put(entry.path, entry.isDirectory);
      for (const each of possible) files.apply(each);
    }),
    { numRuns: 3000 },
  );
});
