import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fallAsleep, Notice, ringRecords, ringSpace, spaceIsMeant, stayAwake } from '../../src/handoff/doorbell.ts';
import { createRing, RingIndex, RingReader, RingWriter, Want } from '../../src/handoff/ring.ts';

let writer: RingWriter;
let reader: RingReader;
let mine: MessagePort;
let theirs: MessagePort;

beforeEach(() => {
  const memory = createRing(4096);
  writer = new RingWriter(memory);
  reader = new RingReader(memory);
  const channel = new MessageChannel();
  mine = channel.port1;
  theirs = channel.port2;
});

afterEach(() => {
  mine.close();
  theirs.close();
});

function put(bytes: number): boolean {
  const at = writer.reserve(bytes);
  if (at === -1) return false;
  writer.words[(at >> 2) + 1] = 1;
  writer.commit();
  return true;
}

function heard(): unknown[] {
  const messages: unknown[] = [];
  for (;;) {
    const next = receiveMessageOnPort(theirs) as { message: unknown } | undefined;
    if (next === undefined) return messages;
    messages.push(next.message);
  }
}

describe('records bell', () => {
  it('rings once for a consumer that sleeps, however often it is asked', () => {
    put(16);
    expect(ringRecords(writer, mine)).toBe(true);
    put(16);
    expect(ringRecords(writer, mine)).toBe(false);
    expect(heard()).toEqual([Notice.RECORDS]);
  });

  it('does not ring for a consumer at work', () => {
    stayAwake(reader);
    put(16);
    expect(ringRecords(writer, mine)).toBe(false);
    expect(heard()).toEqual([]);
  });

  it('rings again after the consumer went back to sleep', () => {
    put(16);
    ringRecords(writer, mine);
    reader.next();
    reader.release();
    expect(fallAsleep(reader)).toBe(true);
    put(16);
    expect(ringRecords(writer, mine)).toBe(true);
    expect(heard()).toEqual([Notice.RECORDS, Notice.RECORDS]);
  });

  it('does not let a consumer sleep on a record that came in at the last moment', () => {
    stayAwake(reader);
    expect(reader.next()).toBe(-1);
    put(16);
    expect(fallAsleep(reader)).toBe(false);
    expect(reader.words[RingIndex.SLEEPING]).toBe(0);
    expect(ringRecords(writer, mine)).toBe(false);
    expect(reader.next()).not.toBe(-1);
  });
});

describe('space bell', () => {
  it('stays silent when nobody waits', () => {
    put(16);
    reader.next();
    reader.release();
    reader.publish();
    expect(ringSpace(reader, mine, false)).toBe(false);
    expect(heard()).toEqual([]);
  });

  it('rings once, when a quarter of the ring is free', () => {
    while (put(512));
    expect(spaceIsMeant(writer)).toBe(false);
    reader.next();
    reader.release();
    reader.publish();
    expect(ringSpace(reader, mine, false)).toBe(false);
    reader.next();
    reader.release();
    reader.publish();
    expect(ringSpace(reader, mine, false)).toBe(true);
    expect(ringSpace(reader, mine, false)).toBe(false);
    expect(heard()).toEqual([Notice.SPACE]);
    expect(spaceIsMeant(writer)).toBe(true);
  });

  it('rings for a wait beside the ring only when a record beside it was taken', () => {
    Atomics.store(writer.words, RingIndex.WANT_SPACE, Want.BESIDE);
    expect(ringSpace(reader, mine, false)).toBe(false);
    expect(ringSpace(reader, mine, true)).toBe(true);
    expect(heard()).toEqual([Notice.SPACE]);
  });

  it('takes the flag back when space appears between the flag and the second look', () => {
    while (put(512));
    Atomics.store(writer.words, RingIndex.WANT_SPACE, Want.NOTHING);
    const store = Atomics.store;
    const flags: number[] = [];
    const spy = vi.spyOn(Atomics, 'store').mockImplementation(((words: Int32Array, index: number, value: number) => {
      store(words, index, value);
      if (index !== RingIndex.WANT_SPACE) return value;
      flags.push(value);
      // Here the other thread gets in: it frees everything, and its look at the flag was a moment earlier.
      for (let at = reader.next(); at !== -1; at = reader.next()) reader.release();
      reader.publish();
      return value;
    }) as typeof Atomics.store);
    try {
      expect(put(512)).toBe(true);
    } finally {
      spy.mockRestore();
    }
    expect(flags).toEqual([Want.RING]);
    expect(writer.words[RingIndex.WANT_SPACE]).toBe(Want.NOTHING);
    expect(ringSpace(reader, mine, false)).toBe(false);
  });
});
