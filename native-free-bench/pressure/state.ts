/** What a router holds at a moment: sockets, memory, and how full its stages are, as far as it tells. */

import { setTimeout as sleep } from 'node:timers/promises';
import { readProcess } from '../../src/load/run/watch.ts';
import type { PrintTable } from '../harness/table.ts';
import type { RunningPeer } from './peers.ts';

export interface State {
  readonly rssBytes: number;
  readonly sockets: number;
  readonly stages: Stages;
  /** What was refused or ended since the start, by its place in the router's answer. */
  readonly counts: Stages;
}

/**
 * How much stands in each stage (queue, window, ring, outstanding, paused sockets), by its place in the router's answer, such as
 * `nameservices.ns0.waiting`. Empty for a router that does not tell.
 */
export type Stages = Readonly<Record<string, number>>;

const STAGES = [
  /^clients\.(open|paused|callsOutstanding|unreadKib)$/,
  /^rings\.(calls|replies)$/,
  /^nameservices\.[^.]+\.(window|inFlight|waiting)$/,
];
const COUNTS = [
  /^clients\.(refused|closed)\./,
  /^clients\.(memoryRefusals|pausesInFlight)$/,
  /^nameservices\.[^.]+\.refused\./,
];
/** A size that follows the load, not something that is held. */
const SIZE = /\.window$/;
/** Where Switchyard tells it. */
const QUEUES_PATH = '/api/v1/queues';
const ANSWER_MS = 5_000;
const LOOK_MS = 250;

export async function readState(peer: RunningPeer): Promise<State> {
  if (peer.child === undefined) return { rssBytes: 0, sockets: 0, stages: {}, counts: {} };
  const told = await readQueues(peer);
  const sample = readProcess(peer.child.pid);
  if (sample === null) throw new Error(`${peer.peer} has ended`);
  return {
    rssBytes: sample.rssBytes,
    sockets: sample.sockets ?? 0,
    stages: pick(told, STAGES),
    counts: pick(told, COUNTS),
  };
}

/** Waits until the router holds no more than `before`, at most `waitMs`, and tells what it holds then. */
export async function settle(peer: RunningPeer, before: State, waitMs: number): Promise<State> {
  const endMs = performance.now() + waitMs;
  let state = await readState(peer);
  while (holdsMore(before, state) && performance.now() < endMs) {
    await sleep(LOOK_MS);
    state = await readState(peer);
  }
  return state;
}

function holdsMore(before: State, after: State): boolean {
  return after.sockets > before.sockets || Object.keys(moreStages(before.stages, after.stages)).length > 0;
}

/** Every number of the router's answer by its place in it. */
export async function readQueues({ http, peer }: Pick<RunningPeer, 'http' | 'peer'>): Promise<Stages> {
  if (http === '') return {};
  const answer = await fetch(`${http}${QUEUES_PATH}`, { signal: AbortSignal.timeout(ANSWER_MS) });
  if (!answer.ok) throw new Error(`${peer}: ${QUEUES_PATH} answers with ${answer.status}`);
  return flatten(await answer.json());
}

function pick(told: Stages, places: readonly RegExp[]): Stages {
  return Object.fromEntries(Object.entries(told).filter(([place]) => places.some((each) => each.test(place))));
}

/** Elements of lists go by their `nameservice`, `id` or `name`, where they have one. */
export function flatten(value: unknown, place = ''): Record<string, number> {
  if (typeof value === 'number') return { [place]: value };
  if (typeof value !== 'object' || value === null) return {};
  const members = Array.isArray(value)
    ? value.map((item, i) => [nameOf(item) ?? String(i), item] as const)
    : Object.entries(value);
  return Object.assign({}, ...members.map(([name, item]) => flatten(item, place === '' ? name : `${place}.${name}`)));
}

function nameOf(item: unknown): string | undefined {
  if (typeof item !== 'object' || item === null) return undefined;
  const { nameservice, id, name } = item as Readonly<Record<string, unknown>>;
  return [nameservice, id, name].find((each) => typeof each === 'string');
}

/** Looks again and again while `work` runs. */
export class Watch {
  readonly #peer: RunningPeer;
  readonly #everyMs: number;
  readonly #states: State[] = [];

  constructor(peer: RunningPeer, everyMs: number) {
    this.#peer = peer;
    this.#everyMs = everyMs;
  }

  get states(): readonly State[] {
    return this.#states;
  }

  /** The most that each stage held. */
  get fullest(): Stages {
    return mostOfEach(this.#states.map(({ stages }) => stages));
  }

  get mostRssBytes(): number {
    return Math.max(0, ...this.#states.map(({ rssBytes }) => rssBytes));
  }

  async during<Result>(work: Promise<Result>): Promise<Result> {
    const ended = new AbortController();
    const looking = this.#look(ended.signal);
    try {
      return await work;
    } finally {
      ended.abort();
      await looking;
    }
  }

  async #look(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      this.#states.push(await readState(this.#peer));
      await sleep(this.#everyMs, undefined, { signal: ended }).catch(() => undefined);
    }
  }
}

export interface StagesOfRun {
  readonly name: string;
  readonly fullest: Stages;
  /** More than before, in the end. */
  readonly left: Stages;
}

/** A table of how full the stages were, one row for each stage that ever held something; none without any. */
export function printStages(print: PrintTable, runs: readonly StagesOfRun[]): string[] {
  const rows = runs.flatMap(({ name, fullest, left }) =>
    Object.entries(fullest)
      .filter(([, most]) => most > 0)
      .map(([stage, most]) => [name, stage, String(most), SIZE.test(stage) ? '' : String(left[stage] ?? 0)]),
  );
  if (rows.length === 0) return [];
  return [`How full the stages of the router were\n\n${print(['run', 'stage', 'most', 'left'], rows)}`];
}

/** The most of each stage. */
export function mostOfEach(all: readonly Stages[]): Stages {
  const most: Record<string, number> = {};
  for (const stages of all) {
    for (const [stage, value] of Object.entries(stages)) most[stage] = Math.max(most[stage] ?? value, value);
  }
  return most;
}

/** What stands in a stage after and did not before; what counts, by how much it has grown. */
export function moreStages(before: Stages, after: Stages): Stages {
  return Object.fromEntries(
    Object.entries(after)
      .map(([stage, value]) => [stage, value - (before[stage] ?? 0)] as const)
      .filter(([stage, more]) => more > 0 && !SIZE.test(stage)),
  );
}

/** What was refused or ended, as a line of a report; none when nothing was. */
export function printCounts(name: string, counts: Stages): string[] {
  const parts = Object.entries(counts).map(([place, count]) => `${place} ${count}`);
  return parts.length === 0 ? [] : [`- ${name}, as the router tells: ${parts.join(', ')}`];
}

/** By how much each count has grown over several legs. */
export function sumCounts(legs: readonly { readonly before: State; readonly after: State }[]): Stages {
  const sums: Record<string, number> = {};
  for (const { before, after } of legs) {
    for (const [place, more] of Object.entries(moreStages(before.counts, after.counts))) {
      sums[place] = (sums[place] ?? 0) + more;
    }
  }
  return sums;
}
