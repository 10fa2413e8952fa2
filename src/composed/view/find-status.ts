import {
  addChildren,
  ENTRIES_OK,
  EntryScan,
  entrySize,
  NO_CHILDREN_NUM,
  scanStatus,
  writeEntry,
} from '../../wire/listing-scan.ts';
import type { Answer, Failed } from '../answer.ts';
import { type AskOptions, type Composition, MAX_PARTS_AT_ONCE, type Target } from '../composition.ts';
import type { Request } from '../request.ts';
import { unreadable } from '../unreadable.ts';

/** A status that locations gave: the response message of getFileInfo or one of its kin, and where the status lies in it. */
export interface FoundStatus {
  readonly body: Buffer;
  readonly scan: EntryScan;
}

export interface StatusSearch {
  readonly found: FoundStatus | null;
  /** Locations that gave no answer, one that cannot be read, or another exception than one of missing files. */
  readonly failures: readonly Failed[];
}

/** The scanned answer: without entries when there is no status. Null when it cannot be read. */
function scanAnswer(body: Buffer): EntryScan | null {
  const scan = new EntryScan();
  return scanStatus(body, 0, body.length, scan) === ENTRIES_OK ? scan : null;
}

/** The answer's status; null when it has none, or cannot be read. */
export function statusIn(body: Buffer): FoundStatus | null {
  const scan = scanAnswer(body);
  return scan === null || scan.count === 0 ? null : { body, scan };
}

/**
 * The status of a path over its locations. Where directories exist everywhere all are asked at once: the first file in their order wins,
 * before those behind it have answered, else the first directory with the children of all. Otherwise one after the other is asked until
 * one has the path.
 */
export async function findStatus(
  c: Composition,
  request: Request,
  targets: readonly Target[],
  everywhere: boolean,
  isMissing: (answer: Answer) => boolean,
  options: AskOptions = {},
): Promise<StatusSearch> {
  const failures: Failed[] = [];
  const found: FoundStatus[] = [];
  const isAtOnce = everywhere && targets.length <= MAX_PARTS_AT_ONCE;
  const early = isAtOnce ? targets.map((target) => c.ask(request, target, options)) : null;
  const all = everywhere && early === null ? await c.askAll(request, targets, options) : null;
  for (const [i, target] of targets.entries()) {
    const answer = all?.[i] ?? (await (early?.[i] ?? c.ask(request, target, options)));
    if (!answer.ok) {
      if (!isMissing(answer)) failures.push(answer);
      continue;
    }
    const scan = scanAnswer(answer.body);
    if (scan === null) failures.push(unreadable(c, answer, request.method, 'is not valid'));
    if (scan === null || scan.count === 0) continue;
    const status = { body: answer.body, scan };
    if (!everywhere || !status.scan.isDirectory(0)) return { found: status, failures };
    found.push(status);
  }
  return { found: sumChildren(found), failures };
}

/** One status of those that the locations gave, in their order: a file before directories, directories with the children of all. */
export function chooseStatus(statuses: readonly FoundStatus[], everywhere: boolean): FoundStatus | null {
  if (!everywhere) return statuses[0] ?? null;
  return statuses.find(({ scan }) => !scan.isDirectory(0)) ?? sumChildren(statuses);
}

function sumChildren(directories: readonly FoundStatus[]): FoundStatus | null {
  const [first] = directories;
  if (first === undefined || directories.length === 1) return first ?? null;
  let sum = 0;
  for (const { scan } of directories) sum = addChildren(sum, scan.childrenOf(0));
  const body = Buffer.allocUnsafe(entrySize(first.scan, 0, sum));
  writeEntry(body, 0, first.body, first.scan, 0, sum);
  return statusIn(body);
}

/** The response message with the status alone. */
export function statusBody({ body, scan }: FoundStatus): Buffer {
  const out = Buffer.allocUnsafe(entrySize(scan, 0, NO_CHILDREN_NUM));
  writeEntry(out, 0, body, scan, 0, NO_CHILDREN_NUM);
  return out;
}
