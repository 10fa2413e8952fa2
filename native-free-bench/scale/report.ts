/** Tables of the scale bench, for a terminal or as Markdown. */

import { CPU_TERMS, MEMORY_TERMS, type ModelError } from './model.ts';
import type { AxisResult, CapacityModel, Machine, MemoryResult, PointResult, ScaleResult } from './result.ts';

export type PrintTable = (headings: readonly string[], rows: readonly (readonly string[])[]) => string;

const MB = 1e6;
const POINT_HEADINGS = [
  'point',
  'CPU µs/call',
  'ratio',
  '(range)',
  'calls/s',
  'p99 µs',
  'router busy',
  'NN conns',
  'calls/s per NN conn',
  'errors',
];

export function describeMachine(machine: Machine): string {
  return `${machine.processor}, ${machine.cores} cores, Linux ${machine.kernel}, Node ${machine.node}`;
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

/** Points with calls/s in brackets were limited by loader and stub. */
function cellsOf(result: PointResult): string[] {
  const bracket = (text: string): string => (result.toolsWereTheLimit ? `(${text})` : text);
  const { ratioOfRounds } = result;
  return [
    result.cpuMicrosPerCall.toFixed(2),
    result.ratio.toFixed(2),
    ratioOfRounds.length > 1 ? `${Math.min(...ratioOfRounds).toFixed(2)}–${Math.max(...ratioOfRounds).toFixed(2)}` : '',
    bracket(count(result.callsPerSecond)),
    bracket(count(result.p99Micros)),
    percent(result.routerBusy),
    String(result.namenodeConnections),
    bracket(count(result.callsPerSecond / Math.max(1, result.namenodeConnections))),
    String(result.errors),
  ];
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
    String(held.errors),
  ]);
  return [
    'Combined points that the model was not fitted on',
    '',
    table(['point', 'CPU µs/call', 'model', 'error', 'errors'], rows),
    ...faultsOf(result.heldOut),
    '',
  ].join('\n');
}

function describePoint({ point }: PointResult): string {
  return [
    `${count(point.connections)} x ${point.inFlight}`,
    `${point.users} users`,
    `${count(point.mounts)} mounts`,
    `${point.nameservices} ns`,
    `${count(point.replyBytes)} B`,
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
  const cpuRows = CPU_TERMS.map((term) => [CPU_MEANINGS[term], `${model.cpu[term].toFixed(3)} µs`]);
  const memoryRows = MEMORY_TERMS.map((term) => [MEMORY_MEANINGS[term], bytes(model.memory[term])]);
  return [
    table(['term', 'coefficient'], [...cpuRows, ...memoryRows]),
    '',
    `CPU: error ${describeError(model.cpuFitError)} on the points it was fitted on, ${describeError(model.cpuHeldOutError)} on those held out.`,
    `Memory: error ${describeError(model.memoryFitError)} on the points it was fitted on, ${describeError(model.memoryHeldOutError)} on those held out.`,
    `Of the CPU time acceptors take ${percent(model.shares.acceptor)}, workers ${percent(model.shares.worker)}, ` +
      `everything else ${percent(model.shares.other)} (64 connections x 1).`,
    `One connection to a NameNode has carried ${count(model.callsPerNamenodeConnection)} calls/s.`,
    '',
  ].join('\n');
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
  large: 'each KB of the reply beyond 16, more',
};

const MEMORY_MEANINGS: Readonly<Record<(typeof MEMORY_TERMS)[number], string>> = {
  base: 'process',
  connection: 'each connection, idle',
  inFlight: 'each call in flight',
  mount: 'each mount point',
  thread: 'each acceptor or worker thread',
};

export function describeError(error: ModelError): string {
  if (error.points === 0) return 'not measured';
  return `${percent(error.median)} (median of ${error.points}; largest ${percent(error.largest)})`;
}

export function bytes(value: number): string {
  if (value >= MB) return `${(value / MB).toFixed(1)} MB`;
  return value >= 1000 ? `${(value / 1000).toFixed(1)} KB` : `${value.toFixed(0)} B`;
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

function signedPercent(share: number | null): string {
  if (share === null) return '-';
  return `${share >= 0 ? '+' : ''}${(share * 100).toFixed(0)} %`;
}
