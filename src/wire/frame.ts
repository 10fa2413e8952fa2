/**
 * Cuts a stream of bytes into frames.
 *
 *   frame = length: u32 big-endian, not negative as i32 · `length` bytes (none is allowed)
 *
 * Whole frames inside a chunk go to the sink where they lie. The assembler owns memory only for what it cannot pass on:
 *
 *   partial   the first bytes of one frame that goes on in the next chunk:  [0, partialBytes) of frameBytes; not used for another frame
 *   held      what came after a frame that the sink refused:                [heldAt, heldEnd)
 *
 * Both are claimed from the budget and given back as soon as they are empty: an idle connection owns neither.
 */
import { copyBytes, readInt32 } from './varint.ts';

export interface FrameSink {
  /**
   * One frame, buffer[start, end) without its length prefix; valid only during the call, unless the assembler says that the sink may keep
   * it (`owns`). False: not taken, the assembler holds it and everything after it until `resume`. The sink may call `release` of the
   * assembler.
   */
  onFrame(buffer: Buffer, start: number, end: number): boolean;
}

/** A bound on memory that many owners share. */
export interface ByteBudget {
  /** False: there is not that much left, nothing was claimed. */
  claim(bytes: number): boolean;
  /** Gives back exactly what one `claim` took. */
  release(bytes: number): void;
}

export const FRAMES_OK = 0;
/** The sink refused a frame: feed nothing until `resume` returned FRAMES_OK. */
export const FRAMES_HELD = 1;
/** A length prefix is negative or above the limit (`badLength` says which): the stream cannot be followed any more. */
export const FRAME_BAD_LENGTH = -1;
/** The budget is used up: the stream cannot be followed any more. */
export const FRAME_NO_MEMORY = -2;

/** First size of a partial frame's buffer; it doubles as bytes arrive, whatever length was announced, and so does what is claimed for it. */
const FIRST_PARTIAL_BYTES = 1024;
/**
 * Largest buffer that is made by doubling. The next one has room for the whole frame: growing further would copy ever more at once. What is
 * claimed for it still doubles with the bytes that arrive: memory that nothing was written to costs nothing.
 */
export const MOST_DOUBLED_BYTES = 1024 * 1024;
const PREFIX_BYTES = 4;
const NOTHING = Buffer.alloc(0);

export class FrameAssembler {
  /** Bytes claimed from the budget now. */
  heldBytes = 0;
  /** The length that FRAME_BAD_LENGTH is about, as i32. */
  badLength = 0;

  readonly sink: FrameSink;
  readonly maxFrameBytes: number;
  readonly budget: ByteBudget;

  /** Length prefix: how many of its bytes have come, and their value so far. When all are there, frameBytes is set. */
  prefixBytes = 0;
  prefix = 0;
  frameBytes = 0;
  partial: Buffer | null = null;
  partialBytes = 0;
  /** Bytes of `partial` that are claimed from the budget. */
  partialClaim = 0;
  held: Buffer | null = null;
  heldAt = 0;
  heldEnd = 0;
  /** The sink refused a frame and was not asked again since. */
  refused = false;
  /** FRAME_BAD_LENGTH or FRAME_NO_MEMORY once it has happened. */
  failed = 0;
  /** Raised by `release`, so that a loop notices that it happened inside a call of the sink. */
  epoch = 0;

  constructor(sink: FrameSink, maxFrameBytes: number, budget: ByteBudget) {
    this.sink = sink;
    this.maxFrameBytes = maxFrameBytes;
    this.budget = budget;
  }

  /** A frame has begun whose end has not come yet. */
  get inFrame(): boolean {
    return this.prefixBytes > 0;
  }

  /**
   * Whether the frame that its sink was just offered in `buffer` lies in an ArrayBuffer of its own, from the first byte to the last. Nothing
   * else will be written there: a sink that takes the frame may keep the memory, or give it away.
   */
  owns(buffer: Buffer): boolean {
    return buffer === this.partial && buffer.length === buffer.buffer.byteLength;
  }

  /** Takes chunk[start, end) and passes on the frames that it completes. Returns one of the codes above. */
  feed(chunk: Buffer, start: number, end: number): number {
    if (this.failed !== 0) return this.failed;
    if (this.refused) throw new Error('FrameAssembler.feed: frames are held, call resume first');
    return this.cut(chunk, start, end);
  }

  /** Offers the refused frame and what came after it again. Returns as `feed`. */
  resume(): number {
    if (this.failed !== 0) return this.failed;
    if (!this.refused) return FRAMES_OK;
    this.refused = false;
    const { held, epoch } = this;
    const code = held === null ? this.cut(NOTHING, 0, 0) : this.cut(held, this.heldAt, this.heldEnd);
    if (code === FRAMES_OK && epoch === this.epoch) this.dropHeld();
    return code;
  }

  /** Gives all memory back and forgets the stream; what is fed next begins a new one. */
  release(): void {
    this.dropPartial();
    this.dropHeld();
    this.prefixBytes = 0;
    this.prefix = 0;
    this.refused = false;
    this.failed = 0;
    this.epoch++;
  }

  cut(chunk: Buffer, start: number, end: number): number {
    const { epoch, sink } = this;
    let at = start;
    // The second condition: a frame is complete without another byte (an empty one, or one that was refused when complete).
    while (at < end || (this.prefixBytes === PREFIX_BYTES && this.partialBytes === this.frameBytes)) {
      if (this.prefixBytes < PREFIX_BYTES) {
        if (this.prefixBytes === 0 && end - at >= PREFIX_BYTES) {
          const frameBytes = readInt32(chunk, at);
          if (frameBytes < 0 || frameBytes > this.maxFrameBytes) return this.failLength(frameBytes);
          const frameEnd = at + PREFIX_BYTES + frameBytes;
          if (frameEnd <= end) {
            const taken = sink.onFrame(chunk, at + PREFIX_BYTES, frameEnd);
            if (epoch !== this.epoch) return FRAMES_OK;
            if (!taken) return this.hold(chunk, at, end);
            at = frameEnd;
            continue;
          }
          this.prefixBytes = PREFIX_BYTES;
          this.frameBytes = frameBytes;
          at += PREFIX_BYTES;
        } else {
          this.prefix = (this.prefix << 8) | chunk[at++]!;
          if (++this.prefixBytes < PREFIX_BYTES) continue;
          this.frameBytes = this.prefix;
          this.prefix = 0;
          if (this.frameBytes < 0 || this.frameBytes > this.maxFrameBytes) return this.failLength(this.frameBytes);
        }
      }

      if (this.partial === null && end - at >= this.frameBytes) {
        const frameEnd = at + this.frameBytes;
        const taken = sink.onFrame(chunk, at, frameEnd);
        if (epoch !== this.epoch) return FRAMES_OK;
        if (!taken) return this.hold(chunk, at, end);
        at = frameEnd;
      } else {
        if (this.partialBytes < this.frameBytes) {
          if (at >= end) break;
          const bytes = Math.min(this.frameBytes - this.partialBytes, end - at);
          const partial = this.growPartial(this.partialBytes + bytes);
          if (partial === null) return this.failMemory();
          copyBytes(partial, this.partialBytes, chunk, at, at + bytes);
          this.partialBytes += bytes;
          at += bytes;
          if (this.partialBytes < this.frameBytes) break;
        }
        const taken = sink.onFrame(this.partial ?? NOTHING, 0, this.frameBytes);
        if (epoch !== this.epoch) return FRAMES_OK;
        if (!taken) return this.hold(chunk, at, end);
        this.dropPartial();
      }
      this.prefixBytes = 0;
    }
    return FRAMES_OK;
  }

  /** The partial frame's buffer with room for so many bytes; null when the budget refuses. */
  growPartial(bytes: number): Buffer | null {
    const { partial, partialClaim } = this;
    if (partial !== null && bytes <= partialClaim) return partial;
    const claim = Math.min(this.frameBytes, Math.max(bytes, 2 * partialClaim, FIRST_PARTIAL_BYTES));
    if (!this.budget.claim(claim)) return null;
    if (partial !== null) this.budget.release(partialClaim);
    this.partialClaim = claim;
    this.heldBytes += claim - partialClaim;
    if (partial !== null && claim <= partial.length) return partial;
    const grown = Buffer.allocUnsafe(claim > MOST_DOUBLED_BYTES ? this.frameBytes : claim);
    if (partial !== null) partial.copy(grown, 0, 0, this.partialBytes);
    this.partial = grown;
    return grown;
  }

  /** Keeps chunk[at, end) for `resume`; the refused frame is its first, or the complete partial one before it. */
  hold(chunk: Buffer, at: number, end: number): number {
    this.refused = true;
    if (chunk === this.held) {
      this.heldAt = at;
      return FRAMES_HELD;
    }
    const bytes = end - at;
    if (bytes === 0) return FRAMES_HELD;
    if (!this.budget.claim(bytes)) return this.failMemory();
    this.heldBytes += bytes;
    this.held = Buffer.allocUnsafe(bytes);
    copyBytes(this.held, 0, chunk, at, end);
    this.heldAt = 0;
    this.heldEnd = bytes;
    return FRAMES_HELD;
  }

  dropPartial(): void {
    if (this.partial !== null) {
      // Not its length: the sink may have given the memory away.
      this.budget.release(this.partialClaim);
      this.heldBytes -= this.partialClaim;
      this.partialClaim = 0;
      this.partial = null;
    }
    this.partialBytes = 0;
  }

  dropHeld(): void {
    if (this.held === null) return;
    this.budget.release(this.held.length);
    this.heldBytes -= this.held.length;
    this.held = null;
    this.heldAt = 0;
    this.heldEnd = 0;
  }

  failLength(length: number): number {
    this.release();
    this.badLength = length;
    this.failed = FRAME_BAD_LENGTH;
    return FRAME_BAD_LENGTH;
  }

  failMemory(): number {
    this.release();
    this.failed = FRAME_NO_MEMORY;
    return FRAME_NO_MEMORY;
  }
}
