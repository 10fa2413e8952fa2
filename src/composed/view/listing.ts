import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import { LISTING_HEAD_BYTES, LISTING_TAIL_BYTES, writeListing } from '../../wire/listing-scan.ts';
import { encode, messageType } from '../../wire/messages.ts';
import { type Composition, compose, type Outcome } from '../composition.ts';
import { locate, pathOf } from '../locate.ts';
import { listPage } from './directory.ts';
import { Entered, enterView } from './enter.ts';

/** getListing: a page of a directory. Where one nameservice has all of it, its answer passes as it is. */
export function answerListing(engine: Engine, call: Call): void {
  if (enterView(engine, call, emptyListing) !== Entered.DONE) compose(engine, call, listingOf);
}

/** A mount point whose target is missing is an empty directory. */
function emptyListing(): Buffer {
  const dirList = { partialListing: [], remainingEntries: 0 };
  return encode(messageType('hadoop.hdfs.GetListingResponseProto'), { dirList });
}

async function listingOf(c: Composition): Promise<Outcome> {
  const { startAfter, needLocation } = c.request();
  const from = Buffer.from(startAfter as Buffer);
  const src = pathOf(c.call);
  const listed = await listPage(c, locate(c.engine, c.call, src, false), {
    startAfter: from,
    located: needLocation === true,
    requestAfter: (name) =>
      name === from ? c.own : c.other(c.method, { src: src.toString(), startAfter: name, needLocation }),
  });
  if (listed === null) return c.write({});
  const out = Buffer.allocUnsafe(LISTING_HEAD_BYTES + listed.entries.length + LISTING_TAIL_BYTES);
  return out.subarray(0, writeListing(out, 0, listed.entries, listed.remaining));
}
