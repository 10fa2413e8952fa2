/**
 * Reads the directory of Hadoop's file driver (StateStoreFileImpl, and StateStoreFileSystemImpl on a local path):
 *
 *   <root>/<record type>/<escaped key>     one record: the first line that is not empty, does not start with `#` and
 *                                          decodes; base64 of the protobuf bytes, read leniently
 *   <root>/<record type>/<escaped key>.<ms>.tmp   a write under way, ignored
 *
 * Names are never trusted, the key is in the record. A record that cannot be read is reported and skipped; the others count. Only a
 * store that cannot be read as a whole throws.
 */
import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { MountDefaults, MountEntry } from '../mount/entry.ts';
import {
  type Decoded,
  type DisabledNameserviceRecord,
  decodeDisabledNameservice,
  decodeMembership,
  decodeMount,
  decodeRouter,
  type MembershipRecord,
  type MountRecord,
  type RecordType,
  type RouterRecord,
} from './records.ts';

/** Most files of one record type. */
export const MAX_RECORDS = 1_000_000;
/** Longest file of one record: a mount with its most destinations at their longest has 24 MiB, usual ones 200 bytes. */
export const MAX_RECORD_BYTES = 64 * 1024 * 1024;

/** The store as a whole cannot be read; the message names the place and the remedy. */
export class StateStoreError extends Error {
  override readonly name = 'StateStoreError';
}

/** A file that was skipped, or read with a remark. */
export interface RecordProblem {
  readonly file: string;
  readonly reason: string;
}

export interface RecordsRead<T> {
  readonly records: T[];
  readonly problems: RecordProblem[];
}

/** Turns a record's key into its file name, as all drivers do. */
export function escapeKey(key: string): string {
  return key.replaceAll('/', '0SLASH0').replaceAll(':', '_');
}

/** The mount table. Of two records of one source path the one modified last counts, the other is reported. */
export function readMountTable(
  root: string,
  defaults: MountDefaults,
): { entries: MountEntry[]; problems: RecordProblem[] } {
  const problems: RecordProblem[] = [];
  const bySource = new Map<string, { record: MountRecord; file: string }>();
  for (const read of readType(root, 'MountTable', (bytes) => decodeMount(bytes, defaults), problems)) {
    const { sourcePath, dateModified } = read.record.entry;
    const other = bySource.get(sourcePath);
    if (other === undefined) {
      bySource.set(sourcePath, read);
      continue;
    }
    const newer = dateModified > other.record.entry.dateModified;
    if (newer) bySource.set(sourcePath, read);
    const [lost, kept] = newer ? [other, read] : [read, other];
    problems.push({
      file: lost.file,
      reason: `mount '${sourcePath}' is also in ${kept.file}, which is used; remove one of them`,
    });
  }
  return { entries: Array.from(bySource.values(), ({ record }) => record.entry), problems };
}

/** NameNodes as the routers last saw them. */
export function readMemberships(root: string): RecordsRead<MembershipRecord> {
  return readAll(root, 'MembershipState', decodeMembership);
}

export function readRouters(root: string): RecordsRead<RouterRecord> {
  return readAll(root, 'RouterState', decodeRouter);
}

export function readDisabledNameservices(root: string): RecordsRead<DisabledNameserviceRecord> {
  return readAll(root, 'DisabledNameservice', decodeDisabledNameservice);
}

function readAll<T>(root: string, type: RecordType, decode: (bytes: Buffer) => Decoded<T>): RecordsRead<T> {
  const problems: RecordProblem[] = [];
  const records = readType(root, type, decode, problems).map(({ record }) => record);
  return { records, problems };
}

/** All records of a type in the order of their file names; what goes wrong is added to `problems`. */
function readType<T>(
  root: string,
  type: RecordType,
  decode: (bytes: Buffer) => Decoded<T>,
  problems: RecordProblem[],
): { record: T; file: string }[] {
  const directory = join(root, type);
  const records: { record: T; file: string }[] = [];
  for (const name of listRecords(root, directory, problems)) {
    const file = join(directory, name);
    try {
      const { record, remarks } = decodeFile(file, decode);
      records.push({ record, file });
      for (const reason of remarks) problems.push({ file, reason });
    } catch (error) {
      problems.push({ file, reason: reasonOf(error) });
    }
  }
  return records;
}

/** Names of the files that should hold records, sorted. A type directory that is not there yet has none. */
function listRecords(root: string, directory: string, problems: RecordProblem[]): string[] {
  let files: Dirent[];
  try {
    files = readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && isDirectory(root)) return [];
    throw new StateStoreError(
      `State Store directory ${directory}: ${reasonOf(error)}; make it readable or correct dfs.federation.router.store.driver.file.directory`,
    );
  }
  if (files.length > MAX_RECORDS) {
    throw new StateStoreError(
      `State Store directory ${directory} has ${files.length} files, at most ${MAX_RECORDS} are read; remove some`,
    );
  }
  const names: string[] = [];
  for (const file of files) {
    // Checksum files are left beside records by Hadoop's local FileSystem, which hides them.
    if (file.name.endsWith('.tmp') || (file.name.startsWith('.') && file.name.endsWith('.crc'))) continue;
    if (file.isFile() || file.isSymbolicLink()) names.push(file.name);
    else
      problems.push({
        file: join(directory, file.name),
        reason: 'not a file; remove it, Java routers cannot read the store with it',
      });
  }
  return names.sort();
}

function decodeFile<T>(file: string, decode: (bytes: Buffer) => Decoded<T>): Decoded<T> {
  const status = statSync(file);
  if (!status.isFile()) throw new Error('not a file; remove it, Java routers cannot read the store with it');
  if (status.size > MAX_RECORD_BYTES)
    throw new Error(`${status.size} bytes long, at most ${MAX_RECORD_BYTES} are read`);
  let first: unknown;
  for (const line of readFileSync(file, 'latin1').split(/\r\n|\r|\n/)) {
    if (line === '' || line.startsWith('#')) continue;
    try {
      return decode(Buffer.from(line, 'base64'));
    } catch (error) {
      first ??= error;
    }
  }
  throw first ?? new Error('no record in it; remove it or write the record again');
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
