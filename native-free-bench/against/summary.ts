/** From the rounds of a scenario to its figures: medians, ratios within each round, and whether a row says something about its peer. */

import { achievedShare, cpuMicros, findLimit, type Metered, peerBusy } from '../harness/limits.ts';
import { median, printBeside } from '../harness/table.ts';
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
export interface Round extends Metered {
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
  readonly serviceP99Micros: number;
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
  /** The same since the calls were written: without the wait for the loader's own tick, which is part of every peer's p99. */
  readonly serviceP99OfBound: number | null;
  readonly serviceP99BoundMicros: number | null;
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
  const cpu = peer === 'direct' ? [] : own.map(cpuOf);
  const java = bestOfJava(all, cpuOf);
  const haproxy = all.get('haproxy')?.map(cpuOf) ?? [];
  const direct = isOpen ? (all.get('direct') ?? []).map(serviceP50) : [];
  const bounds = isOpen && isOwn(peer) ? p99Bounds(all, p99) : [];
  const serviceBounds = isOpen && isOwn(peer) ? p99Bounds(all, serviceP99) : [];
  const ofJava = java.length === 0 ? [] : cpu.map((value, round) => (java[round] as number) / value);
  const ofHaproxy = haproxy.length === 0 ? [] : cpu.map((value, round) => value / (haproxy[round] as number));
  const connections = own.map((round) => round.namenodeConnections).filter((value) => value !== null);
  return {
    peer,
    limit: findLimit(own, { ratePerSecond, toolCores, peerCores: peer === 'direct' ? 0 : 1 }),
    callsPerSecond: medianOf(own, (round) => round.driven.callsPerSecond),
    cpuMicrosPerCall: medianOrNull(cpu),
    ofJava: medianOrNull(ofJava),
    ofHaproxy: medianOrNull(ofHaproxy),
    p50Micros: medianOf(own, p50),
    serviceP50Micros: medianOf(own, serviceP50),
    p99Micros: medianOf(own, p99),
    serviceP99Micros: medianOf(own, serviceP99),
    p999Micros: medianOf(own, (round) => round.driven.p999),
    p50AboveDirectMicros: medianOrNull(direct.map((value, round) => serviceP50(own[round] as Round) - value)),
    p99OfBound: medianOrNull(bounds.map((bound, round) => p99(own[round] as Round) / bound)),
    p99BoundMicros: medianOrNull(bounds),
    serviceP99OfBound: medianOrNull(serviceBounds.map((bound, round) => serviceP99(own[round] as Round) / bound)),
    serviceP99BoundMicros: medianOrNull(serviceBounds),
    rssBytes: medianOf(own, (round) => round.rssBytes),
    contextSwitchesPerCall: medianOf(own, (round) => round.driven.contextSwitches / round.driven.calls),
    peerBusy: medianOf(own, (round) => peerBusy(round.driven)),
    loaderBusy: medianOf(own, (round) => round.driven.loaderBusy),
    namenodeBusy: medianOf(own, (round) => round.namenodeBusy),
    othersBusy: medianOf(own, (round) => round.othersBusy),
    achievedShare: achievedShare(own, ratePerSecond),
    namenodeConnections: connections.length === 0 ? null : Math.max(...connections),
    errors: own.reduce((sum, round) => sum + round.driven.errors, 0),
    firstError: own.find((round) => round.driven.firstError !== '')?.driven.firstError ?? '',
    cpuMicrosOfRounds: cpu,
    ofJavaOfRounds: ofJava,
    ofHaproxyOfRounds: ofHaproxy,
    rounds: own,
  };
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

/** In each round the highest p99, as `figure` takes it, that is aimed at; empty when a peer that it depends on is missing. */
function p99Bounds(rounds: RoundsOfPeers, figure: (round: Round) => number): number[] {
  const java = bestOfJava(rounds, figure);
  const haproxy = (rounds.get('haproxy') ?? []).map(figure);
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
        value: row.ofJava === null ? '-' : printBeside(row.ofJava, target.leastOfJava, 1),
        // Negated, more is less: one comparison for both kinds.
        result: compare(negate(row.ofJava), -target.leastOfJava, -target.aimOfJava),
      });
      verdicts.push({
        ...common,
        what: 'CPU per call / HAProxy',
        target: `≤ ${target.mostOfHaproxy}${target.aimOfHaproxy === target.mostOfHaproxy ? '' : `, aim ${target.aimOfHaproxy}`}`,
        value: row.ofHaproxy === null ? '-' : printBeside(row.ofHaproxy, target.mostOfHaproxy, 2),
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
      value: row.p50AboveDirectMicros === null ? '-' : printBeside(row.p50AboveDirectMicros, most, 0),
      result: compare(isValid('direct') ? row.p50AboveDirectMicros : null, most, most),
    });
    const p99Verdict = (what: string, micros: number, bound: number | null, ofBound: number | null): Verdict => ({
      ...common,
      what,
      target: `≤ ${bound?.toFixed(0) ?? '-'} (larger of Java / 4 and HAProxy × 1.5)`,
      // Judged by the ratios within each round: the medians of the two sides may come from different rounds.
      value: ofBound === null ? micros.toFixed(0) : `${micros.toFixed(0)}, ${printBeside(ofBound, 1, 2)} × the bound`,
      result: compare(isValid('haproxy', ...JAVA_PEERS) ? ofBound : null, 1, 1),
    });
    verdicts.push(p99Verdict('p99, µs', row.p99Micros, row.p99BoundMicros, row.p99OfBound));
    verdicts.push(
      p99Verdict('p99 since the write, µs', row.serviceP99Micros, row.serviceP99BoundMicros, row.serviceP99OfBound),
    );
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

function cpuOf(round: Round): number {
  return cpuMicros(round.driven);
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

function serviceP99(round: Round): number {
  return round.driven.serviceP99;
}

function medianOf(rounds: readonly Round[], figure: (round: Round) => number): number {
  return median(rounds.map(figure));
}

function medianOrNull(values: readonly number[]): number | null {
  return values.length === 0 ? null : median(values);
}
