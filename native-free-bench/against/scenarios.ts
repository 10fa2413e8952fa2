/** What is compared, and what the project aims at: one table. */

export interface Target {
  /** Calls per CPU-second as a multiple of the better Java Router's in the same round, at least. */
  readonly leastOfJava: number;
  readonly aimOfJava: number;
  /** CPU per call as a multiple of HAProxy's in the same round, at most. */
  readonly mostOfHaproxy: number;
  readonly aimOfHaproxy: number;
}

export interface Scenario {
  readonly name: string;
  readonly meaning: string;
  readonly connections: number;
  /** Calls in flight of each connection, in a closed loop. */
  readonly inFlight: number;
  readonly users: number;
  /** Rate of an open loop as a share of the Java Router's ceiling; 0: closed loop. */
  readonly ceilingShare: number;
  /** Of closed loops; what holds for fixed rates is the same for all of them, below. */
  readonly target?: Target;
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: '64x1',
    meaning: '64 connections, 1 call in flight each',
    connections: 64,
    inFlight: 1,
    users: 1,
    ceilingShare: 0,
    target: { leastOfJava: 8, aimOfJava: 10, mostOfHaproxy: 0.9, aimOfHaproxy: 0.7 },
  },
  {
    name: '1000x1',
    meaning: '1000 connections, 1 call in flight each',
    connections: 1000,
    inFlight: 1,
    users: 1,
    ceilingShare: 0,
    target: { leastOfJava: 6, aimOfJava: 6, mostOfHaproxy: 0.8, aimOfHaproxy: 0.8 },
  },
  {
    name: '8x64',
    meaning: '8 connections, 64 calls in flight each',
    connections: 8,
    inFlight: 64,
    users: 1,
    ceilingShare: 0,
    target: { leastOfJava: 60, aimOfJava: 100, mostOfHaproxy: 4, aimOfHaproxy: 2.5 },
  },
  {
    name: '64x1-users',
    meaning: '64 connections of 32 users, 1 call in flight each',
    connections: 64,
    inFlight: 1,
    users: 32,
    ceilingShare: 0,
    target: { leastOfJava: 6, aimOfJava: 6, mostOfHaproxy: 1.3, aimOfHaproxy: 1.3 },
  },
  {
    name: 'rate-50',
    meaning: "64 connections, fixed rate: half of the Java Router's ceiling",
    connections: 64,
    inFlight: 1,
    users: 1,
    ceilingShare: 0.5,
  },
  {
    name: 'rate-80',
    meaning: "64 connections, fixed rate: 80 % of the Java Router's ceiling",
    connections: 64,
    inFlight: 1,
    users: 1,
    ceilingShare: 0.8,
  },
];

/** The scenario in which the Java Router's ceiling is found. */
export const CEILING_SCENARIO: Scenario = SCENARIOS[0] as Scenario;

/** At fixed rates: µs of the median above the direct connection, at most. */
export const MOST_P50_ABOVE_DIRECT: Readonly<Record<OwnPeer, number>> = { ring: 150, inline: 100 };
/** At fixed rates: p99 is at most the larger of these shares of the better Java Router's and of HAProxy's. */
export const MOST_P99_OF_JAVA = 0.25;
export const MOST_P99_OF_HAPROXY = 1.5;

export const PEERS = ['direct', 'haproxy', 'java-pool', 'java-single', 'ring', 'inline'] as const;
export type Peer = (typeof PEERS)[number];
export type JavaPeer = 'java-pool' | 'java-single';
export type OwnPeer = 'ring' | 'inline';

export const JAVA_PEERS: readonly JavaPeer[] = ['java-pool', 'java-single'];

export function isJava(peer: Peer): peer is JavaPeer {
  return peer === 'java-pool' || peer === 'java-single';
}

export function isOwn(peer: Peer): peer is OwnPeer {
  return peer === 'ring' || peer === 'inline';
}
