import { describe, expect, it } from 'vitest';
import { ClientCounts, CountOf, createClientCounts } from '../../src/shared/client-counts.ts';

const { ADDRESS, USER } = CountOf;

function sharedBy(acceptors: number): SharedArrayBuffer {
  const protection = {
    connectionsPerAddress: 0,
    connectionsPerUser: 1,
    callsInFlight: 1,
    handshakeMs: 1,
    frameMs: 1,
    unreadBytes: 1,
  };
  expect(createClientCounts({ acceptors, protection: { ...protection, connectionsPerUser: 0 } })).toBe(null);
  return createClientCounts({ acceptors, protection }) as SharedArrayBuffer;
}

describe('counts of connections', () => {
  it('are of all acceptors together, of each name and of each kind', () => {
    const shared = sharedBy(3);
    const [first, second, third] = [0, 1, 2].map((index) => new ClientCounts(shared, index)) as [
      ClientCounts,
      ClientCounts,
      ClientCounts,
    ];
    expect(first.add(USER, 'alice', 2)).toBe(true);
    expect(second.add(USER, 'alice', 2)).toBe(true);
    for (const counts of [first, second, third]) expect(counts.add(USER, 'alice', 2)).toBe(false);
    expect(third.add(USER, 'bob', 2)).toBe(true);
    expect(third.add(ADDRESS, 'alice', 1)).toBe(true);
    first.remove(USER, 'alice');
    expect(third.add(USER, 'alice', 2)).toBe(true);
    expect(first.add(USER, 'alice', 2)).toBe(false);
  });

  it('of an acceptor that died are gone when another takes its place', () => {
    const shared = sharedBy(2);
    const first = new ClientCounts(shared, 0);
    const second = new ClientCounts(shared, 1);
    for (let i = 0; i < 5; i++) expect(first.add(USER, 'alice', 6)).toBe(true);
    expect(second.add(USER, 'alice', 6)).toBe(true);
    expect(second.add(USER, 'alice', 6)).toBe(false);
    const again = new ClientCounts(shared, 0);
    for (let i = 0; i < 5; i++) expect(again.add(USER, 'alice', 6)).toBe(true);
    expect(again.add(USER, 'alice', 6)).toBe(false);
  });

  it('of a thousand names are right for nearly all, never too small, and zero when all have gone', () => {
    const counts = new ClientCounts(sharedBy(1), 0);
    const names = Array.from({ length: 1_000 }, (_, i) => `user${i}`);
    const limit = 20;
    let tooMany = 0;
    for (const name of names) {
      let added = 0;
      while (counts.add(USER, name, limit)) added++;
      expect(added).toBeLessThanOrEqual(limit);
      if (added < limit) tooMany++;
      for (let i = 0; i < added; i++) counts.remove(USER, name);
      // All names stay with one connection each.
      expect(counts.add(USER, name, limit + names.length)).toBe(true);
    }
    // One in 270 when all are there; the seed is random.
    expect(tooMany).toBeLessThan(30);
    for (const name of names) counts.remove(USER, name);
    for (const name of names) {
      expect(counts.add(USER, name, 1)).toBe(true);
      counts.remove(USER, name);
    }
  });
});
