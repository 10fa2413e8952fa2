/**
 * The directory of Hadoop's file driver (StateStoreFileImpl, and StateStoreFileSystemImpl on a local path):
 *
 *   <root>/<record type>/<escaped key>            one record: the first line that is not empty, does not start with `#` and
 *                                                 decodes; base64 of the protobuf bytes, read leniently
 *   <root>/<record type>/<escaped key>.<ms>.tmp   a write under way
 *
 * Written under the temporary name, then renamed, or linked where the record must be new: a reader sees a whole record or none, and of
 * several writers of a new record one succeeds. Any number of processes may do so at once; the last update counts.
 */
import type { Dirent } from 'node:fs';
import { type FileHandle, link, mkdir, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import {
  MAX_RECORDS,
  type PutOptions,
  type RawRecord,
  type ReadResult,
  reasonOf,
  StateStoreError,
  type StoreDriver,
  type StoreProblem,
} from './driver.ts';
import { unusableNameReason } from './record-names.ts';
import { isRecord, RECORD_TYPES, type RecordType, stampModified } from './records.ts';

/** Longest file of one record: a mount with its most destinations at their longest has 24 MiB, usual ones 200 bytes. */
export const MAX_RECORD_BYTES = 64 * 1024 * 1024;
/** Files read at the same time. */
const READS_AT_ONCE = 16;
/** Names tried for one temporary file: others may write the same record in the same millisecond. */
const MAX_TEMPORARY_NAMES = 100;
/** Attempts of a write whose temporary file others remove: readers whose clocks are ahead take it for an abandoned one. */
const MAX_WRITE_ATTEMPTS = 5;
/** Age from which a temporary file has no writer any more. */
const ABANDONED_AFTER_MS = 10_000;
const TEMPORARY = /.\.(\d+)\.tmp$/;
const KEY = 'dfs.federation.router.store.driver.file.directory';
const IS_DIRECTORY = 'not a file; remove it, Java routers cannot read the store with it';

/** Failures of the machine or of the file system, not of one file: what is stored is not known then. */
const STORE_FAILURES: ReadonlySet<string> = new Set([
  'EIO',
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'ENOTCONN',
  'EHOSTDOWN',
  'ESTALE',
  'ETIMEDOUT',
]);

/** What other routers do not write anew within seconds is flushed to the disk before it takes its name. */
const DURABLE: ReadonlySet<RecordType> = new Set(['MountTable', 'DisabledNameservice']);

export class FileDriver implements StoreDriver {
  readonly isVersioned = false;
  readonly #root: string;
  #isReady = false;
  onChange: (type: RecordType) => void = () => {};

  /** `root` must exist: a file system that is not mounted is not an empty store. */
  constructor(root: string) {
    this.#root = root;
  }

  get ready(): boolean {
    return this.#isReady;
  }

  /** Makes the directories of the record types. */
  async start(): Promise<void> {
    for (const type of Object.keys(RECORD_TYPES) as RecordType[]) await this.#makeTypeDirectory(type);
    this.#isReady = true;
  }

  async close(): Promise<void> {
    this.#isReady = false;
  }

  async readAll(type: RecordType): Promise<ReadResult> {
    const directory = join(this.#root, type);
    const problems: StoreProblem[] = [];
    const files = await this.#list(directory, problems);
    const records: (RawRecord | null)[] = new Array(files.length).fill(null);
    let next = 0;
    const readNext = async (): Promise<void> => {
      while (next < files.length) {
        const at = next++;
        const file = files[at] as Dirent;
        const place = join(directory, file.name);
        try {
          const bytes = await readRecord(type, place);
          records[at] = { name: file.name, place, bytes, createdMs: null, modifiedMs: null, version: 0 };
        } catch (error) {
          const code = codeOf(error);
          // Removed since the directory was listed.
          if (code === 'ENOENT' && !file.isSymbolicLink()) continue;
          if (STORE_FAILURES.has(code)) throw this.#error(place, error);
          problems.push({ name: file.name, place, reason: reasonOf(error) });
        }
      }
    };
    await Promise.all(Array.from({ length: READS_AT_ONCE }, readNext));
    problems.sort((a, b) => (a.name < b.name ? -1 : 1));
    return { records: records.filter((record) => record !== null), problems };
  }

  async put(type: RecordType, name: string, bytes: Buffer, options: PutOptions): Promise<boolean> {
    const file = this.#fileOf(type, name);
    const replaces = options.update || options.version !== undefined;
    const exists = await this.#exists(file);
    if (exists && !replaces) return !options.errorIfExists;
    if (!exists && options.version !== undefined) return false;
    const stored = exists ? stampModified(type, bytes, Date.now()) : bytes;
    for (let attempt = 1; ; attempt++) {
      const temporary = await this.#writeTemporary(type, file, stored.toString('base64'));
      let isNamed = false;
      try {
        if (replaces) {
          await rename(temporary, file);
          isNamed = true;
          return true;
        }
        return (await nameAsNew(temporary, file)) || !options.errorIfExists;
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || attempt === MAX_WRITE_ATTEMPTS) throw this.#error(file, error);
      } finally {
        if (!isNamed) await unlink(temporary).catch(() => {});
      }
    }
  }

  async remove(type: RecordType, name: string): Promise<boolean> {
    const file = this.#fileOf(type, name);
    try {
      await unlink(file);
      return true;
    } catch (error) {
      if (codeOf(error) === 'ENOENT' && (await isDirectory(this.#root))) return false;
      throw this.#error(file, error);
    }
  }

  /** Files that should hold records, by name. A type directory that is not there yet has none. */
  async #list(directory: string, problems: StoreProblem[]): Promise<Dirent[]> {
    let found: Dirent[];
    try {
      found = await readdir(directory, { withFileTypes: true });
    } catch (error) {
      if (codeOf(error) === 'ENOENT' && (await isDirectory(this.#root))) return [];
      throw this.#error(directory, error);
    }
    if (found.length > MAX_RECORDS) {
      throw this.#error(directory, `${found.length} files, at most ${MAX_RECORDS} are read; remove some`);
    }
    const files: Dirent[] = [];
    const nowMs = Date.now();
    for (const file of found) {
      const { name } = file;
      if (name.endsWith('.tmp')) {
        const writtenMs = TEMPORARY.exec(name)?.[1];
        if (writtenMs !== undefined && nowMs - Number(writtenMs) > ABANDONED_AFTER_MS) {
          await unlink(join(directory, name)).catch(() => {});
        }
      } else if (isChecksum(name)) {
        // Left beside records by Hadoop's local FileSystem, which hides them.
      } else if (file.isFile() || file.isSymbolicLink()) files.push(file);
      else problems.push({ name, place: join(directory, name), reason: IS_DIRECTORY });
    }
    return files.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Writes all of the text under a name that readers pass over, and returns that name. */
  async #writeTemporary(type: RecordType, file: string, text: string): Promise<string> {
    const { temporary, handle } = await this.#openTemporary(type, file);
    try {
      await handle.writeFile(text, 'latin1');
      if (DURABLE.has(type)) await handle.datasync();
      await handle.close();
      return temporary;
    } catch (error) {
      await handle.close().catch(() => {});
      await unlink(temporary).catch(() => {});
      throw this.#error(file, error);
    }
  }

  async #openTemporary(type: RecordType, file: string): Promise<{ temporary: string; handle: FileHandle }> {
    const nowMs = Date.now();
    let made = false;
    for (let i = 0; i < MAX_TEMPORARY_NAMES; i++) {
      const temporary = `${file}.${nowMs + i}.tmp`;
      try {
        return { temporary, handle: await open(temporary, 'wx') };
      } catch (error) {
        const code = codeOf(error);
        if (code === 'EEXIST') continue;
        if (code !== 'ENOENT' || made) throw this.#error(file, error);
        made = true;
        await this.#makeTypeDirectory(type);
      }
    }
    throw this.#error(file, `${MAX_TEMPORARY_NAMES} writes to it are under way`);
  }

  async #makeTypeDirectory(type: RecordType): Promise<void> {
    const directory = join(this.#root, type);
    try {
      await mkdir(directory);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw this.#error(directory, error);
      if (!(await isDirectory(directory))) throw this.#error(directory, 'not a directory');
    }
  }

  async #exists(file: string): Promise<boolean> {
    try {
      await stat(file);
      return true;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return false;
      throw this.#error(file, error);
    }
  }

  #fileOf(type: RecordType, name: string): string {
    const reason = unusableNameReason(name) ?? (isPassedOver(name) ? 'readers pass over such a name' : null);
    if (reason !== null) throw new StateStoreError(`State Store record '${name}': ${reason}; choose another`);
    return join(this.#root, type, name);
  }

  #error(place: string, error: unknown): StateStoreError {
    const text = `State Store, ${place}: ${reasonOf(error)}; ${remedyFor(codeOf(error))}`;
    return new StateStoreError(text, error instanceof Error ? { cause: error } : {});
  }
}

/** Gives a file its name unless another has it. */
async function nameAsNew(temporary: string, file: string): Promise<boolean> {
  try {
    await link(temporary, file);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST') return false;
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP' && code !== 'ENOSYS') throw error;
  }
  // A file system without links: as Java does it, with a gap in which two may succeed.
  if ((await stat(file).catch(() => null)) !== null) return false;
  await rename(temporary, file);
  return true;
}

/** Protobuf bytes of the first line that can be a record. */
async function readRecord(type: RecordType, file: string): Promise<Buffer> {
  const status = await stat(file);
  if (!status.isFile()) throw new Error(IS_DIRECTORY);
  if (status.size > MAX_RECORD_BYTES)
    throw new Error(`${status.size} bytes long, at most ${MAX_RECORD_BYTES} are read`);
  const lines = (await readFile(file, 'latin1')).split(/\r\n|\r|\n/);
  let first: Buffer | null = null;
  for (const line of lines) {
    if (line === '' || line.startsWith('#')) continue;
    const bytes = Buffer.from(line, 'base64');
    if (lines.length === 1 || isRecord(type, bytes)) return bytes;
    first ??= bytes;
  }
  if (first === null) throw new Error('no record in it; remove it or write the record again');
  return first;
}

function isPassedOver(name: string): boolean {
  return name.endsWith('.tmp') || isChecksum(name);
}

function isChecksum(name: string): boolean {
  return name.startsWith('.') && name.endsWith('.crc');
}

async function isDirectory(path: string): Promise<boolean> {
  const status = await stat(path).catch(() => null);
  return status?.isDirectory() === true;
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? '';
}

function remedyFor(code: string): string {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return 'make room on that file system';
    case 'EACCES':
    case 'EPERM':
      return "give the router's user the right to read and write there";
    case 'EROFS':
      return 'mount that file system writable';
    case 'ENAMETOOLONG':
      return 'a shorter path is needed';
    case 'EMFILE':
    case 'ENFILE':
      return 'allow more open files';
    default:
      return `make it readable and writable, or correct ${KEY}`;
  }
}
