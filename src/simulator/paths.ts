/** Path rules of a NameNode: which names may be made, how a path falls into components. */
import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';

export const MAX_PATH_CHARACTERS = 8000;
export const MAX_PATH_LEVELS = 1000;
export const MAX_COMPONENT_BYTES = 255;

const RESERVED = '.reserved';
const INODES = '.inodes';

/** Components of an absolute path; runs of slashes and a trailing one count for nothing. Relative paths are an AssertionError. */
export function splitPath(path: string): string[] {
  if (!path.startsWith('/')) {
    throw new RemoteException(JAVA.ASSERTION, `Absolute path required, but got '${path}'`);
  }
  return path.split('/').filter((component) => component !== '');
}

/**
 * Whether a path may be created: absolute, no '//' inside (a trailing slash is fine), no component '.' or '..', no colon. '..' is
 * allowed below an inode path.
 */
export function isValidName(path: string): boolean {
  if (!path.startsWith('/')) {
    return false;
  }
  const components = path.split('/');
  const belowInode = components.length > 4 && components[1] === RESERVED && components[2] === INODES;
  const last = components.length - 1;
  return components.every(
    (component, at) =>
      component !== '.' &&
      !component.includes(':') &&
      (component !== '..' || belowInode) &&
      (component !== '' || at === 0 || at === last),
  );
}

/** The remote procedures that create paths measure them first. `operation` names the procedure in the text. */
export function checkPathLength(operation: string, path: string): void {
  if (path === '') {
    throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, 'Can not create a Path from an empty string');
  }
  if (path.length > MAX_PATH_CHARACTERS || depthOf(path) > MAX_PATH_LEVELS) {
    throw new RemoteException(
      JAVA.IO,
      `${operation}: Pathname too long.  Limit ${MAX_PATH_CHARACTERS} characters, ${MAX_PATH_LEVELS} levels.`,
    );
  }
}

function depthOf(path: string): number {
  let depth = 0;
  for (let at = 1; at < path.length; at++) {
    if (path.charCodeAt(at) !== 0x2f && path.charCodeAt(at - 1) === 0x2f) {
      depth++;
    }
  }
  return depth;
}

/** `/.reserved` itself or anything below it that is neither a raw path nor an inode path. */
export function isReservedName(components: readonly string[]): boolean {
  return components[0] === RESERVED && components[1] !== 'raw' && components[1] !== INODES;
}

/** `/.reserved/raw/...`: the same tree, seen without encryption. */
export function isRawPath(components: readonly string[]): boolean {
  return components[0] === RESERVED && components[1] === 'raw';
}

/** `/.reserved/.inodes/ID/...` */
export function isInodePath(components: readonly string[]): boolean {
  return components.length > 2 && components[0] === RESERVED && components[1] === INODES;
}

/**
 * Order of names in a directory: by their UTF-8 bytes, unsigned. UTF-16 code units compare the same way except that surrogates (which
 * stand for code points above U+FFFF) must come after U+E000..U+FFFF.
 */
export function compareNames(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  for (let at = 0; at < end; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) {
      return rank(left) - rank(right);
    }
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
