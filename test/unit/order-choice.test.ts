import { describe, expect, it } from 'vitest';
import { Random } from '../../src/load/thread/random.ts';
import { isAllOrder, type MountOrder, ORDERS } from '../../src/mount/entry.ts';
import { type FigureData, GivenFigures, NO_FIGURES, type OrderFigures } from '../../src/mount/order/figures.ts';
import { firstNameservice, orderDestinations, RECORD_ORDER } from '../../src/mount/order/order.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { MountSnapshot } from '../../src/mount/snapshot.ts';
import { mount } from './mount-samples.ts';

const TOPOLOGY = ['ns0', 'ns1', 'ns2', 'ns9'];
const DRAWS = 20_000;

interface Choice {
  readonly destinations: readonly string[];
  readonly order: MountOrder;
  readonly figures?: OrderFigures;
  readonly address?: string;
  readonly preferencePercent?: number;
  readonly random?: () => number;
}

function snapshotOf({ destinations, order }: Choice): MountSnapshot {
  return MountSnapshot.from(buildSnapshot([mount('/m', Array.from(destinations), { order })], TOPOLOGY, 1, null));
}

/** First nameservice by name, null for record order. */
function choose(choice: Choice, snapshot = snapshotOf(choice)): string | null {
  const { figures = NO_FIGURES, address = '', preferencePercent = 60, random = () => 0 } = choice;
  const first = firstNameservice(snapshot, 0, '/m/d/f', '/m', address, figures, random, preferencePercent);
  return first === RECORD_ORDER ? null : snapshot.nameserviceName(first);
}

/** How often each nameservice came first. */
function countChoices(choice: Choice): Record<string, number> {
  const draw = new Random(7, 0);
  const random = (): number => draw.nextShare();
  const snapshot = snapshotOf(choice);
  const counts: Record<string, number> = {};
  for (let i = 0; i < DRAWS; i++) {
    const name = choose({ ...choice, random }, snapshot) ?? 'record order';
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Names and their parts of all draws, within 2 of 100. */
function expectShares(counts: Record<string, number>, shares: Record<string, number>): void {
  expect(Object.keys(counts).sort()).toEqual(Object.keys(shares).sort());
  for (const [name, share] of Object.entries(shares)) {
    expect(Math.abs((counts[name] ?? 0) / DRAWS - share), `${name}: ${counts[name]}`).toBeLessThan(0.02);
  }
}

function figuresOf(data: Partial<FigureData>): GivenFigures {
  return new GivenFigures({ clients: [], available: [], ...data }, TOPOLOGY);
}

/** The destinations as written, in the order to ask them. */
function ordered(choice: Choice): string[] {
  const snapshot = snapshotOf(choice);
  const { figures = NO_FIGURES, address = '', random = () => 0 } = choice;
  const first = firstNameservice(snapshot, 0, '/m/d/f', '/m', address, figures, random, 60);
  return orderDestinations(snapshot, 0, first).map((i) => choice.destinations[i] as string);
}

describe('LOCAL', () => {
  const figures = figuresOf({
    clients: [
      ['10.0.0.1', 'ns0'],
      ['10.0.0.2', 'ns1'],
      ['fe80::1', 'ns1'],
      ['10.0.0.9', 'ns9'],
    ],
  });
  const destinations = ['ns0:/a', 'ns1:/b', 'ns2:/c'];

  it.each([
    ['10.0.0.1', 'ns0'],
    ['10.0.0.2', 'ns1'],
    ['fe80::1', 'ns1'],
    ['10.0.0.9', null],
    ['10.0.0.3', null],
    ['', null],
  ])('gives a client at %s %s', (address, name) => {
    expect(choose({ destinations, order: 'LOCAL', figures, address })).toBe(name);
  });

  it('is the order of the record without figures', () => {
    expect(choose({ destinations, order: 'LOCAL', address: '10.0.0.2' })).toBeNull();
    expect(ordered({ destinations, order: 'LOCAL', address: '10.0.0.2' })).toEqual(destinations);
    expect(ordered({ destinations, order: 'LOCAL', figures, address: '10.0.0.2' })).toEqual([
      'ns1:/b',
      'ns0:/a',
      'ns2:/c',
    ]);
  });
});

describe('RANDOM', () => {
  it('draws evenly among the distinct nameservices', () => {
    const counts = countChoices({ destinations: ['ns2:/a', 'ns0:/b', 'ns2:/c', 'far:/d'], order: 'RANDOM' });
    expectShares(counts, { ns0: 1 / 3, ns2: 1 / 3, far: 1 / 3 });
  });

  it('takes both ends of what is drawn', () => {
    const destinations = ['ns0:/a', 'ns1:/b'];
    expect(choose({ destinations, order: 'RANDOM', random: () => 0 })).toBe('ns0');
    expect(choose({ destinations, order: 'RANDOM', random: () => 1 - 2 ** -53 })).toBe('ns1');
  });
});

describe('SPACE', () => {
  const available: FigureData['available'] = [
    ['ns0', 10],
    ['ns1', 30],
    ['ns2', 20],
    ['ns9', 1e15],
  ];
  const figures = figuresOf({ available });
  const two = ['ns0:/a', 'ns1:/b'];

  it.each([60, 100, 50, 0, 99])('gives the larger of two %i of 100', (preferencePercent) => {
    const share = preferencePercent / 100;
    const expected = Object.entries({ ns1: share, ns0: 1 - share }).filter(([, part]) => part > 0);
    for (const destinations of [two, [...two].reverse()]) {
      const counts = countChoices({ destinations, order: 'SPACE', figures, preferencePercent });
      expectShares(counts, Object.fromEntries(expected));
    }
  });

  it('compares whole percents', () => {
    const at = (share: number): string | null =>
      choose({ destinations: two, order: 'SPACE', figures, random: () => share });
    expect([at(0), at(0.599), at(0.6), at(0.999)]).toEqual(['ns1', 'ns1', 'ns0', 'ns0']);
  });

  it('prefers the larger of three to the next', () => {
    const destinations = ['ns0:/a', 'ns1:/b', 'ns2:/c'];
    expectShares(countChoices({ destinations, order: 'SPACE', figures }), { ns1: 0.6, ns2: 0.24, ns0: 0.16 });
  });

  it('shares evenly among equals', () => {
    const equal = figuresOf({
      available: [
        ['ns0', 5],
        ['ns1', 5],
        ['ns2', 1],
      ],
    });
    expectShares(countChoices({ destinations: two, order: 'SPACE', figures: equal }), { ns0: 0.5, ns1: 0.5 });
    const three = ['ns2:/c', ...two];
    expectShares(countChoices({ destinations: three, order: 'SPACE', figures: equal }), {
      ns0: 0.42,
      ns1: 0.42,
      ns2: 0.16,
    });
  });

  it('never chooses a nameservice outside the mount, however much space it has', () => {
    const counts = countChoices({ destinations: ['ns0:/a', 'ns2:/b'], order: 'SPACE', figures });
    expectShares(counts, { ns2: 0.6, ns0: 0.4 });
  });

  it('passes over nameservices of unknown space', () => {
    expect(countChoices({ destinations: ['far:/a', 'ns0:/b'], order: 'SPACE', figures })).toEqual({ ns0: DRAWS });
    expect(choose({ destinations: ['far:/a', 'away:/b'], order: 'SPACE', figures })).toBeNull();
    expect(choose({ destinations: two, order: 'SPACE' })).toBeNull();
    expect(ordered({ destinations: ['far:/a', 'away:/b'], order: 'SPACE', figures })).toEqual(['far:/a', 'away:/b']);
  });

  it('knows a nameservice that is full', () => {
    const full = figuresOf({ available: [['ns0', 0]] });
    expect(choose({ destinations: two, order: 'SPACE', figures: full })).toBe('ns0');
  });
});

describe('LEADER_FOLLOWER', () => {
  it('starts with the nameservice that the record names first', () => {
    const choice = { destinations: ['ns2:/a', 'ns0:/b', 'ns1:/c'], order: 'LEADER_FOLLOWER' } as const;
    expect(countChoices({ ...choice, figures: figuresOf({ available: [['ns0', 9]] }) })).toEqual({ ns2: DRAWS });
    expect(ordered(choice)).toEqual(choice.destinations);
    expect(isAllOrder('LEADER_FOLLOWER')).toBe(true);
  });

  it('takes a leader that is not behind this router', () => {
    expect(ordered({ destinations: ['far:/a', 'ns0:/b'], order: 'LEADER_FOLLOWER' })).toEqual(['far:/a', 'ns0:/b']);
  });
});

describe('every order', () => {
  const figures: OrderFigures = { nameserviceOfClient: () => 3, availableBytes: (ns) => (ns === 3 ? 1e15 : ns) };

  it.each(ORDERS)('%s chooses nothing where there is nothing to choose', (order) => {
    expect(choose({ destinations: ['ns0:/a'], order, figures, address: '10.0.0.1' })).toBeNull();
    expect(ordered({ destinations: ['ns0:/a'], order })).toEqual(['ns0:/a']);
  });

  it.each(ORDERS)('%s stays among the nameservices of the mount', (order) => {
    const counts = countChoices({ destinations: ['ns0:/a', 'ns2:/b', 'far:/c'], order, figures, address: '10.0.0.1' });
    expect(Object.keys(counts).filter((name) => !['ns0', 'ns2', 'far', 'record order'].includes(name))).toEqual([]);
  });

  it.each(ORDERS)('%s takes a mount whose destinations lie in one nameservice', (order) => {
    const destinations = ['ns1:/a', 'ns1:/b'];
    expect([...ordered({ destinations, order, figures, address: '10.0.0.1' })].sort()).toEqual(destinations);
  });
});

describe('order of destinations', () => {
  const destinations = ['ns0:/a', 'ns1:/b', 'ns0:/c', 'ns2:/d', 'ns0:/e'];
  const snapshot = snapshotOf({ destinations, order: 'HASH' });

  it.each([
    [0, [4, 2, 0, 1, 3]],
    [1, [1, 0, 2, 3, 4]],
    [2, [3, 0, 1, 2, 4]],
    [3, [0, 1, 2, 3, 4]],
    [RECORD_ORDER, [0, 1, 2, 3, 4]],
  ])('with nameservice %i first', (first, expected) => {
    expect(orderDestinations(snapshot, 0, first)).toEqual(expected);
  });
});

describe('given figures', () => {
  it('know only nameservices of the topology, and the last word on each', () => {
    const figures = figuresOf({
      clients: [
        ['10.0.0.1', 'ns0'],
        ['10.0.0.2', 'far'],
        ['10.0.0.1', 'ns1'],
      ],
      available: [
        ['ns0', 1],
        ['far', 2],
        ['ns0', 3],
        ['ns1', -5],
        ['ns2', Number.NaN],
        ['ns9', Number.POSITIVE_INFINITY],
      ],
    });
    expect(['10.0.0.1', '10.0.0.2', ''].map((address) => figures.nameserviceOfClient(address))).toEqual([1, -1, -1]);
    expect([0, 1, 2, 3, 4, -1].map((nameservice) => figures.availableBytes(nameservice))).toEqual([
      3, -1, -1, -1, -1, -1,
    ]);
  });

  it('survive the way to another thread', () => {
    const data: FigureData = { clients: [['10.0.0.1', 'ns1']], available: [['ns1', 7]] };
    const figures = new GivenFigures(structuredClone(data), TOPOLOGY);
    expect([figures.nameserviceOfClient('10.0.0.1'), figures.availableBytes(1)]).toEqual([1, 7]);
  });

  it('take no more addresses than their limit', () => {
    const clients: FigureData['clients'] = [
      ['a', 'ns0'],
      ['b', 'ns0'],
      ['c', 'ns0'],
      ['a', 'ns1'],
    ];
    const figures = new GivenFigures({ clients, available: [] }, TOPOLOGY, 2);
    expect(['a', 'b', 'c'].map((address) => figures.nameserviceOfClient(address))).toEqual([1, 0, -1]);
  });
});
