/** Tables of the scale bench, for a terminal or as Markdown. */

import { SATURATED_SHARE } from '../../src/load/result/result.ts';
import type { Machine } from '../harness/machine.ts';
import { grouped, type PrintTable, percent, rangeOf } from '../harness/table.ts';
import { CPU_TERMS, MEMORY_TERMS, type ModelError } from './model.ts';
import type { AxisResult, CapacityModel, MemoryResult, PointResult, ScaleResult } from './result.ts';
import { THREAD_KINDS } from './router-watch.ts';

const MB = 1e6;
const POINT_HEADINGS = [
  'point',
  'CPU µs/call',
  'ratio',
  '(range)',
  'calls/s',
  'p99 µs',
  'router busy',
  'limit',
  'calls at once',
  'NN conns',
  'calls/s per NN conn',
  'errors',
];

export function describeMachine(machine: Machine): string {
  return `${machine.processor}, ${machine.cores} cores, Linux ${machine.kernel}, Node ${machine.node}`;
}

/** The whole report. */
export function renderResult(result: ScaleResult, table: PrintTable): string {
  const repeated = result.repeated.map((ratio) => ratio.toFixed(2)).join(', ');
  return [
    `${describeMachine(result.machine)}; hand-off ${result.handoff}, the whole router on one core, load and NameNode on the others; ` +
      `median of ${result.rounds} interleaved rounds of ${result.seconds} s.`,
    'Ratios are taken within each round. Calls/s and latency in brackets: the router was not the limit, only the CPU per call counts.',
    `The base point once more at the end of each round, as a ratio to its beginning: ${repeated}.`,
    ...result.failures.map((failure) => `Not measured: ${failure}`),
    '',
    ...result.axes.map((axis) => printAxis(axis, table)),
    printHeldOut(result, table),
    printMemory(result, table),
    result.model === null ? `No model: ${result.modelMissing}.` : printModel(result.model, table),
  ].join('\n');
}

export function printAxis(result: AxisResult, table: PrintTable): string {
  const rows = result.points.map((point) => [point.point.name, ...cellsOf(point)]);
  return [
    `${result.axis}: ${result.meaning}; ratio to ${result.reference}`,
    '',
    table(POINT_HEADINGS, rows),
    ...faultsOf(result.points),
    '',
  ].join('\n');
}

/** Where the router was not the limit, calls/s and latency stand in brackets. */
function cellsOf(result: PointResult): string[] {
  const bracket = (text: string): string => (result.limit === '' ? text : `(${text})`);
  return [
    result.cpuMicrosPerCall.toFixed(2),
    result.ratio.toFixed(2),
    rangeOf(result.ratioOfRounds),
    bracket(grouped(result.callsPerSecond)),
    bracket(grouped(result.p99Micros)),
    percent(result.routerBusy),
    nameLimit(result),
    result.callsTogether.toFixed(1),
    String(result.namenodeConnections),
    bracket(grouped(result.callsPerSecond / Math.max(1, result.namenodeConnections))),
    String(result.errors),
  ];
}

type Limited = Pick<PointResult, 'limit' | 'ratePerSecond' | 'callsPerSecond'>;

/** One word for what harness/limits.ts says at length. */
export function nameLimit({ limit, ratePerSecond, callsPerSecond }: Limited): string {
  if (limit === '') return callsPerSecond < ratePerSecond * SATURATED_SHARE || ratePerSecond === 0 ? 'router' : 'rate';
  if (limit.startsWith('disturbed')) return 'disturbed';
  if (limit.startsWith('neither')) return 'neither';
  return limit.startsWith('peer and tools') ? 'both' : 'tools';
}

function faultsOf(points: readonly PointResult[]): string[] {
  return points
    .filter((point) => point.errors > 0)
    .map((point) => `  ${point.point.name}: first error: ${point.firstError}`);
}

export function printHeldOut(result: ScaleResult, table: PrintTable): string {
  if (result.heldOut.length === 0) return '';
  const rows = result.heldOut.map((held) => [
    `${held.point.name}: ${describePoint(held)}`,
    held.cpuMicrosPerCall.toFixed(2),
    held.predictedMicrosPerCall?.toFixed(2) ?? '-',
    signedPercent(held.error),
    nameLimit(held),
    String(held.errors),
  ]);
  return [
    'Combined points that the model was not fitted on',
    '',
    table(['point', 'CPU µs/call', 'model', 'error', 'limit', 'errors'], rows),
    ...faultsOf(result.heldOut),
    '',
  ].join('\n');
}

function describePoint({ point }: PointResult): string {
  return [
    `${grouped(point.connections)} x ${point.inFlight}`,
    `${point.users} users`,
    `${grouped(point.mounts)} mounts`,
    `${point.nameservices} ns`,
    `${grouped(point.replyBytes)} B`,
  ].join(', ');
}

export function printMemory(result: ScaleResult, table: PrintTable): string {
  const rowsOf = (points: readonly MemoryResult[], mark: string): string[][] =>
    points.map((memory) => [
      memory.point.name + mark,
      (memory.rssBytes / MB).toFixed(1),
      memory.predictedBytes === null ? '-' : (memory.predictedBytes / MB).toFixed(1),
      signedPercent(memory.error),
    ]);
  const rows = [...rowsOf(result.memory, ''), ...rowsOf(result.memoryHeldOut, ' (held out)')];
  if (rows.length === 0) return '';
  return ['Resident memory, MB', '', table(['load', 'measured', 'model', 'error'], rows), ''].join('\n');
}

export function printModel(model: CapacityModel, table: PrintTable): string {
  const cpuRows = CPU_TERMS.map((term) => [
    CPU_MEANINGS[term],
    ...THREAD_KINDS.map((kind) => model.cpu[kind][term].toFixed(3)),
  ]);
  const memoryRows = MEMORY_TERMS.map((term) => [MEMORY_MEANINGS[term], bytes(model.memory[term])]);
  return [
    table(['CPU, µs of each kind of thread', ...THREAD_KINDS], cpuRows),
    '',
    table(['memory', 'coefficient'], memoryRows),
    '',
    `CPU: error ${describeError(model.cpuFitError)} on the points it was fitted on,`,
    `${describeError(model.cpuHeldOutError)} on those held out; sizes are made with its CPU times ${model.cpuMargin.toFixed(2)}.`,
    `Memory: error ${describeError(model.memoryFitError)} on the points it was fitted on, ${describeError(model.memoryHeldOutError)} on those held out.`,
    `One connection to a NameNode has carried ${grouped(model.callsPerNamenodeConnection)} calls/s (${describeLimit(model)}).`,
    '',
  ].join('\n');
}

/** What kept one connection to the NameNode from carrying more. */
export function describeLimit(model: CapacityModel): string {
  return model.namenodeConnectionLimit === '' ? 'the router was the limit' : model.namenodeConnectionLimit;
}

const CPU_MEANINGS: Readonly<Record<(typeof CPU_TERMS)[number], string>> = {
  call: 'each call',
  client: 'client read and write, divided by the calls in flight of a connection',
  namenode: 'NameNode write and read, times pairs of user and nameservice per call in flight (at most 1)',
  wake: 'wake-up, divided by all calls in flight',
  cold: 'each tenfold of connections above 64',
  spread: 'each tenfold of pairs of user and nameservice above 64',
  table: 'each tenfold of mount points',
  reply: 'each KB (1,000 bytes) of the reply',
  large: 'each KB of a reply of more than 16 KB, besides',
};

const MEMORY_MEANINGS: Readonly<Record<(typeof MEMORY_TERMS)[number], string>> = {
  base: 'process',
  connection: 'each connection, idle',
  inFlight: 'each call in flight',
  mount: 'each mount point',
  thread: 'each acceptor or worker thread',
};

/** Without sign, and what the model says too much or too little in the median. */
export function describeError(error: ModelError): string {
  if (error.points === 0) return 'not measured';
  return `${percent(error.median)} (median of ${error.points}; largest ${percent(error.largest)}; with sign ${signedPercent(error.signedMedian)})`;
}

export function bytes(value: number): string {
  if (value >= MB) return `${(value / MB).toFixed(1)} MB`;
  return value >= 1000 ? `${(value / 1000).toFixed(1)} KB` : `${value.toFixed(0)} B`;
}

export function signedPercent(share: number | null): string {
  if (share === null) return '-';
  return `${share >= 0 ? '+' : ''}${(share * 100).toFixed(0)} %`;
}
