/** What the pairs of a case came to. */

import { median } from '../harness/table.ts';
import type { Fault } from '../pressure/namenodes.ts';
import type { Peer } from '../pressure/peers.ts';
import { moreStages, mostOfEach, type Stages, sumCounts } from '../pressure/state.ts';
import { type Leg, RECOVERY_MS, type SickLeg } from './leg.ts';

export interface Pair {
  readonly well: Leg;
  readonly sick: SickLeg;
}

export interface Figures {
  readonly fault: Fault;
  readonly peer: Peer;
  readonly pairs: number;
  /** Of the others; medians. */
  readonly wellP99Ms: number;
  readonly sickP99Ms: number;
  readonly wellThroughput: number;
  readonly sickThroughput: number;
  /** Sick / well; medians of the pairs' ratios, and all of them. */
  readonly p99Ratio: number;
  readonly throughputRatio: number;
  readonly p99Ratios: readonly number[];
  readonly throughputRatios: readonly number[];
  /** Calls of the others that failed while the nameservice was sick, and while it was well. */
  readonly errors: number;
  readonly wellErrors: number;
  readonly firstError: string;
  /** Median, where what took longer counts as RECOVERY_MS; and the longest, null when it took longer. */
  readonly recoveryMs: number;
  readonly longestRecoveryMs: number | null;
  /** Calls to the sick nameservice, all pairs. */
  readonly asked: number;
  readonly succeeded: number;
  readonly refused: Readonly<Record<string, number>>;
  /** First line of the first exception of each class. */
  readonly messages: Readonly<Record<string, string>>;
  /** Share of the calls to it that did not succeed while it was well. */
  readonly failedWhileWell: number;
  readonly lost: number;
  readonly unanswered: number;
  readonly twice: number;
  readonly unsent: number;
  /** After a sick leg less before it; the most of all pairs for sockets and stages, for memory the last pair's end less the first one's start. */
  readonly socketsLeft: number;
  readonly grownBytes: number;
  /** What stood in a stage after a sick leg and did not before. */
  readonly stagesLeft: Stages;
  readonly fullest: Stages;
  /** What the router says that it refused or ended, sick legs. */
  readonly counts: Stages;
  /** Legs in which the load tool was the limit. */
  readonly limitedLegs: number;
}

export function summarise(fault: Fault, peer: Peer, pairs: readonly Pair[]): Figures {
  const sick = pairs.map((pair) => pair.sick);
  const well = pairs.map((pair) => pair.well);
  const p99Ratios = pairs.map((pair) => pair.sick.p99Ms / pair.well.p99Ms);
  const throughputRatios = pairs.map((pair) => pair.sick.throughput / pair.well.throughput);
  const recoveries = sick.map(({ recoveryMs }) => recoveryMs ?? RECOVERY_MS);
  const refused: Record<string, number> = {};
  for (const leg of sick) add(refused, leg.sick.refused);
  return {
    fault,
    peer,
    pairs: pairs.length,
    wellP99Ms: median(well.map(({ p99Ms }) => p99Ms)),
    sickP99Ms: median(sick.map(({ p99Ms }) => p99Ms)),
    wellThroughput: median(well.map(({ throughput }) => throughput)),
    sickThroughput: median(sick.map(({ throughput }) => throughput)),
    p99Ratio: median(p99Ratios),
    throughputRatio: median(throughputRatios),
    p99Ratios,
    throughputRatios,
    errors: sum(sick.map(({ errors }) => errors)),
    wellErrors: sum(well.map(({ errors }) => errors)),
    firstError:
      sick.find(({ errors }) => errors > 0)?.firstError ?? well.find(({ errors }) => errors > 0)?.firstError ?? '',
    recoveryMs: median(recoveries),
    longestRecoveryMs: sick.every(({ recoveryMs }) => recoveryMs !== null) ? Math.max(...recoveries) : null,
    asked: sum(sick.map((leg) => leg.sick.asked)),
    succeeded: sum(sick.map((leg) => leg.sick.succeeded)),
    refused,
    messages: Object.assign({}, ...sick.toReversed().map((leg) => leg.sick.messages)),
    failedWhileWell:
      1 - sum(well.map((leg) => leg.sick.succeeded)) / Math.max(1, sum(well.map((leg) => leg.sick.asked))),
    lost: sum(sick.map((leg) => leg.sick.lost)),
    unanswered: sum(sick.map((leg) => leg.sick.unanswered)),
    twice: sum(sick.map((leg) => leg.sick.twice)),
    unsent: sum(sick.map((leg) => leg.sick.unsent)),
    socketsLeft: Math.max(...sick.map(({ before, after }) => after.sockets - before.sockets)),
    grownBytes: (sick.at(-1) as SickLeg).after.rssBytes - (sick[0] as SickLeg).before.rssBytes,
    stagesLeft: mostOfEach(sick.map(({ before, after }) => moreStages(before.stages, after.stages))),
    fullest: mostOfEach(sick.map(({ fullest }) => fullest)),
    counts: sumCounts(sick),
    limitedLegs: [...sick, ...well].filter(({ loaderWasTheLimit }) => loaderWasTheLimit).length,
  };
}

function add(into: Record<string, number>, from: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(from)) into[name] = (into[name] ?? 0) + count;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
