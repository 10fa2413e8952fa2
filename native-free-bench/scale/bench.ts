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

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments, readNames, readNumber, readWhole, refuse } from '../harness/arguments.ts';
import { stopAll } from '../harness/children.ts';
import { readAllowedCores, readDescriptorLimit } from '../harness/process-meter.ts';
import { ROUTER_SOURCES } from '../harness/proxies.ts';
import { markdownTable, printTable } from '../harness/table.ts';
import { type Bench, measureMemory, measurePoint, type Sample, startSetup, stopSetup } from './measure.ts';
import {
  AXES,
  type Axis,
  BASE,
  HELD_OUT,
  MEMORY_HELD_OUT,
  MEMORY_POINTS,
  type MemoryPoint,
  type Point,
  setupKey,
} from './points.ts';
import { describeMachine, type PrintTable, printAxis, printHeldOut, printMemory, printModel } from './report.ts';
import { type AxisResult, type Measured, modelOf, SCALE_VERSION, type ScaleResult, summarisePoint } from './result.ts';

const PARTS: readonly string[] = [...AXES.map((axis) => axis.name), 'heldOut', 'memory'];
const HANDOFFS = ['ring', 'inline'] as const;
/** Key of the base point at the end of each round. */
const REPEATED = 'repeated';
/** Clients and stub connections of the largest point, in one process. */
const SPARE_DESCRIPTORS = 200;

interface Plan extends Bench {
  readonly axes: readonly Axis[];
  readonly heldOut: readonly Point[];
  readonly memory: boolean;
  readonly rounds: number;
  readonly json: string | undefined;
  readonly markdown: string | undefined;
}

const directory = mkdtempSync(join(tmpdir(), 'switchyard-scale-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
const plan = readPlan();
/** Points that could not be measured. They are left out; the others stand. */
const failures: string[] = [];
try {
  const samples = await measureRounds(plan);
  const result = await complete(plan, samples);
  process.stdout.write(`${renderResult(result, printTable)}\n`);
  if (plan.json !== undefined) writeFileSync(plan.json, toJson(result));
  if (plan.markdown !== undefined) writeFileSync(plan.markdown, `${renderResult(result, markdownTable)}\n`);
  for (const failure of failures) progress(`failed: ${failure}`);
  const points = [...result.axes.flatMap((axis) => axis.points), ...result.heldOut];
  process.exitCode = failures.length > 0 || points.some((point) => point.errors > 0) ? 1 : 0;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopAll();
}

/** All samples of each point, by its key; the base point at the end of each round stands under REPEATED. */
async function measureRounds(plan: Plan): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>();
  const keep = (key: string, sample: Sample): void => {
    samples.set(key, [...(samples.get(key) ?? []), sample]);
  };
  for (let round = 0; round < plan.rounds; round++) {
    const groups = groupBySetup(plan);
    // Each round begins with another setup, so that a disturbance of the machine does not meet the same points.
    for (let i = 0; i < groups.length; i++) {
      const group = groups[(round + i) % groups.length] as Point[];
      const setup = group[0] as Point;
      progress(`round ${round + 1} of ${plan.rounds}: ${setupKey(setup)}`);
      const running = await startSetup(plan, setup);
      for (const point of group) {
        await orFail(point.name, async () => keep(pointKey(point), await measurePoint(plan, running, point)));
      }
      if (setupKey(setup) === setupKey(BASE)) {
        await orFail(BASE.name, async () => keep(REPEATED, await measurePoint(plan, running, BASE)));
      }
      await stopSetup(running);
    }
  }
  return samples;
}

/** A point that fails does not take the others with it. */
async function orFail(name: string, measure: () => Promise<void>): Promise<void> {
  try {
    await measure();
  } catch (error) {
    failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
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
  const axes = plan.axes.map((axis) => ({ axis, result: summariseAxis(axis, samplesOf) }));
  const measured: Measured = {
    axes,
    heldOut: plan.heldOut
      .filter((point) => samplesOf(point).length > 0)
      .map((point) => summarisePoint(point, samplesOf(point), base)),
    memory: plan.memory ? await measureMemories(plan, MEMORY_POINTS) : [],
    memoryHeldOut: plan.memory ? await measureMemories(plan, MEMORY_HELD_OUT) : [],
    shares: summarisePoint(BASE, base, base).shares,
  };
  return {
    version: SCALE_VERSION,
    machine: {
      processor: cpus()[0]?.model ?? 'unknown processor',
      cores: cpus().length,
      kernel: release(),
      node: process.version,
    },
    handoff: plan.handoff,
    rounds: plan.rounds,
    seconds: plan.seconds,
    axes: axes.map(({ result }) => result),
    repeated: samplesOfRepeated(plan, samples).map(
      (sample, round) => sample.cpuMicrosPerCall / (base[round] as Sample).cpuMicrosPerCall,
    ),
    ...modelOf(measured),
  };
}

function samplesOfRepeated(plan: Plan, samples: ReadonlyMap<string, readonly Sample[]>): readonly Sample[] {
  const own = samples.get(REPEATED) ?? [];
  return own.length === plan.rounds ? own : [];
}

function summariseAxis(axis: Axis, samplesOf: (point: Point) => readonly Sample[]): AxisResult {
  const reference = axis.points.find((point) => point.name === axis.reference) as Point;
  return {
    axis: axis.name,
    meaning: axis.meaning,
    reference: axis.reference,
    points: axis.points
      .filter((point) => samplesOf(point).length > 0 && samplesOf(reference).length > 0)
      .map((point) => summarisePoint(point, samplesOf(point), samplesOf(reference))),
  };
}

async function measureMemories(
  plan: Plan,
  points: readonly MemoryPoint[],
): Promise<{ point: MemoryPoint; rssBytes: number }[]> {
  const results: { point: MemoryPoint; rssBytes: number }[] = [];
  for (const point of points) {
    progress(`memory: ${point.name}`);
    await orFail(point.name, async () => {
      results.push({ point, rssBytes: await measureMemory(plan, point) });
    });
  }
  return results;
}

function renderResult(result: ScaleResult, table: PrintTable): string {
  const repeated = result.repeated.map((ratio) => ratio.toFixed(2)).join(', ');
  return [
    `${describeMachine(result.machine)}; hand-off ${result.handoff}, the whole router on one core, load and NameNode on the others; ` +
      `median of ${result.rounds} interleaved rounds of ${result.seconds} s.`,
    'Ratios are taken within each round. Calls/s in brackets: loader and stub were the limit, only the CPU per call counts.',
    `The base point once more at the end of each round, as a ratio to its beginning: ${repeated}.`,
    '',
    ...result.axes.map((axis) => printAxis(axis, table)),
    printHeldOut(result, table),
    printMemory(result, table),
    result.model === null ? `No model: ${result.modelMissing}.` : printModel(result.model, table),
  ].join('\n');
}

function toJson(result: ScaleResult): string {
  return `${JSON.stringify(result, (_, value) => (typeof value === 'number' ? Number(value.toPrecision(5)) : value), 2)}\n`;
}

function pointKey(point: Point): string {
  return [setupKey(point), point.connections, point.inFlight, point.users, point.delayMs, point.replyBytes].join(';');
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
  const cores = readAllowedCores();
  if (cores.length < 2) refuse('two processor cores are needed: one for the router alone, another for the load');
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
  return {
    axes,
    heldOut,
    memory,
    handoff,
    rounds: readWhole(values, 'rounds', 1, 1000, quick ? 1 : 3),
    seconds: readNumber(values, 'seconds', 0.2, 3600, quick ? 0.5 : 2),
    routerMain: String(values['router']),
    json: values['json'] as string | undefined,
    markdown: values['markdown'] as string | undefined,
    // The kernel likes to serve interrupts on the first core: the load gets it.
    routerCores: String(cores.at(-1)),
    loadCores: cores.slice(0, -1).join(','),
    directory,
    env: { ...process.env, NODE_COMPILE_CACHE: join(directory, 'compile-cache') },
  };
}
