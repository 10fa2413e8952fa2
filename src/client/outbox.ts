import type net from 'node:net';
import { Block, copyBlock, LastBlock } from '../wire/block.ts';

/** Replies of one turn to one client are gathered in a slab of this size; longer ones go from a buffer of their own. */
export const SLAB_BYTES = 16 * 1024;
const SPARE_SLABS = 256;

/** Slabs for use again, last in first out so that they stay in the cache. A connection owns one only while it has something to write. */
export class SlabPool {
  /** What replies lie in when they are handed back. */
  readonly received = new LastBlock();
  readonly #spare: Block[] = [];

  take(): Block {
    return this.#spare.pop() ?? new Block(Buffer.allocUnsafeSlow(SLAB_BYTES));
  }

  give(slab: Block): void {
    if (this.#spare.length < SPARE_SLABS) this.#spare.push(slab);
  }
}

/**
 * What is to be written to one client.
 *
 *   slab [0, end)  gathered in this turn, not given to the socket yet
 *   socket         given to it; `socket.writableLength` bytes have not left: the kernel's buffer is full, the client reads slowly
 */
export class Outbox {
  slab: Block | null = null;
  end = 0;
  /** Of the replies above SLAB_BYTES, since its owner has set this to 0. */
  largestBytes = 0;

  /** Copies one reply. */
  add(socket: net.Socket, pool: SlabPool, buffer: Buffer, start: number, end: number): void {
    const bytes = end - start;
    if (bytes > SLAB_BYTES) {
      if (bytes > this.largestBytes) this.largestBytes = bytes;
      this.flush(socket, pool);
      const own = Buffer.allocUnsafeSlow(bytes);
      buffer.copy(own, 0, start, end);
      socket.write(own);
      return;
    }
    if (this.slab !== null && this.end + bytes > SLAB_BYTES) this.flush(socket, pool);
    if (this.slab === null) this.slab = pool.take();
    const block = pool.received.of(buffer);
    if (block === null) buffer.copy(this.slab.bytes, this.end, start, end);
    else copyBlock(this.slab, this.end, block, start, end);
    this.end += bytes;
  }

  /** Gives one reply on by reference; its memory is the socket's now. */
  addOwned(socket: net.Socket, pool: SlabPool, buffer: Buffer, start: number, end: number): void {
    if (end - start > this.largestBytes) this.largestBytes = end - start;
    this.flush(socket, pool);
    socket.write(buffer.subarray(start, end));
  }

  flush(socket: net.Socket, pool: SlabPool): void {
    const slab = this.slab;
    if (slab === null) return;
    socket.write(slab.bytes.subarray(0, this.end));
    this.slab = null;
    this.end = 0;
    // After a short write the kernel still reads from it.
    if (socket.writableLength === 0) pool.give(slab);
  }
}
