/**
 * What a load was limited by. Calls a second and latencies say something about a peer only where nothing else was the limit; its CPU per call
 * stands in any case.
 */

import { SATURATED_SHARE } from '../../src/load/result/result.ts';
import { type Drive, type Driven, drive } from './drive.ts';
import { readCoreBusySeconds, readCpuSeconds } from './process-meter.ts';
import { median } from './table.ts';

/** One load, with what else was busy meanwhile. */
export interface Metered {
  readonly driven: Driven;
  /** CPU seconds of the NameNode per second. */
  readonly namenodeBusy: number;
  /** Share of the peer's cores that other processes, interrupts outside any process, and other virtual machines used meanwhile. */
  readonly othersBusy: number;
}

export interface LimitConditions {
  /** Calls a second of an open loop; 0: closed loop. */
  readonly ratePerSecond: number;
  /** Cores that load and NameNode share. */
  readonly toolCores: number;
  /** Cores of the peer; 0 for the direct connection. */
  readonly peerCores: number;
}

/** Below this share of its core a peer in a closed loop was not what kept the calls from coming faster. */
export const SATURATED_BUSY = 0.9;
/** From this share of their cores on, load and NameNode are taken for the limit, unless the peer of a closed loop is full. */
export const TOOLS_BUSY = 0.9;
/** From here on also then: nobody can say which of the two it was. */
export const TOOLS_FULL = 0.95;
/** From this share of the peer's core on others have disturbed the round. */
export const OTHERS_BUSY = 0.1;

/** Drives one load through the peer `watchedPid` on `peerCores`, which nobody else uses, to the NameNode `namenodePid`. */
export async function driveMetered(options: Drive, namenodePid: number, peerCores: string): Promise<Metered> {
  const cores = peerCores.split(',').map(Number);
  const atStart = readClocks(options.watchedPid, namenodePid, cores);
  const driven = await drive(options);
  const atEnd = readClocks(options.watchedPid, namenodePid, cores);
  // The NameNode has nothing to do while the load starts and ends; the peer's cores may be disturbed all the time.
  const others = (atEnd.others - atStart.others) / (atEnd.wall - atStart.wall) / cores.length;
  return {
    driven,
    namenodeBusy: (atEnd.namenode - atStart.namenode) / (driven.seconds + options.warmupSeconds),
    // The kernel counts cores and processes apart, in ticks.
    othersBusy: Math.max(0, others),
  };
}

/** Seconds: CPU of the NameNode, of all but the peer on the peer's cores, and time. */
function readClocks(peerPid: number, namenodePid: number, cores: readonly number[]) {
  const peer = peerPid === 0 ? 0 : readCpuSeconds(peerPid);
  return {
    namenode: readCpuSeconds(namenodePid),
    others: cores.reduce((sum, core) => sum + readCoreBusySeconds(core), 0) - peer,
    wall: performance.now() / 1000,
  };
}

/** Why calls a second and latencies of these rounds say nothing about the peer: what held in half of them or more. '' when they do. */
export function findLimit(rounds: readonly Metered[], conditions: LimitConditions): string {
  const { ratePerSecond, toolCores, peerCores } = conditions;
  const isMost = (holds: (round: Metered) => boolean): boolean => rounds.filter(holds).length * 2 >= rounds.length;
  const shareOf = (figure: (round: Metered) => number): string => `${(median(rounds.map(figure)) * 100).toFixed(0)} %`;
  const tools = (round: Metered): number => (round.driven.loaderBusy + round.namenodeBusy) / toolCores;
  if (isMost((round) => round.othersBusy >= OTHERS_BUSY)) {
    return `disturbed: other processes used ${shareOf((round) => round.othersBusy)} of its core`;
  }
  const busy = `load and NameNode were busy ${shareOf(tools)}`;
  const isLoaderTheLimit = isMost((round) => round.driven.loaderWasTheLimit);
  if (ratePerSecond > 0) {
    if (isLoaderTheLimit) return 'the loader was the limit';
    if (isMost((round) => tools(round) >= TOOLS_BUSY)) return `the tools were the limit: ${busy}`;
    const short = peerCores === 0 ? findShortfall(rounds, ratePerSecond) : '';
    return short === '' ? '' : `no peer in between, and ${short}`;
  }
  if (peerCores === 0) return `no peer in between: ${busy}`;
  const isPeerFull = !isMost((round) => peerBusy(round.driven) < SATURATED_BUSY * peerCores);
  const areToolsFull = isMost((round) => tools(round) >= TOOLS_FULL);
  if (isPeerFull) {
    if (areToolsFull) return `peer and tools were both full: ${busy}`;
    return isLoaderTheLimit ? `peer and tools were both full: the loader calls itself the limit, ${busy}` : '';
  }
  if (isLoaderTheLimit) return 'the loader was the limit';
  return isMost((round) => tools(round) >= TOOLS_BUSY)
    ? `the tools were the limit: ${busy}`
    : `neither end was saturated: ${busy}`;
}

/** Says how much of the asked rate was achieved, when that is too little: the peer was saturated. '' when it was not. */
export function findShortfall(rounds: readonly Metered[], ratePerSecond: number): string {
  const share = achievedShare(rounds, ratePerSecond);
  return share === null || share >= SATURATED_SHARE ? '' : `saturated, ${(share * 100).toFixed(1)} % of the asked rate`;
}

/** Achieved through asked; null in a closed loop. */
export function achievedShare(rounds: readonly Metered[], ratePerSecond: number): number | null {
  if (ratePerSecond === 0) return null;
  return median(rounds.map((round) => round.driven.callsPerSecond)) / ratePerSecond;
}

/** CPU µs of the watched process per call. */
export function cpuMicros(driven: Driven): number {
  return (driven.cpuSeconds * 1e6) / driven.calls;
}

/** CPU seconds of the watched process per second. */
export function peerBusy(driven: Driven): number {
  return driven.cpuSeconds / driven.seconds;
}
