/** From the rounds of a scenario to its figures: medians, ratios within each round, and whether a row says something about its peer. */

import type { Driven } from '../harness/drive.ts';
import { median } from '../harness/table.ts';
import {
  isJava,
  isOwn,
  JAVA_PEERS,
  MOST_P50_ABOVE_DIRECT,
  MOST_P99_OF_HAPROXY,
  MOST_P99_OF_JAVA,
  type OwnPeer,
  type Peer,
  type Scenario,
} from './scenarios.ts';

/** One peer in one round. */
export interface Round {
  readonly driven: Driven;
  /** CPU seconds of the NameNode per second. */
  readonly namenodeBusy: number;
  /** Share of the peer's core that other processes, and other virtual machines, used meanwhile. */
  readonly othersBusy: number;
  /** Connections that carried calls to the NameNode; null where it is not known. */
  readonly namenodeConnections: number | null;
  /** Resident memory of the peer after the load; 0 for the direct connection. */
  readonly rssBytes: number;
}

export interface PeerSummary {
  readonly peer: Peer;
  /** Why calls/s and latencies say nothing about the peer; '' when they do. CPU per call stands in any case. */
  readonly limit: string;
  readonly callsPerSecond: number;
  /** Of the whole process; null for the direct connection. */
  readonly cpuMicrosPerCall: number | null;
  /** Calls per CPU-second through those of the better Java Router in the same round; null without one. */
  readonly ofJava: number | null;
  /** CPU per call through HAProxy's in the same round; null without it. */
  readonly ofHaproxy: number | null;
  readonly p50Micros: number;
  readonly serviceP50Micros: number;
  readonly p99Micros: number;
  readonly p999Micros: number;
  /**
   * p50 since the call was written, less that of the direct connection in the same round; fixed rates only. The wait for the loader's own
   * tick, up to 1 ms, would hide differences of this size.
   */
  readonly p50AboveDirectMicros: number | null;
  /** p99 through the most that is aimed at, both of the same round; fixed rates only. */
  readonly p99OfBound: number | null;
  /** Median of that bound. */
  readonly p99BoundMicros: number | null;
  readonly rssBytes: number;
  readonly contextSwitchesPerCall: number;
  /** Share of a core. */
  readonly peerBusy: number;
  readonly loaderBusy: number;
  readonly namenodeBusy: number;
  /** Of the peer's core, used by others. */
  readonly othersBusy: number;
  /** Achieved through asked; null in a closed loop. */
  readonly achievedShare: number | null;
  readonly namenodeConnections: number | null;
  readonly errors: number;
  readonly firstError: string;
  readonly cpuMicrosOfRounds: readonly number[];
  readonly ofJavaOfRounds: readonly number[];
  readonly ofHaproxyOfRounds: readonly number[];
  readonly rounds: readonly Round[];
}

export interface ScenarioSummary {
  readonly scenario: string;
  readonly meaning: string;
  readonly connections: number;
  readonly inFlight: number;
  readonly users: number;
  /** Calls a second of an open loop; 0: closed loop. */
  readonly ratePerSecond: number;
  readonly peers: readonly PeerSummary[];
}

export type RoundsOfPeers = ReadonlyMap<Peer, readonly Round[]>;

/** Below this share of its core a peer in a closed loop was not what kept the calls from coming faster. */
export const SATURATED_BUSY = 0.9;
/** From this share of their cores on, load and NameNode are taken for the limit of an open loop. */
const TOOLS_BUSY = 0.9;

/** From this share of the peer's core on others have disturbed the round. */
const OTHERS_BUSY = 0.1;

/** `rounds` holds as many rounds of every peer, in the order in which they were run. `toolCores`: cores that load and NameNode share. */
export function summarise(
  scenario: Scenario,
  ratePerSecond: number,
  rounds: RoundsOfPeers,
  toolCores: number,
): ScenarioSummary {
  const peers: PeerSummary[] = [];
  for (const [peer, own] of rounds) peers.push(summarisePeer(peer, own, ratePerSecond, rounds, toolCores));
  const { name, meaning, connections, inFlight, users } = scenario;
  return { scenario: name, meaning, connections, inFlight, users, ratePerSecond, peers };
}

function summarisePeer(
  peer: Peer,
  own: readonly Round[],
  ratePerSecond: number,
  all: RoundsOfPeers,
  toolCores: number,
): PeerSummary {
  const isOpen = ratePerSecond > 0;
  const cpu = peer === 'direct' ? [] : own.map(cpuMicros);
  const java = bestOfJava(all, cpuMicros);
  const haproxy = all.get('haproxy')?.map(cpuMicros) ?? [];
  const direct = isOpen ? (all.get('direct') ?? []).map(serviceP50) : [];
  const bounds = isOpen && isOwn(peer) ? p99Bounds(all) : [];
  const ofJava = java.length === 0 ? [] : cpu.map((value, round) => (java[round] as number) / value);
  const ofHaproxy = haproxy.length === 0 ? [] : cpu.map((value, round) => value / (haproxy[round] as number));
  const callsPerSecond = medianOf(own, (round) => round.driven.callsPerSecond);
  const connections = own.map((round) => round.namenodeConnections).filter((value) => value !== null);
  return {
    peer,
    limit: findLimit(peer, own, isOpen, toolCores),
    callsPerSecond,
    cpuMicrosPerCall: medianOrNull(cpu),
    ofJava: medianOrNull(ofJava),
    ofHaproxy: medianOrNull(ofHaproxy),
    p50Micros: medianOf(own, p50),
    serviceP50Micros: medianOf(own, serviceP50),
    p99Micros: medianOf(own, p99),
    p999Micros: medianOf(own, (round) => round.driven.p999),
    p50AboveDirectMicros: medianOrNull(direct.map((value, round) => serviceP50(own[round] as Round) - value)),
    p99OfBound: medianOrNull(bounds.map((bound, round) => p99(own[round] as Round) / bound)),
    p99BoundMicros: medianOrNull(bounds),
    rssBytes: medianOf(own, (round) => round.rssBytes),
    contextSwitchesPerCall: medianOf(own, (round) => round.driven.contextSwitches / round.driven.calls),
    peerBusy: medianOf(own, peerBusy),
    loaderBusy: medianOf(own, (round) => round.driven.loaderBusy),
    namenodeBusy: medianOf(own, (round) => round.namenodeBusy),
    othersBusy: medianOf(own, (round) => round.othersBusy),
    achievedShare: isOpen ? callsPerSecond / ratePerSecond : null,
    namenodeConnections: connections.length === 0 ? null : Math.max(...connections),
    errors: own.reduce((sum, round) => sum + round.driven.errors, 0),
    firstError: own.find((round) => round.driven.firstError !== '')?.driven.firstError ?? '',
    cpuMicrosOfRounds: cpu,
    ofJavaOfRounds: ofJava,
    ofHaproxyOfRounds: ofHaproxy,
    rounds: own,
  };
}

/** The limit that held in half of the rounds or more. */
function findLimit(peer: Peer, rounds: readonly Round[], isOpen: boolean, toolCores: number): string {
  const isMost = (holds: (round: Round) => boolean): boolean => rounds.filter(holds).length * 2 >= rounds.length;
  if (isMost((round) => round.othersBusy >= OTHERS_BUSY)) {
    const others = medianOf(rounds, (round) => round.othersBusy);
    return `disturbed: other processes used ${(others * 100).toFixed(0)} % of its core`;
  }
  // A peer whose core is full is the limit of a closed loop, however busy the others are.
  if (!isOpen && peer !== 'direct' && !isMost((round) => peerBusy(round) < SATURATED_BUSY)) return '';
  if (isMost((round) => round.driven.loaderWasTheLimit)) return 'the loader was the limit';
  const tools = (round: Round): number => (round.driven.loaderBusy + round.namenodeBusy) / toolCores;
  const busy = `load and NameNode were busy ${(medianOf(rounds, tools) * 100).toFixed(0)} %`;
  if (isOpen) return isMost((round) => tools(round) >= TOOLS_BUSY) ? `the tools were the limit: ${busy}` : '';
  if (peer === 'direct') return `no peer in between: ${busy}`;
  return isMost((round) => tools(round) >= TOOLS_BUSY)
    ? `the tools were the limit: ${busy}`
    : `neither end was saturated: ${busy}`;
}

/** The most calls a second of the best Java Router in a closed loop: median of its rounds. Undefined without one. */
export function findJavaCeiling(rounds: RoundsOfPeers): { peer: Peer; callsPerSecond: number } | undefined {
  let best: { peer: Peer; callsPerSecond: number } | undefined;
  for (const [peer, own] of rounds) {
    if (!isJava(peer)) continue;
    const callsPerSecond = medianOf(own, (round) => round.driven.callsPerSecond);
    if (best === undefined || callsPerSecond > best.callsPerSecond) best = { peer, callsPerSecond };
  }
  return best;
}

/** In each round the smaller figure of the Java Routers; empty without one. */
function bestOfJava(rounds: RoundsOfPeers, figure: (round: Round) => number): number[] {
  const variants = JAVA_PEERS.map((peer) => rounds.get(peer)).filter((own) => own !== undefined);
  return (variants[0] ?? []).map((_, round) => Math.min(...variants.map((own) => figure(own[round] as Round))));
}

/** In each round the highest p99 that is aimed at; empty when a peer that it depends on is missing. */
function p99Bounds(rounds: RoundsOfPeers): number[] {
  const java = bestOfJava(rounds, p99);
  const haproxy = (rounds.get('haproxy') ?? []).map(p99);
  if (java.length === 0 || haproxy.length === 0) return [];
  return java.map((value, round) =>
    Math.max(value * MOST_P99_OF_JAVA, (haproxy[round] as number) * MOST_P99_OF_HAPROXY),
  );
}

export interface Verdict {
  readonly scenario: string;
  readonly peer: OwnPeer;
  readonly what: string;
  readonly target: string;
  readonly value: string;
  readonly result: 'aim reached' | 'reached' | 'missed' | 'not measured';
}

/** What was aimed at for our own variants, and what came of it. */
export function judge(scenario: Scenario, summary: ScenarioSummary): Verdict[] {
  const verdicts: Verdict[] = [];
  for (const row of summary.peers) {
    const { peer } = row;
    if (!isOwn(peer)) continue;
    const common = { scenario: scenario.name, peer };
    const { target } = scenario;
    if (target !== undefined) {
      verdicts.push({
        ...common,
        what: 'calls per CPU-second / Java Router',
        target: `≥ ${target.leastOfJava}${target.aimOfJava === target.leastOfJava ? '' : `, aim ${target.aimOfJava}`}`,
        value: row.ofJava?.toFixed(1) ?? '-',
        // Negated, more is less: one comparison for both kinds.
        result: compare(negate(row.ofJava), -target.leastOfJava, -target.aimOfJava),
      });
      verdicts.push({
        ...common,
        what: 'CPU per call / HAProxy',
        target: `≤ ${target.mostOfHaproxy}${target.aimOfHaproxy === target.mostOfHaproxy ? '' : `, aim ${target.aimOfHaproxy}`}`,
        value: row.ofHaproxy?.toFixed(2) ?? '-',
        result: compare(row.ofHaproxy, target.mostOfHaproxy, target.aimOfHaproxy),
      });
      continue;
    }
    const most = MOST_P50_ABOVE_DIRECT[peer];
    const isValid = (...peers: Peer[]): boolean =>
      row.limit === '' && summary.peers.every((other) => !peers.includes(other.peer) || other.limit === '');
    verdicts.push({
      ...common,
      what: 'p50 above direct, since the write, µs',
      target: `≤ ${most}`,
      value: row.p50AboveDirectMicros?.toFixed(0) ?? '-',
      result: compare(isValid('direct') ? row.p50AboveDirectMicros : null, most, most),
    });
    verdicts.push({
      ...common,
      what: 'p99, µs',
      target: `≤ ${row.p99BoundMicros?.toFixed(0) ?? '-'} (larger of Java / 4 and HAProxy × 1.5)`,
      value: row.p99Micros.toFixed(0),
      result: compare(isValid('haproxy', ...JAVA_PEERS) ? row.p99OfBound : null, 1, 1),
    });
  }
  return verdicts;
}

function compare(value: number | null, most: number, aim: number): Verdict['result'] {
  if (value === null) return 'not measured';
  if (value > most) return 'missed';
  return value <= aim && aim !== most ? 'aim reached' : 'reached';
}

function negate(value: number | null): number | null {
  return value === null ? null : -value;
}

function cpuMicros(round: Round): number {
  return (round.driven.cpuSeconds * 1e6) / round.driven.calls;
}

function peerBusy(round: Round): number {
  return round.driven.cpuSeconds / round.driven.seconds;
}

function p50(round: Round): number {
  return round.driven.p50;
}

function serviceP50(round: Round): number {
  return round.driven.serviceP50;
}

function p99(round: Round): number {
  return round.driven.p99;
}

function medianOf(rounds: readonly Round[], figure: (round: Round) => number): number {
  return median(rounds.map(figure));
}

function medianOrNull(values: readonly number[]): number | null {
  return values.length === 0 ? null : median(values);
}
