import type { MountRecord } from './inline-router.ts';

interface Location {
  readonly nameservice: string;
  readonly path: string;
}

/** The one tree that clients see of real trees and a mount table, made by walking it: nothing of the router's own is used. */
export class PlainView {
  /** By nameservice: every file and directory, with all that is above them; true for directories. */
  readonly #real = new Map<string, Map<string, boolean>>();
  readonly #mounts: readonly MountRecord[];
  readonly #defaultNameservice: string;

  constructor(
    nameservices: readonly string[],
    trees: readonly (readonly string[])[],
    mounts: readonly MountRecord[],
    defaultNameservice: string,
    isFile: (path: string) => boolean,
  ) {
    this.#mounts = mounts;
    this.#defaultNameservice = defaultNameservice;
    for (const [i, nameservice] of nameservices.entries()) {
      const real = new Map([['/', true]]);
      for (const path of trees[i] ?? []) {
        for (const above of [...pathsAbove(path), path])
          if (above !== '') real.set(above, above !== path || !isFile(path));
      }
      this.#real.set(nameservice, real);
    }
  }

  /**
   * Files and directories seen at and below a path, each real one once; null when nothing is there. Directories of several locations of one
   * mount are one.
   */
  count(path: string): { files: number; directories: number } | null {
    const files = new Set<string>();
    const directories = new Set<string>();
    const top = this.#kindOf(path);
    if (top === null) return null;
    const waiting = [path];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const kind = this.#kindOf(next);
      const there = this.#locationsOf(next).filter((each) => this.#isThere(each));
      if (kind === 'file') for (const each of there) files.add(`${each.nameservice}:${each.path}`);
      if (kind !== 'directory') continue;
      const [only] = there;
      directories.add(there.length === 1 && only !== undefined ? `${only.nameservice}:${only.path}` : `client:${next}`);
      waiting.push(...this.#childrenOf(next));
    }
    return { files: files.size, directories: directories.size };
  }

  #kindOf(path: string): 'file' | 'directory' | null {
    if (this.#mounts.some(({ srcPath }) => srcPath === path || isBelow(srcPath, path))) return 'directory';
    const there = this.#locationsOf(path).filter((each) => this.#isThere(each));
    if (there.length === 0) return null;
    return there.some((each) => this.#real.get(each.nameservice)?.get(each.path)) ? 'directory' : 'file';
  }

  #childrenOf(path: string): Set<string> {
    const children = new Set<string>();
    const addNext = (below: string, directory: string): void => {
      if (!isBelow(below, directory)) return;
      const rest = below.slice(directory === '/' ? 1 : directory.length + 1);
      children.add(join(path, rest.split('/', 1)[0] as string));
    };
    for (const { srcPath } of this.#mounts) addNext(srcPath, path);
    for (const location of this.#locationsOf(path)) {
      for (const real of this.#real.get(location.nameservice)?.keys() ?? []) addNext(real, location.path);
    }
    return children;
  }

  #locationsOf(path: string): Location[] {
    let deepest: MountRecord | null = null;
    for (const mount of this.#mounts) {
      const covers = mount.srcPath === path || isBelow(path, mount.srcPath);
      if (covers && mount.srcPath.length >= (deepest?.srcPath.length ?? 0)) deepest = mount;
    }
    if (deepest === null) return [{ nameservice: this.#defaultNameservice, path }];
    const rest = deepest.srcPath === '/' ? path.slice(1) : path.slice(deepest.srcPath.length + 1);
    return deepest.destinations.map(({ nameserviceId, path: target }) => ({
      nameservice: nameserviceId,
      path: join(target, rest),
    }));
  }

  #isThere({ nameservice, path }: Location): boolean {
    return this.#real.get(nameservice)?.has(path) ?? false;
  }
}

/** The directory itself for an empty name. */
export function join(directory: string, name: string): string {
  if (name === '') return directory;
  return directory === '/' ? `/${name}` : `${directory}/${name}`;
}

function pathsAbove(path: string): string[] {
  const above: string[] = [];
  for (let end = path.indexOf('/', 1); end > 0; end = path.indexOf('/', end + 1)) above.push(path.slice(0, end));
  return above;
}

function isBelow(path: string, directory: string): boolean {
  return directory === '/' ? path !== '/' : path.startsWith(`${directory}/`);
}
