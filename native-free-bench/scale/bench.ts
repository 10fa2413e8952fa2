/**
 * Scale bench: CPU per call and calls/s of the router as one thing after the other grows, memory per connection and per call in flight, and
 * the capacity model that follows.
 *
 *   npm run bench:scale -- [--only AXIS,…] [--handoff ring|inline] [--rounds N] [--seconds S] [--quick] [--router FILE] [--json FILE]
 *     [--markdown FILE]
 *
 * --only takes axes, `heldOut` and `memory`. It reports and does not judge: exit 1 only when calls failed. README.md beside says what each number
 * means.
 */

import { writeFileSync } from 'node:fs';
import { readArguments, readNames, readNumber, readWhole, refuse } from '../harness/arguments.ts';
import { stopAll } from '../harness/children.ts';
import { readMachine, splitCores, toJson } from '../harness/machine.ts';
import { readDescriptorLimit } from '../harness/process-meter.ts';
import { ROUTER_SOURCES } from '../harness/proxies.ts';
import { makeRunDirectory } from '../harness/run-directory.ts';
import { markdownTable, printTable } from '../harness/table.ts';
import {
  type Bench,
  measureMemory,
  measurePoint,
  type RunningSetup,
  type Sample,
  startSetup,
  stopSetup,
} from './measure.ts';
import {
  AXES,
  type Axis,
  BASE,
  HELD_OUT,
  MEMORY_HELD_OUT,
  MEMORY_POINTS,
  type MemoryPoint,
  type Point,
  pointKey,
  setupKey,
} from './points.ts';
import { renderResult } from './report.ts';
import {
  type AxisResult,
  type MeasuredMemory,
  modelOf,
  type PointResult,
  SCALE_VERSION,
  type ScaleResult,
  summarisePoint,
} from './result.ts';

const PARTS: readonly string[] = [...AXES.map((axis) => axis.name), 'heldOut', 'memory'];
const HANDOFFS = ['ring', 'inline'] as const;
/** Key of the base point at the end of each round. */
const REPEATED = 'repeated';
/** Clients and stub connections of the largest point, in one process. */
const SPARE_DESCRIPTORS = 200;
/** A load that the machine has spoilt is made once more. */
const TRIES = 2;

interface Plan extends Bench {
  readonly axes: readonly Axis[];
  readonly heldOut: readonly Point[];
  readonly memory: boolean;
  readonly toolCoreCount: number;
  readonly rounds: number;
  readonly json: string | undefined;
  readonly markdown: string | undefined;
}

const plan = readPlan();
/** Points that could not be measured in a round. They are left out; the others stand. */
const failures: string[] = [];
try {
  const samples = await measureRounds(plan);
  const result = await complete(plan, samples);
  process.stdout.write(`${renderResult(result, printTable)}\n`);
  if (plan.json !== undefined) writeFileSync(plan.json, toJson(result));
  if (plan.markdown !== undefined) writeFileSync(plan.markdown, `${renderResult(result, markdownTable)}\n`);
  const points = [...result.axes.flatMap((axis) => axis.points), ...result.heldOut];
  process.exitCode = result.failures.length > 0 || points.some((point) => point.errors > 0) ? 1 : 0;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopAll();
}

/** All samples of each point, by its key; the base point at the end of each round stands under REPEATED. */
async function measureRounds(plan: Plan): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>();
  for (let round = 0; round < plan.rounds; round++) {
    const groups = groupBySetup(plan);
    // Each round begins with another setup, so that a disturbance of the machine does not meet the same points.
    for (let i = 0; i < groups.length; i++) {
      const group = groups[(round + i) % groups.length] as Point[];
      const setup = group[0] as Point;
      progress(`round ${round + 1} of ${plan.rounds}: ${setupKey(setup)}`);
      const place = `round ${round + 1}`;
      const running = await orFail(`${place}, ${setupKey(setup)}`, () => startSetup(plan, setup));
      if (running === undefined) continue;
      await measureGroup(plan, running, group, place, samples);
      await stopSetup(running);
    }
  }
  return samples;
}

async function measureGroup(
  plan: Plan,
  running: RunningSetup,
  group: readonly Point[],
  place: string,
  samples: Map<string, Sample[]>,
): Promise<void> {
  let baseCallsPerSecond = 0;
  const measure = async (point: Point, key: string): Promise<void> => {
    const sample = await orFail(`${place}, ${point.name}`, () => {
      if (point.loadShare > 0 && baseCallsPerSecond === 0) throw new Error('the base point was not measured');
      return measurePoint(plan, running, point, Math.round(point.loadShare * baseCallsPerSecond));
    });
    if (sample === undefined) return;
    if (key === pointKey(BASE)) baseCallsPerSecond = sample.driven.callsPerSecond;
    samples.set(key, [...(samples.get(key) ?? []), sample]);
  };
  // The base stands first in its group.
  for (const point of group) await measure(point, pointKey(point));
  if (setupKey(running.setup) === setupKey(BASE)) await measure(BASE, REPEATED);
}

/** What fails twice does not take the others with it: undefined. */
async function orFail<Result>(name: string, measure: () => Promise<Result>): Promise<Result | undefined> {
  for (let left = TRIES - 1; ; left--) {
    try {
      return await measure();
    } catch (error) {
      const failure = `${name}: ${error instanceof Error ? error.message : String(error)}`;
      progress(`${left > 0 ? 'once more' : 'failed'}: ${failure}`);
      if (left > 0) continue;
      failures.push(failure);
      return undefined;
    }
  }
}

/** Each point once, those that share a setup together, the base first. */
function groupBySetup(plan: Plan): Point[][] {
  const points = [BASE, ...plan.axes.flatMap((axis) => axis.points), ...plan.heldOut];
  const groups = Map.groupBy(new Map(points.map((point) => [pointKey(point), point])).values(), (point) =>
    setupKey(point),
  );
  return [...groups.values()];
}

async function complete(plan: Plan, samples: ReadonlyMap<string, readonly Sample[]>): Promise<ScaleResult> {
  // A point that failed in one round cannot be put beside the others of that round.
  const samplesOf = (point: Point): readonly Sample[] => {
    const own = samples.get(pointKey(point)) ?? [];
    return own.length === plan.rounds ? own : [];
  };
  const base = samplesOf(BASE);
  if (base.length === 0) throw new Error(`the base point could not be measured: ${failures[0]}`);
  const summariseOwn = (point: Point, reference: readonly Sample[]): PointResult =>
    summarisePoint(point, samplesOf(point), reference, plan.toolCoreCount);
  const axes = plan.axes.map((axis) => {
    const reference = samplesOf(axis.points.find((point) => point.name === axis.reference) as Point);
    const measured = axis.points.filter((point) => samplesOf(point).length > 0 && reference.length > 0);
    const points = measured.map((point) => summariseOwn(point, reference));
    const result: AxisResult = { axis: axis.name, meaning: axis.meaning, reference: axis.reference, points };
    return { axis, result };
  });
  const modelled = modelOf({
    axes,
    heldOut: plan.heldOut.filter((point) => samplesOf(point).length > 0).map((point) => summariseOwn(point, base)),
    memory: plan.memory ? await measureMemories(plan, MEMORY_POINTS) : [],
    memoryHeldOut: plan.memory ? await measureMemories(plan, MEMORY_HELD_OUT) : [],
    handoff: plan.handoff,
  });
  return {
    version: SCALE_VERSION,
    machine: readMachine(),
    handoff: plan.handoff,
    rounds: plan.rounds,
    seconds: plan.seconds,
    axes: axes.map(({ result }) => result),
    repeated: samplesOfRepeated(plan, samples).map(
      (sample, round) => sample.cpuMicrosPerCall / (base[round] as Sample).cpuMicrosPerCall,
    ),
    ...modelled,
    failures,
  };
}

function samplesOfRepeated(plan: Plan, samples: ReadonlyMap<string, readonly Sample[]>): readonly Sample[] {
  const own = samples.get(REPEATED) ?? [];
  return own.length === plan.rounds ? own : [];
}

async function measureMemories(plan: Plan, points: readonly MemoryPoint[]): Promise<MeasuredMemory[]> {
  const results: MeasuredMemory[] = [];
  for (const point of points) {
    progress(`memory: ${point.name}`);
    const rssBytes = await orFail(point.name, () => measureMemory(plan, point));
    if (rssBytes !== undefined) results.push({ point, rssBytes });
  }
  return results;
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

function readPlan(): Plan {
  const values = readArguments({
    only: { type: 'string' },
    handoff: { type: 'string', default: 'ring' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    router: { type: 'string', default: ROUTER_SOURCES },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    markdown: { type: 'string' },
  });
  const only = readNames(values, 'only', PARTS);
  const [handoff = 'ring', ...others] = readNames(values, 'handoff', HANDOFFS);
  if (others.length > 0) refuse(`--handoff ${values['handoff']}: one of ${HANDOFFS.join(', ')} is wanted`);
  const axes = AXES.filter((axis) => only.includes(axis.name));
  const heldOut = only.includes('heldOut') ? HELD_OUT : [];
  const memory = only.includes('memory');
  const { peerCores, toolCores, toolCoreCount } = splitCores();
  const points = [
    ...axes.flatMap((axis) => axis.points),
    ...heldOut,
    ...(memory ? [...MEMORY_POINTS, ...MEMORY_HELD_OUT] : []),
  ];
  const needed = Math.max(...points.map((point) => point.connections)) + SPARE_DESCRIPTORS;
  if (readDescriptorLimit() < needed) {
    refuse(
      `the limit of open files is ${readDescriptorLimit()}, at least ${needed} are needed: raise it (ulimit -n ${needed}) ` +
        'or leave out the axis connections, memory and heldOut with --only',
    );
  }
  const quick = values['quick'] === true;
  const directory = makeRunDirectory('scale');
  return {
    axes,
    heldOut,
    memory,
    handoff,
    rounds: readWhole(values, 'rounds', 1, 1000, quick ? 1 : 3),
    seconds: readNumber(values, 'seconds', 0.2, 3600, quick ? 0.5 : 1.5),
    routerMain: String(values['router']),
    json: values['json'] as string | undefined,
    markdown: values['markdown'] as string | undefined,
    routerCores: peerCores,
    loadCores: toolCores,
    toolCoreCount,
    directory: directory.path,
    env: directory.env,
  };
}
