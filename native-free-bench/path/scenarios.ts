/** What the path bench measures and what it aims at: one table. */

export interface Scenario {
  readonly name: string;
  readonly meaning: string;
  readonly clients: number;
  /** Calls in flight of each client in a closed loop. */
  readonly depth: number;
  /** Calls a second of all clients together in an open loop; 0 for a closed loop. */
  readonly ratePerSecond: number;
  /** Users among whom the clients are divided. */
  readonly users: number;
  /** Most CPU per call of each router variant, as a multiple of HAProxy's in the same rounds. */
  readonly target: { readonly ring: number; readonly inline: number };
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: '64x1',
    meaning: '64 clients, 1 call in flight each',
    clients: 64,
    depth: 1,
    ratePerSecond: 0,
    users: 1,
    target: { ring: 0.9, inline: 0.9 },
  },
  {
    name: '1000x1',
    meaning: '1000 clients, 1 call in flight each',
    clients: 1000,
    depth: 1,
    ratePerSecond: 0,
    users: 1,
    target: { ring: 0.8, inline: 0.8 },
  },
  {
    name: '8x64',
    meaning: '8 clients, 64 calls in flight each',
    clients: 8,
    depth: 64,
    ratePerSecond: 0,
    users: 1,
    target: { ring: 4, inline: 4 },
  },
  {
    name: '64x1u32',
    meaning: '64 clients of 32 users, 1 call in flight each',
    clients: 64,
    depth: 1,
    ratePerSecond: 0,
    users: 32,
    target: { ring: 1.3, inline: 1.3 },
  },
  {
    name: '64@10000',
    meaning: '64 clients, together 10,000 calls a second (open loop)',
    clients: 64,
    depth: 0,
    ratePerSecond: 10_000,
    users: 1,
    target: { ring: 2.6, inline: 1.7 },
  },
];
