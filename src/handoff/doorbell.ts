/**
 * The two bells of a ring: *records* wakes a consumer that sleeps, *space* tells a producer that met a full ring to try again.
 * Nobody polls. Both are one small message on the MessagePort of the pair, and both use the same order of steps:
 *
 *   one side:   write the flag, then look at the position once more
 *   other side: publish the position, then look at the flag; who takes the flag by compare-exchange rings
 *
 * The operations are sequentially consistent, so at least one side sees what the other did, and one flag gives one message.
 */

import type { MessagePort } from 'node:worker_threads';
import { RingIndex, type RingReader, type RingWriter, Want } from './ring.ts';

/** The messages on the port, besides the ArrayBuffers of records that travel beside the ring. */
export const Notice = {
  /** There are records in the ring that you consume. */
  RECORDS: 1,
  /** There is room in the ring that you produce into. */
  SPACE: 2,
} as const;

const AWAKE = 0;
const ASLEEP = 1;

/** Producer: rings if the consumer sleeps. Call it once after a batch of commits. True when it rang. */
export function ringRecords(writer: RingWriter, port: MessagePort): boolean {
  const words = writer.words;
  if (Atomics.load(words, RingIndex.SLEEPING) === AWAKE) return false;
  if (Atomics.compareExchange(words, RingIndex.SLEEPING, ASLEEP, AWAKE) === AWAKE) return false;
  port.postMessage(Notice.RECORDS);
  return true;
}

/** Consumer: it is at work and will look at the ring again by itself. */
export function stayAwake(reader: RingReader): void {
  Atomics.store(reader.words, RingIndex.SLEEPING, AWAKE);
}

/** Consumer: goes to sleep; false when a record came in at the last moment and there is work. */
export function fallAsleep(reader: RingReader): boolean {
  Atomics.store(reader.words, RingIndex.SLEEPING, ASLEEP);
  if (reader.next() === -1) return true;
  // The producer may have taken the flag already: its bell then finds the ring drained, which does no harm.
  Atomics.store(reader.words, RingIndex.SLEEPING, AWAKE);
  return false;
}

/**
 * Consumer, after it has published: rings the space bell if the producer waits and what it waits for has happened, that is a quarter of the
 * ring is free or (`tookBeside`) a record beside the ring has been taken. True when it rang.
 */
export function ringSpace(reader: RingReader, port: MessagePort, tookBeside: boolean): boolean {
  const words = reader.words;
  const want = Atomics.load(words, RingIndex.WANT_SPACE);
  if (want === Want.NOTHING) return false;
  if (want === Want.BESIDE ? !tookBeside : !reader.quarterFree()) return false;
  if (Atomics.compareExchange(words, RingIndex.WANT_SPACE, want, Want.NOTHING) !== want) return false;
  port.postMessage(Notice.SPACE);
  return true;
}

/** Producer, on a space bell: whether it is meant for the present wait. While the flag still stands, the bell of this wait is yet to come. */
export function spaceIsMeant(writer: RingWriter): boolean {
  return Atomics.load(writer.words, RingIndex.WANT_SPACE) === Want.NOTHING;
}
