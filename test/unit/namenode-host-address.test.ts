import type { LookupAddress } from 'node:dns';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HostAddress } from '../../src/namenode/host-address.ts';

type Answer = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/** Lookups that the resolver has not answered. */
let asked: Answer[];
let host: HostAddress;

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  host = new HostAddress('nn.example', (name, answer) => {
    expect(name).toBe('nn.example');
    asked.push(answer);
  });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Asks as `net.connect` does; what it is told comes to stand in the list. */
function ask(): string[] {
  const told: string[] = [];
  host.lookup('nn.example', { all: true }, (error, addresses) => {
    if (error !== null) told.push(error.message);
    else for (const { address } of addresses as LookupAddress[]) told.push(address);
  });
  return told;
}

function answer(...addresses: string[]): void {
  asked.shift()?.(
    null,
    addresses.map((address) => ({ address, family: 4 })),
  );
}

function refuse(): void {
  asked.shift()?.(Object.assign(new Error('getaddrinfo EAI_AGAIN nn.example'), { code: 'EAI_AGAIN' }), []);
}

describe('the addresses of a host', () => {
  it('are looked up once for all who ask meanwhile', () => {
    const told = Array.from({ length: 20 }, ask);
    expect(asked).toHaveLength(1);
    answer('10.0.0.1', '10.0.0.2');
    for (const each of told) expect(each).toEqual(['10.0.0.1', '10.0.0.2']);
    expect(ask()).toEqual(['10.0.0.1', '10.0.0.2']);
    expect(asked).toHaveLength(0);
  });

  it('are the first of them for who wants one', () => {
    ask();
    answer('10.0.0.1', '10.0.0.2');
    const found = vi.fn();
    host.lookup('nn.example', {}, found);
    expect(found).toHaveBeenCalledExactlyOnceWith(null, '10.0.0.1', 4);
  });

  it('are looked up again after a failure', () => {
    ask();
    answer('10.0.0.1');
    host.invalidate();
    const told = ask();
    expect(told).toEqual([]);
    answer('10.0.0.9');
    expect(told).toEqual(['10.0.0.9']);
  });

  it('are looked up again beside their use when they are old', () => {
    ask();
    answer('10.0.0.1');
    vi.advanceTimersByTime(10_000);
    expect(ask()).toEqual(['10.0.0.1']);
    expect(ask()).toEqual(['10.0.0.1']);
    expect(asked).toHaveLength(1);
    answer('10.0.0.9');
    expect(ask()).toEqual(['10.0.0.9']);
  });

  it('are the last known ones when the resolver fails, or is not quick', () => {
    ask();
    answer('10.0.0.1');
    host.invalidate();
    const refused = ask();
    refuse();
    expect(refused).toEqual(['10.0.0.1']);

    const waiting = [ask(), ask()];
    vi.advanceTimersByTime(499);
    expect(waiting).toEqual([[], []]);
    vi.advanceTimersByTime(1);
    expect(waiting).toEqual([['10.0.0.1'], ['10.0.0.1']]);
    // However often it is asked, one lookup is under way.
    for (let i = 0; i < 20; i++) ask();
    vi.advanceTimersByTime(500);
    expect(asked).toHaveLength(1);
    answer('10.0.0.9');
    expect(ask()).toEqual(['10.0.0.9']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that were never found are an error, and asked for anew', () => {
    const told = ask();
    refuse();
    expect(told).toEqual(['getaddrinfo EAI_AGAIN nn.example']);
    const again = ask();
    answer();
    expect(again).toEqual(['getaddrinfo ENOTFOUND nn.example']);
    const found = ask();
    answer('10.0.0.1');
    expect(found).toEqual(['10.0.0.1']);
  });
});
