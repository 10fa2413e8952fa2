import type { MountSnapshot } from '../../mount/snapshot.ts';
import { decodePlain, encode, messageType, type Plain } from '../../wire/messages.ts';
import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';
import type { Method } from '../method.ts';
import { OwnReply } from '../own-reply.ts';
import { joinPath, syntheticStatus } from '../synthetic.ts';
import { answerAtMounts } from './at-mounts.ts';

/** getListing: a NameNode's page; where mount points lie below the directory, they take their places in it. */
export function answerListing(engine: Engine, call: Call): void {
  answerAtMounts(engine, call, (path) => {
    const { startAfter } = decodePlain(
      messageType((call.method as Method).request),
      call.frame,
      call.start + call.fields.bodyStart,
      call.start + call.fields.bodyEnd,
    );
    return new ListingAtMounts(engine, path, Buffer.from(startAfter as Buffer));
  });
}

/**
 * Children of mount points merged into a page of the NameNode, every name once, in byte order. A page that is not the last ends at the
 * NameNode's last name: mount points behind it belong to later pages, and are counted as remaining.
 */
class ListingAtMounts extends OwnReply {
  readonly #path: string;
  readonly #startAfter: Buffer;

  /** A later page belongs to a listing that has begun with names of the NameNode: it cannot go on without them. */
  override readonly standsAlone: boolean;

  constructor(engine: Engine, path: string, startAfter: Buffer) {
    super(engine);
    this.standsAlone = startAfter.length === 0;
    this.#path = path;
    this.#startAfter = startAfter;
  }

  protected change(call: Call, buffer: Buffer, start: number, end: number): Buffer {
    const snapshot = this.engine.resolver.snapshot as MountSnapshot;
    const type = messageType((call.method as Method).response);
    const listing = (decodePlain(type, buffer, start, end).dirList ?? {
      partialListing: [],
      remainingEntries: 0,
    }) as Plain;
    const entries = listing.partialListing as Plain[];
    const remaining = listing.remainingEntries as number;
    const last = entries.at(-1);
    const pageEnd = remaining > 0 && last !== undefined ? (last.path as Buffer) : null;
    const merged = new Map<string, Plain>();
    for (const entry of entries) merged.set(keyOf(entry.path as Buffer), entry);
    let later = 0;
    for (const child of snapshot.childrenOf(this.#path) ?? []) {
      const name = Buffer.from(child);
      if (Buffer.compare(name, this.#startAfter) <= 0) continue;
      if (pageEnd !== null && Buffer.compare(name, pageEnd) > 0) later++;
      else merged.set(keyOf(name), syntheticStatus(snapshot, this.engine.settings, joinPath(this.#path, child), child));
    }
    const partialListing = [...merged.values()].sort((a, b) => Buffer.compare(a.path as Buffer, b.path as Buffer));
    return encode(type, { dirList: { partialListing, remainingEntries: remaining + later } });
  }
}

function keyOf(name: Buffer): string {
  return name.toString('latin1');
}
