/** What callers saw without an attack and with it, and what the pairs came to. */

import { median } from '../harness/table.ts';
import type { RunningPeer } from '../pressure/peers.ts';
import { moreStages, mostOfEach, type Stages, type State, sumCounts } from '../pressure/state.ts';
import type { Attack, Done } from './attacks.ts';

/** What the others saw. */
export interface Leg {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly throughput: number;
  readonly errors: number;
  readonly firstError: string;
  readonly loaderWasTheLimit: boolean;
  readonly before: State;
  readonly after: State;
  readonly mostRssBytes: number;
  readonly fullest: Stages;
  /** Null without an attack. */
  readonly done: Done | null;
}

export interface Pair {
  readonly calm: Leg;
  readonly attacked: Leg;
}

export interface Figures {
  readonly attack: Attack;
  readonly peer: RunningPeer['peer'];
  readonly pairs: number;
  /** Medians. */
  readonly calmP99Ms: number;
  readonly attackedP99Ms: number;
  readonly calmThroughput: number;
  readonly attackedThroughput: number;
  /** Attacked / calm; medians of the pairs' ratios, and all of them. */
  readonly p99Ratio: number;
  readonly p99Ratios: readonly number[];
  readonly throughputRatio: number;
  /** Of the others, all pairs. */
  readonly errors: number;
  readonly calmErrors: number;
  readonly firstError: string;
  /** The most while attacked, less that before; the largest of all pairs. */
  readonly mostGrownBytes: number;
  /** After less before, the largest of all pairs. */
  readonly socketsLeft: number;
  readonly stagesLeft: Stages;
  readonly fullest: Stages;
  /** What the router says that it refused or ended, attacked legs. */
  readonly counts: Stages;
  /** Sum of what the attackers did. */
  readonly done: Done;
  readonly limitedLegs: number;
}

export function summarise(attack: Attack, peer: RunningPeer['peer'], pairs: readonly Pair[]): Figures {
  const calm = pairs.map((pair) => pair.calm);
  const attacked = pairs.map((pair) => pair.attacked);
  const p99Ratios = pairs.map((pair) => pair.attacked.p99Ms / pair.calm.p99Ms);
  const done: Record<string, number> = {};
  for (const leg of attacked) {
    for (const [what, count] of Object.entries(leg.done ?? {})) done[what] = (done[what] ?? 0) + count;
  }
  return {
    attack,
    peer,
    pairs: pairs.length,
    calmP99Ms: median(calm.map(({ p99Ms }) => p99Ms)),
    attackedP99Ms: median(attacked.map(({ p99Ms }) => p99Ms)),
    calmThroughput: median(calm.map(({ throughput }) => throughput)),
    attackedThroughput: median(attacked.map(({ throughput }) => throughput)),
    p99Ratio: median(p99Ratios),
    p99Ratios,
    throughputRatio: median(pairs.map((pair) => pair.attacked.throughput / pair.calm.throughput)),
    errors: sumErrors(attacked),
    calmErrors: sumErrors(calm),
    firstError: [...attacked, ...calm].find(({ errors }) => errors > 0)?.firstError ?? '',
    mostGrownBytes: Math.max(...attacked.map(({ before, mostRssBytes }) => mostRssBytes - before.rssBytes)),
    socketsLeft: Math.max(...attacked.map(({ before, after }) => after.sockets - before.sockets)),
    stagesLeft: mostOfEach(attacked.map(({ before, after }) => moreStages(before.stages, after.stages))),
    fullest: mostOfEach(attacked.map(({ fullest }) => fullest)),
    counts: sumCounts(attacked),
    done,
    limitedLegs: [...calm, ...attacked].filter(({ loaderWasTheLimit }) => loaderWasTheLimit).length,
  };
}

function sumErrors(legs: readonly Leg[]): number {
  return legs.reduce((sum, { errors }) => sum + errors, 0);
}
