import {
  ENTRIES_OK,
  EntryScan,
  LISTING_HEAD_BYTES,
  LISTING_TAIL_BYTES,
  scanListing,
  writeListing,
} from '../../wire/listing-scan.ts';
import { type Failed, isNotFound } from '../answer.ts';
import type { Composition } from '../composition.ts';
import { clientMethod } from '../request.ts';
import type { StrayTrash } from '../trash.ts';
import { failoverWaitMs } from '../waiting.ts';
import { chooseStatus, type FoundStatus, statusIn } from './find-status.ts';
import type { LocationPage } from './merge.ts';
import { renamedEntry } from './mount-children.ts';

const NAME = Buffer.from('.Trash');

/** The one name of the caller's home directory that other nameservices may have. */
export interface HomeTrash {
  /** A page with this name alone; null when none has it, or the listing is behind it. */
  readonly page: LocationPage | null;
  readonly failures: readonly Failed[];
}

/** What is deleted in other nameservices than the home directory's own is in their trash: the directory shows that, too. */
export async function askHomeTrash(c: Composition, stray: StrayTrash, startAfter: Buffer): Promise<HomeTrash> {
  if (Buffer.compare(startAfter, NAME) >= 0) return { page: null, failures: [] };
  const request = c.other(clientMethod('getFileInfo'), { src: stray.path });
  const options = c.engine.settings.allowPartialListing ? {} : { unreachedMs: failoverWaitMs(c.engine) };
  const answers = await c.askAll(request, stray.elsewhere, options);
  const failures: Failed[] = [];
  const statuses: FoundStatus[] = [];
  for (const answer of answers) {
    const status = answer.ok ? statusIn(answer.body) : null;
    if (status !== null) statuses.push(status);
    else if (!answer.ok && !isNotFound(answer)) failures.push(answer);
  }
  const status = chooseStatus(statuses, true);
  return { page: status === null ? null : pageOf(renamedEntry(status, NAME)), failures };
}

function pageOf(entry: Buffer): LocationPage | null {
  const out = Buffer.allocUnsafe(LISTING_HEAD_BYTES + entry.length + LISTING_TAIL_BYTES);
  const body = out.subarray(0, writeListing(out, 0, entry, 0));
  const scan = new EntryScan();
  return scanListing(body, 0, body.length, scan) === ENTRIES_OK ? { body, scan, shows: null } : null;
}
