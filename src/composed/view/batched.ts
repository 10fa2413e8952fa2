import { createHash } from 'node:crypto';
import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import { LISTING_HEAD_BYTES, writeStatus } from '../../wire/listing-scan.ts';
import { decodePlain, encode, MessageError, messageType, type Plain } from '../../wire/messages.ts';
import { FILE_NOT_FOUND } from '../answer.ts';
import { type Composition, compose, type Outcome } from '../composition.ts';
import { locate } from '../locate.ts';
import { Refused } from '../refused.ts';
import { clientMethod } from '../request.ts';
import { type Listed, listPage } from './directory.ts';

/** `dfs.namenode.batched.listing.limit` and `dfs.ls.limit` of a NameNode. */
export const MAX_BATCHED_PATHS = 100;
const ENTRIES_PER_PAGE = 1_000;
/** Paths listed at once; the first of a page alone, for one large directory fills it. */
const MAX_PATHS_AT_ONCE = 16;

const ILLEGAL_ARGUMENT = 'java.lang.IllegalArgumentException';
const KEY = 'hadoop.hdfs.BatchedListingKeyProto';
const BATCH = 'hadoop.hdfs.BatchedDirectoryListingProto';
const NOTHING = Buffer.alloc(0);
const CHECKSUM_BYTES = 16;

interface Cursor {
  /** Path to go on with. */
  readonly index: number;
  /** Name in it to go on after; empty for its first page. */
  readonly startAfter: Buffer;
}

/**
 * getBatchedListing: one page over several paths, as a NameNode makes it: listings in the order of the paths until a page is full, an exception
 * for each path that cannot be listed, and a cursor that holds the paths' checksum, so that it cannot go on with others.
 */
export function answerBatchedListing(engine: Engine, call: Call): void {
  compose(engine, call, batchOf);
}

async function batchOf(c: Composition): Promise<Outcome> {
  const { paths, startAfter, needLocation } = c.request() as {
    paths: string[];
    startAfter: Buffer;
    needLocation: boolean;
  };
  if (paths.length > MAX_BATCHED_PATHS) {
    throw new Refused(ILLEGAL_ARGUMENT, `Too many source paths (${paths.length} > ${MAX_BATCHED_PATHS})`);
  }
  const checksum = checksumOf(paths);
  let { index, startAfter: from } = readCursor(Buffer.from(startAfter), checksum);
  const listings: Buffer[] = [];
  let entries = 0;
  let last: Listed | null = null;
  let atOnce = 1;
  while (index < paths.length && entries < ENTRIES_PER_PAGE) {
    const some = paths.slice(index, index + atOnce);
    const first = from;
    const pages = await Promise.all(some.map((path, i) => pageOf(c, path, i === 0 ? first : NOTHING, needLocation)));
    for (const page of pages) {
      if (entries >= ENTRIES_PER_PAGE) break;
      last = page instanceof Refused ? null : page;
      listings.push(page instanceof Refused ? failureOf(page, index) : listingOf(page, index));
      entries += last?.count ?? 0;
      index++;
      // A listing that was cut short ends the page, however few names of it there are.
      if (last !== null && last.remaining > 0)
        return answerOf(c, listings, { index: index - 1, startAfter: last.lastName }, checksum);
    }
    from = NOTHING;
    atOnce = Math.min(2 * atOnce, MAX_PATHS_AT_ONCE);
  }
  if (index >= paths.length) return answerOf(c, listings, null, checksum);
  return answerOf(c, listings, { index: index - 1, startAfter: last?.lastName ?? NOTHING }, checksum);
}

async function pageOf(c: Composition, src: string, startAfter: Buffer, located: boolean): Promise<Listed | Refused> {
  try {
    const place = locate(c.engine, c.call, Buffer.from(src), false);
    const listed = await listPage(c, place, {
      startAfter,
      located,
      requestAfter: (name) => c.other(clientMethod('getListing'), { src, startAfter: name, needLocation: located }),
    });
    return listed ?? new Refused(FILE_NOT_FOUND, `Path ${src} does not exist`);
  } catch (error) {
    if (error instanceof Refused) return error;
    throw error;
  }
}

function listingOf({ entries }: Listed, parentIdx: number): Buffer {
  return Buffer.concat([entries, encode(messageType(BATCH), { partialListing: [], parentIdx })]);
}

function failureOf({ className, message }: Refused, parentIdx: number): Buffer {
  return encode(messageType(BATCH), { partialListing: [], parentIdx, exception: { className, message } });
}

/** GetBatchedListingResponseProto: fields 1 are listings in bytes already. */
function answerOf(c: Composition, listings: readonly Buffer[], cursor: Cursor | null, checksum: Buffer): Buffer {
  const startAfter =
    cursor === null
      ? NOTHING
      : encode(messageType(KEY), { checksum, pathIndex: cursor.index, startAfter: cursor.startAfter });
  const pieces: Buffer[] = [];
  for (const listing of listings) {
    const out = Buffer.allocUnsafe(listing.length + LISTING_HEAD_BYTES);
    pieces.push(out.subarray(0, writeStatus(out, 0, listing)));
  }
  pieces.push(c.write({ listings: [], hasMore: cursor !== null, startAfter }));
  return Buffer.concat(pieces);
}

function readCursor(startAfter: Buffer, checksum: Buffer): Cursor {
  if (startAfter.length === 0) return { index: 0, startAfter: NOTHING };
  let key: Plain;
  try {
    key = decodePlain(messageType(KEY), startAfter);
  } catch (error) {
    if (!(error instanceof MessageError)) throw error;
    throw new Refused(ILLEGAL_ARGUMENT, 'startAfter is not that of a batched listing');
  }
  if (!checksum.equals(key.checksum as Buffer)) {
    throw new Refused(ILLEGAL_ARGUMENT, 'startAfter is that of a listing of other paths');
  }
  const index = key.pathIndex as number;
  const name = Buffer.from(key.startAfter as Buffer);
  if (index < 0) throw new Refused(ILLEGAL_ARGUMENT, 'startAfter is not that of a batched listing');
  // Without a name the path was a file or failed: it has been listed.
  return { index: name.length === 0 ? index + 1 : index, startAfter: name };
}

function checksumOf(paths: readonly string[]): Buffer {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(`${Buffer.byteLength(path)}:${path}`);
  return hash.digest().subarray(0, CHECKSUM_BYTES);
}
