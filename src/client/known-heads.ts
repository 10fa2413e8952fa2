import type { CallScan } from '../wire/call-scan.ts';

/** Longest RequestHeaderProto that is remembered: its length prefix is one byte. */
const MAX_HEAD_BYTES = 0x7f;
/** Longest buffer whose view is kept, and with it its memory: the one that sockets read into. Frames that have outgrown it are scanned. */
const MAX_VIEWED_BYTES = 64 * 1024;

/**
 * Method headers seen lately. All calls of one method carry the same bytes (method, protocol, version), so comparing them with the last
 * header of that length is enough to know the method; anything else is scanned.
 */
export class KnownHeads {
  readonly #bytes = Buffer.alloc((MAX_HEAD_BYTES + 1) * (MAX_HEAD_BYTES + 1));
  readonly #knownView = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length);
  /** The buffer that frames lie in most of the time, and the view of it. */
  #viewed: Buffer = this.#bytes;
  #view: DataView = this.#knownView;
  /** Index into METHODS of the header of each length, -1 for none. */
  readonly #methods = new Int32Array(MAX_HEAD_BYTES + 1).fill(-1);

  /** True: the header behind `scan.headerEnd` is known; sets `method` and `requestStart`. */
  find(frame: Buffer, start: number, end: number, scan: CallScan): boolean {
    const at = start + scan.headerEnd;
    // Nothing behind the header, maybe not even in the buffer.
    if (at >= end) return false;
    const length = frame[at] as number;
    if (length > MAX_HEAD_BYTES || at + 1 + length > end) return false;
    const method = this.#methods[length] as number;
    if (method < 0) return false;
    if (frame !== this.#viewed) {
      if (frame.buffer.byteLength > MAX_VIEWED_BYTES) return false;
      this.#viewed = frame;
      this.#view = new DataView(frame.buffer, frame.byteOffset, frame.length);
    }
    // Four bytes at a time; a header is some sixty bytes long.
    let from = at + 1;
    let known = length * (MAX_HEAD_BYTES + 1);
    const to = from + length;
    for (; from + 4 <= to; from += 4, known += 4) {
      if (this.#view.getInt32(from) !== this.#knownView.getInt32(known)) return false;
    }
    for (; from < to; from++, known++) if (frame[from] !== this.#bytes[known]) return false;
    scan.method = method;
    scan.requestStart = scan.headerEnd + 1 + length;
    return true;
  }

  /** Remembers the header that was scanned and found to be of `scan.method`. */
  remember(frame: Buffer, start: number, scan: CallScan): void {
    const at = start + scan.headerEnd;
    const length = frame[at] as number;
    if (length > MAX_HEAD_BYTES || scan.requestStart !== scan.headerEnd + 1 + length) return;
    frame.copy(this.#bytes, length * (MAX_HEAD_BYTES + 1), at + 1, at + 1 + length);
    this.#methods[length] = scan.method;
  }
}
