import { grouped, markdownTable, median, type PrintTable, percent, printTable } from '../harness/table.ts';
import type { Tally } from '../pressure/caller.ts';
import type { Peer } from '../pressure/peers.ts';
import { moreStages, printCounts, printStages, sumCounts } from '../pressure/state.ts';
import type { Overload } from './measure.ts';

export interface Row extends Overload {
  readonly peer: Peer;
  readonly capacityPerSecond: number;
}

/** What the project aims at. */
const MIN_GOODPUT = 0.9;
const MAX_GROWTH = 0.05;
/** Longest wait in the queue, what the router takes when nothing else is configured. */
const QUEUE_LIMIT_MS = 30_000;

const CALLS = [
  'by',
  'goodput/s',
  'of capacity',
  'asked',
  'answered',
  'refused',
  'lost',
  'no answer',
  'twice',
  'not sent',
  'p50 ms',
  'p99 ms',
  'max ms',
  'refused p99 ms',
  'aim',
];
const MEMORY = [
  'by',
  '1st quarter MB',
  '2nd',
  '3rd',
  '4th',
  'highest',
  'growth',
  'sockets left',
  'last answer after s',
  'aim',
];

export function printReport(rows: readonly Row[]): string {
  return sectionsOf(printTable, rows).join('\n\n');
}

export function markdownReport(conditions: string, rows: readonly Row[]): string {
  return `# Overload\n\n${conditions}\n\n${sectionsOf(markdownTable, rows).join('\n\n')}\n`;
}

/** Every call that was made has had an answer, and none had two. */
export function isAnsweredOnce({ asked, succeeded, refused, lost, unanswered, twice }: Tally): boolean {
  return unanswered + lost + twice === 0 && asked === succeeded + sum(Object.values(refused));
}

/** Medians of the four quarters of the time. */
export function quartersOf(samples: readonly number[]): number[] {
  const each = samples.length / 4;
  return [0, 1, 2, 3].map((quarter) => {
    const own = samples.slice(
      Math.floor(quarter * each),
      Math.max(Math.floor(quarter * each) + 1, Math.floor((quarter + 1) * each)),
    );
    return own.length === 0 ? 0 : median(own);
  });
}

/** By how much the highest of the second half exceeds that of the first, as a share of it. */
export function growthOf(samples: readonly number[]): number {
  const half = samples.length >> 1;
  if (half === 0) return 0;
  return Math.max(...samples.slice(half)) / Math.max(...samples.slice(0, half)) - 1;
}

function sectionsOf(print: PrintTable, rows: readonly Row[]): string[] {
  return [
    `Calls\n\n${print(CALLS, rows.map(callsRow))}`,
    `Memory and the end\n\n${print(MEMORY, rows.map(memoryRow))}`,
    ...notesOf(rows),
    ...printStages(
      print,
      rows.map(({ peer, fullest, before, after }) => ({
        name: peer,
        fullest,
        left: moreStages(before.stages, after.stages),
      })),
    ),
  ];
}

function callsRow({ peer, goodput, capacityPerSecond, tally }: Row): string[] {
  const share = goodput / capacityPerSecond;
  const isReached = share >= MIN_GOODPUT && isAnsweredOnce(tally) && tally.successP99Ms <= QUEUE_LIMIT_MS;
  return [
    peer,
    grouped(goodput),
    percent(share),
    grouped(tally.asked),
    grouped(tally.succeeded),
    grouped(sum(Object.values(tally.refused))),
    grouped(tally.lost),
    grouped(tally.unanswered),
    grouped(tally.twice),
    grouped(tally.unsent),
    tally.successP50Ms.toFixed(1),
    tally.successP99Ms.toFixed(1),
    tally.successMaxMs.toFixed(1),
    tally.refusedP99Ms.toFixed(1),
    `≥ ${percent(MIN_GOODPUT)}, each once, p99 ≤ ${QUEUE_LIMIT_MS / 1_000} s: ${isReached ? 'reached' : 'missed'}`,
  ];
}

function memoryRow({ peer, rssBytes, before, after, drainMs }: Row): string[] {
  const growth = growthOf(rssBytes);
  return [
    peer,
    ...quartersOf(rssBytes).map(megabytes),
    megabytes(Math.max(0, ...rssBytes)),
    percent(growth),
    String(after.sockets - before.sockets),
    (drainMs / 1_000).toFixed(1),
    `≤ ${percent(MAX_GROWTH)}: ${growth <= MAX_GROWTH ? 'reached' : 'missed'}`,
  ];
}

function notesOf(rows: readonly Row[]): string[] {
  const notes = rows.flatMap(({ peer, tally, before, after }) => [
    ...Object.entries(tally.refused).map(
      ([name, count]) => `- ${peer}: ${grouped(count)} refused with ${name}: ${tally.messages[name] ?? ''}`,
    ),
    ...printCounts(peer, sumCounts([{ before, after }])),
  ]);
  return notes.length === 0 ? [] : [notes.join('\n')];
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
