/**
 * Bytes that are too large for the ring. The record stays in the ring, with its words and in its place; only its bytes go beside, in an
 * ArrayBuffer of their own that changes hands with postMessage: the one that they came in, or one that they are copied into once. Bytes are
 * posted before their record is published and the port keeps their order: the n-th record with the BESIDE bit owns the n-th ArrayBuffer, and it
 * is on the port when the record is seen.
 *
 * Why not chunks in the ring: the receiver would have to collect them into the same memory (one more copy), keep partial records per
 * sender and clean up after a death in the middle; and 128 MiB of chunks would occupy the ring that small calls want.
 *
 * These bytes are not claimed from the process's budget (Settings.memoryBytes): a thread that dies could not give back what its peer still
 * holds. They have a bound of their own, for each ring (two for each pair of acceptor and worker): BESIDE_LIMIT_BYTES, or one record.
 */

import type { MessagePort } from 'node:worker_threads';
import { RingIndex, Want } from './ring.ts';

/** Bytes in flight beside one ring at most; one record is always allowed, or a frame above the limit would never pass. */
export const BESIDE_LIMIT_BYTES = 64 * 1024 * 1024;

/** Producer's end. */
export class BesideSender {
  private words: Int32Array;
  private port: MessagePort;
  private limitBytes: number;
  /** Bytes sent so far, modulo 2^32 like BESIDE_TAKEN. */
  private sent: number;

  constructor(words: Int32Array, port: MessagePort, limitBytes: number) {
    this.words = words;
    this.port = port;
    this.limitBytes = limitBytes;
    this.sent = Atomics.load(words, RingIndex.BESIDE_TAKEN);
  }

  /** Whether `bytes` more may be in flight. False sets WANT_SPACE: the consumer rings when it has taken the next one. */
  hasRoom(bytes: number): boolean {
    if (this.fits(bytes)) return true;
    Atomics.store(this.words, RingIndex.WANT_SPACE, Want.BESIDE);
    if (!this.fits(bytes)) return false;
    Atomics.compareExchange(this.words, RingIndex.WANT_SPACE, Want.BESIDE, Want.NOTHING);
    return true;
  }

  /** Posts `bytes` and with them all of their ArrayBuffer, which is gone for the caller afterwards; to be followed by the commit of its record. */
  send(bytes: Buffer<ArrayBuffer>): void {
    const length = bytes.length;
    this.port.postMessage(bytes, [bytes.buffer]);
    this.sent = (this.sent + length) | 0;
  }

  private fits(bytes: number): boolean {
    const inFlight = (this.sent - Atomics.load(this.words, RingIndex.BESIDE_TAKEN)) | 0;
    return inFlight === 0 || inFlight + bytes <= this.limitBytes;
  }
}

/** Memory for `send`: not from the shared pool, not zeroed; the caller fills all of it. */
export function allocateBeside(bytes: number): Buffer<ArrayBuffer> {
  return Buffer.allocUnsafeSlow(bytes);
}

/** Consumer's end: the ArrayBuffers that arrived before their records were reached (bounded by the sender's limit). */
export class BesideReceiver {
  private words: Int32Array;
  private arrived: Buffer[] = [];

  constructor(words: Int32Array) {
    this.words = words;
  }

  /** What arrives is a Buffer no more. */
  arrive({ buffer, byteOffset, length }: Uint8Array): void {
    this.arrived.push(Buffer.from(buffer, byteOffset, length));
  }

  /** The bytes of the next record with the BESIDE bit; undefined when they have not been read from the port yet. */
  take(): Buffer | undefined {
    const bytes = this.arrived.shift();
    if (bytes !== undefined) Atomics.add(this.words, RingIndex.BESIDE_TAKEN, bytes.length);
    return bytes;
  }
}
