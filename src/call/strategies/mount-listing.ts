import { canonicalPath } from '../../mount/canonical.ts';
import type { MountSnapshot } from '../../mount/snapshot.ts';
import { decodePlain, encode, messageType, type Plain } from '../../wire/messages.ts';
import { textOf } from '../../wire/text.ts';
import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';
import type { Method } from '../method.ts';
import { OwnReply } from '../own-reply.ts';
import { BY_INODE } from '../resolve.ts';
import { joinPath, syntheticStatus } from '../synthetic.ts';
import { answerInodePath } from './inode-path.ts';

const NOTHING = Buffer.alloc(0);

/** getListing: a NameNode's page; where mount points lie below the directory, they take their places in it. */
export function answerListing(engine: Engine, call: Call): void {
  const { resolver } = engine;
  const fields = call.fields;
  const start = call.start + fields.pathStart;
  const end = call.start + fields.pathEnd;
  const nameservice = resolver.resolve(call, call.frame, start, end, false);
  if (nameservice === BY_INODE) {
    answerInodePath(engine, call, resolver.nameservicesInUse);
    return;
  }
  const atMounts = resolver.atMount || resolver.mountsBelow;
  if (nameservice >= 0 && !atMounts) {
    call.byPath = true;
    call.path = resolver.path;
    call.pathPrefixBytes = resolver.prefixBytes;
    engine.forward(call, nameservice);
    return;
  }
  if (nameservice < 0 && !(atMounts && resolver.className === Failure.NO_RESOLUTION)) {
    engine.fail(call, resolver.className, resolver.message);
    return;
  }
  call.path = resolver.path;
  call.pathPrefixBytes = resolver.prefixBytes;
  let merge: ListingAtMounts;
  try {
    const request = decodePlain(
      messageType((call.method as Method).request),
      call.frame,
      call.start + fields.bodyStart,
      call.start + fields.bodyEnd,
    );
    merge = new ListingAtMounts(
      engine,
      canonicalPath(textOf(call.frame, start, end)),
      Buffer.from(request.startAfter as Buffer),
    );
  } catch (error) {
    engine.fail(call, Failure.MALFORMED, error instanceof Error ? error.message : String(error));
    return;
  }
  if (nameservice < 0) {
    engine.succeed(call, merge.merge(call, NOTHING, 0, 0));
    return;
  }
  call.composer = merge;
  engine.forward(call, nameservice);
}

/**
 * Children of mount points merged into a page of the NameNode, every name once, in byte order. A page that is not the last ends at the
 * NameNode's last name: mount points behind it belong to later pages, and are counted as remaining.
 */
class ListingAtMounts extends OwnReply {
  readonly #path: string;
  readonly #startAfter: Buffer;

  constructor(engine: Engine, path: string, startAfter: Buffer) {
    super(engine);
    this.#path = path;
    this.#startAfter = startAfter;
  }

  protected change(call: Call, buffer: Buffer, start: number, end: number): Buffer {
    return this.merge(call, buffer, start, end);
  }

  merge(call: Call, buffer: Buffer, start: number, end: number): Buffer {
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
