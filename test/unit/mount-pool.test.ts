import { describe, expect, it } from 'vitest';
import { SnapshotPool, type SnapshotSlot } from '../../src/mount/snapshot-pool.ts';
import {
  allocateEpochWords,
  allocateShared,
  announcedEpoch,
  announceEpoch,
  LAST_EPOCH,
  NO_EPOCH,
  oldestAnnounced,
  retireThread,
} from '../../src/shared/epochs.ts';

describe('announced epochs', () => {
  it('count only threads that run', () => {
    const words = allocateEpochWords(3);
    expect(oldestAnnounced(words)).toBe(LAST_EPOCH);
    announceEpoch(words, 1, 7);
    announceEpoch(words, 2, 5);
    expect(oldestAnnounced(words)).toBe(5);
    retireThread(words, 2);
    expect(oldestAnnounced(words)).toBe(7);
    expect(announcedEpoch(words, 2)).toBe(NO_EPOCH);
    expect(() => announceEpoch(words, 3, 1)).toThrow(RangeError);
  });
});

/** Builds nothing: publishes the slot's memory, or new memory. */
function publishNext(pool: SnapshotPool): SnapshotSlot {
  const slot = pool.take();
  if (slot === null) throw new Error('no slot');
  expect(pool.publish(slot, slot.buffer ?? allocateShared(64))).toBe(true);
  return slot;
}

describe('snapshot pool', () => {
  it('gives memory out again only when every running thread is past its epoch', () => {
    const words = allocateEpochWords(2);
    const pool = new SnapshotPool(words, 3);
    expect(pool.current).toBeNull();
    publishNext(pool);
    const first = pool.current;
    announceEpoch(words, 0, 1);
    announceEpoch(words, 1, 1);
    publishNext(pool);
    publishNext(pool);
    expect(pool.current?.epoch).toBe(3);
    expect(pool.buffers).toBe(3);

    // Thread 1 has not been told of epoch 2 yet: neither the memory of epoch 1 nor that of epoch 2 is free.
    announceEpoch(words, 0, 3);
    expect(pool.take()).toBeNull();
    announceEpoch(words, 1, 2);
    const slot = pool.take();
    expect(slot).toEqual({ epoch: 4, buffer: first?.buffer });
    expect(pool.take()).toBeNull();
    announceEpoch(words, 1, 3);
    expect(pool.take()?.epoch).toBe(5);
    expect(pool.buffers).toBe(3);
  });

  it('is not held up by a thread that ended', () => {
    const words = allocateEpochWords(2);
    const pool = new SnapshotPool(words, 2);
    publishNext(pool);
    announceEpoch(words, 0, 1);
    announceEpoch(words, 1, 1);
    publishNext(pool);
    announceEpoch(words, 0, 2);
    expect(pool.take()).toBeNull();
    retireThread(words, 1);
    expect(pool.take()?.epoch).toBe(3);
  });

  it('never gives out the current snapshot, even when no thread runs', () => {
    const pool = new SnapshotPool(allocateEpochWords(1), 2);
    const seen = new Set<unknown>();
    for (let round = 0; round < 50; round++) {
      const before = pool.current?.buffer;
      const slot = publishNext(pool);
      if (slot.buffer !== null) expect(slot.buffer).not.toBe(before);
      seen.add(pool.current?.buffer);
    }
    expect(seen.size).toBe(2);
    expect(pool.buffers).toBe(2);
  });

  it('takes memory back from failed and overtaken builds', () => {
    const words = allocateEpochWords(1);
    const pool = new SnapshotPool(words, 3);
    publishNext(pool);
    publishNext(pool);
    const failed = pool.take() as SnapshotSlot;
    expect(failed.buffer).not.toBeNull();
    pool.abandon(failed);
    const slow = pool.take() as SnapshotSlot;
    expect(slow.buffer).toBe(failed.buffer);
    const fast = pool.take() as SnapshotSlot;
    const memory = allocateShared(64);
    expect(pool.publish(fast, memory)).toBe(true);
    expect(pool.publish(slow, slow.buffer as SharedArrayBuffer)).toBe(false);
    expect(pool.current).toEqual({ epoch: fast.epoch, buffer: memory });
    expect(pool.take()?.buffer).toBe(slow.buffer);
    expect(() => pool.abandon(slow)).toThrow(/not being built/);
  });

  it('needs two buffers', () => {
    expect(() => new SnapshotPool(allocateEpochWords(1), 1)).toThrow(RangeError);
  });
});
