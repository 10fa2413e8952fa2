/** Directories and paths of the command line: where the load tool may make its own directory, and what it may read. */
import { closeSync, openSync, readSync } from 'node:fs';
import { UsageError } from '../../commands/usage.ts';
import { plainText } from '../result/format.ts';
import { MAX_PATH_BYTES } from './layout.ts';
import { OPERATION_NAMES } from './operations.ts';
import type { Target } from './plan.ts';

/** Each target has cells of its own in every thread, see thread/recorder.ts. */
const MAX_TARGETS = 256;
const MAX_PATHS = 1_000_000;
const MAX_PATHS_FILE_BYTES = 256 * 1024 * 1024;
const READ_BYTES = 65_536;
/** HDFS refuses deeper paths. */
const MAX_PATH_DEPTH = 1000;
/** Left for the names of the load tool's own files. */
const OWN_BYTES = 64;
const MAX_NAME_CHARACTERS = 100;
/** Of a path that an error message shows. */
const MAX_SHOWN_CHARACTERS = 80;

/**
 * Targets of `[NAME=]/directory` each. Names default to the directory. `ownName` is the last component of the directory that the run makes
 * in each.
 */
export function parseTargets(texts: readonly string[], ownName: string): Target[] {
  if (texts.length > MAX_TARGETS) {
    throw new UsageError(`--mounts: ${texts.length} directories, at most ${MAX_TARGETS} are possible`);
  }
  const targets = texts.map((text) => parseTarget(text.trim(), ownName));
  refuseRepeated(targets.map(({ directory }) => directory));
  refuseRepeated(targets.map(({ name }) => name));
  return targets;
}

function parseTarget(text: string, ownName: string): Target {
  const slash = text.indexOf('/');
  const equals = text.indexOf('=');
  const isNamed = equals >= 0 && (slash < 0 || equals < slash);
  const directory = (isNamed ? text.slice(equals + 1) : text).replace(/\/+$/, '');
  const name = isNamed ? text.slice(0, equals) : directory;
  if (slash < 0) throw new UsageError(`--mounts ${text}: write /directory or NAME=/directory`);
  if (directory === '') {
    throw new UsageError(
      '--mounts /: everything would be its to change; give a directory in which it may make its own, for instance /tmp',
    );
  }
  if (name === '' || (isNamed && name.length > MAX_NAME_CHARACTERS)) {
    throw new UsageError(`--mounts ${text}: a name has 1 to ${MAX_NAME_CHARACTERS} characters`);
  }
  if (OPERATION_NAMES.some((operation) => operation === name)) {
    throw new UsageError(`--mounts ${text}: ${name} is the name of an operation; give the mount another name`);
  }
  const fault = findPathFault(directory, MAX_PATH_BYTES - OWN_BYTES);
  if (fault !== null) throw new UsageError(`--mounts ${text}: ${fault}`);
  return { name, directory, own: `${directory}/${ownName}` };
}

function refuseRepeated(texts: readonly string[]): void {
  const seen = new Set<string>();
  for (const text of texts) {
    if (seen.has(text)) throw new UsageError(`--mounts: ${text} is given twice`);
    seen.add(text);
  }
}

/** Paths of --paths: a list with commas, or @FILE with one path a line. */
export function readPaths(text: string): string[] {
  const file = text.startsWith('@') ? text.slice(1) : null;
  const paths = file === null ? text.split(',') : readPathsFile(file);
  const places = paths.map((path, index) => ({ path, place: file === null ? '--paths' : `${file}:${index + 1}` }));
  const given = places.filter(({ path }) => path !== '');
  if (given.length === 0) throw new UsageError(`--paths ${text}: there is no path in it`);
  if (given.length > MAX_PATHS) {
    throw new UsageError(`--paths ${text}: ${given.length} paths, at most ${MAX_PATHS} are possible`);
  }
  return given.map(({ path, place }) => {
    const fault = path === '/' ? null : findPathFault(path, MAX_PATH_BYTES);
    if (fault !== null) throw new UsageError(`${place}: ${plainText(path, MAX_SHOWN_CHARACTERS)}: ${fault}`);
    return path;
  });
}

function readPathsFile(file: string): string[] {
  try {
    const bytes = readAtMost(file, MAX_PATHS_FILE_BYTES);
    if (bytes === null) {
      throw new UsageError(`--paths @${file}: longer than ${MAX_PATHS_FILE_BYTES} bytes; give fewer paths`);
    }
    // Some editors begin a file with a byte order mark.
    return bytes
      .toString('utf8')
      .replace(/^\ufeff/, '')
      .split(/\r?\n/);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--paths @${file}: ${reason}; name a file with one path a line`);
  }
}

/** The file, which may be a pipe and have no size; null when it is longer, without reading on. Throws the error of the file system. */
function readAtMost(file: string, maxBytes: number): Buffer | null {
  const descriptor = openSync(file, 'r');
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    for (;;) {
      const chunk = Buffer.allocUnsafe(READ_BYTES);
      const read = readSync(descriptor, chunk);
      if (read === 0) return Buffer.concat(chunks, length);
      length += read;
      if (length > maxBytes) return null;
      chunks.push(chunk.subarray(0, read));
    }
  } finally {
    closeSync(descriptor);
  }
}

/** What is wrong with an absolute HDFS path, null when nothing is. */
function findPathFault(path: string, maxBytes: number): string | null {
  if (!path.startsWith('/')) return 'not an absolute path: it must begin with /';
  if (Buffer.byteLength(path) > maxBytes) return `longer than ${maxBytes} bytes`;
  const components = path.slice(1).split('/');
  if (components.length > MAX_PATH_DEPTH) return `deeper than ${MAX_PATH_DEPTH} directories`;
  if (components.some((component) => component === '' || component === '.' || component === '..')) {
    return "HDFS knows no empty component, no '.' and no '..' in a path";
  }
  if (path.includes(':') || path.includes('\0')) return "HDFS knows no ':' in a path";
  return null;
}
