import { grouped, markdownTable, type PrintTable, percent, printTable, rangeOf } from '../harness/table.ts';
import { FAULT_MEANINGS } from '../pressure/namenodes.ts';
import { printCounts, printStages } from '../pressure/state.ts';
import type { Figures } from './figures.ts';
import { RECOVERY_MS } from './leg.ts';

/** What the project aims at. */
const MAX_P99_RATIO = 1.5;
const MIN_THROUGHPUT_RATIO = 0.9;
const MAX_RECOVERY_MS = 10_000;

const OTHERS = [
  'one nameservice',
  'by',
  'p99 ms well',
  'sick',
  'ratio',
  'of the pairs',
  'calls/s well',
  'sick',
  'ratio',
  'of the pairs',
  'errors well',
  'sick',
  'aim',
];
const OWN = [
  'one nameservice',
  'by',
  'asked',
  'answered',
  'refused',
  'lost',
  'no answer',
  'twice',
  'not sent',
  'back after s',
  'longest',
  'sockets left',
  'memory +MB',
  'aim',
];

export function printReport(figures: readonly Figures[]): string {
  return sectionsOf(printTable, figures).join('\n\n');
}

export function markdownReport(conditions: string, figures: readonly Figures[]): string {
  return `# One sick nameservice\n\n${conditions}\n\n${sectionsOf(markdownTable, figures).join('\n\n')}\n`;
}

function sectionsOf(print: PrintTable, figures: readonly Figures[]): string[] {
  return [
    `What callers of the other nameservices saw\n\n${print(OTHERS, figures.map(othersRow))}`,
    `Calls to the sick nameservice, and what is left after it\n\n${print(OWN, figures.map(ownRow))}`,
    ...notesOf(figures),
    ...printStages(
      print,
      figures.map(({ fault, peer, fullest, stagesLeft }) => ({ name: `${fault}, ${peer}`, fullest, left: stagesLeft })),
    ),
  ];
}

function othersRow(row: Figures): string[] {
  const aim = row.p99Ratio <= MAX_P99_RATIO && row.throughputRatio >= MIN_THROUGHPUT_RATIO;
  return [
    row.fault,
    row.peer,
    row.wellP99Ms.toFixed(2),
    row.sickP99Ms.toFixed(2),
    row.p99Ratio.toFixed(2),
    rangeOf(row.p99Ratios),
    grouped(row.wellThroughput),
    grouped(row.sickThroughput),
    row.throughputRatio.toFixed(2),
    rangeOf(row.throughputRatios),
    String(row.wellErrors),
    String(row.errors),
    `≤ ${MAX_P99_RATIO}, ≥ ${MIN_THROUGHPUT_RATIO}: ${aim ? 'reached' : 'missed'}`,
  ];
}

function ownRow(row: Figures): string[] {
  const { longestRecoveryMs } = row;
  return [
    row.fault,
    row.peer,
    grouped(row.asked),
    grouped(row.succeeded),
    grouped(Object.values(row.refused).reduce((sum, count) => sum + count, 0)),
    grouped(row.lost),
    grouped(row.unanswered),
    grouped(row.twice),
    grouped(row.unsent),
    (row.recoveryMs / 1_000).toFixed(1),
    longestRecoveryMs === null ? `> ${RECOVERY_MS / 1_000}` : (longestRecoveryMs / 1_000).toFixed(1),
    String(row.socketsLeft),
    (row.grownBytes / 1e6).toFixed(1),
    `≤ ${MAX_RECOVERY_MS / 1_000} s: ${longestRecoveryMs !== null && longestRecoveryMs <= MAX_RECOVERY_MS ? 'reached' : 'missed'}`,
  ];
}

/** What the faults are, which exceptions there were, what must be known about a row. */
function notesOf(figures: readonly Figures[]): string[] {
  const faults = [...new Set(figures.map(({ fault }) => fault))].map((fault) => `- ${fault}: ${FAULT_MEANINGS[fault]}`);
  const rows = figures.flatMap((row) => {
    const { fault, peer, refused, messages, asked, failedWhileWell, firstError, limitedLegs, pairs } = row;
    const refusals = Object.entries(refused).map(
      ([name, count]) =>
        `- ${fault}, ${peer}: ${percent(count / Math.max(1, asked))} refused with ${name}: ${messages[name]}`,
    );
    return [
      ...refusals,
      ...printCounts(`${fault}, ${peer}`, row.counts),
      ...(failedWhileWell > 0 ? [`- ${fault}, ${peer}: ${percent(failedWhileWell)} failed while it was well`] : []),
      ...(firstError === '' ? [] : [`- ${fault}, ${peer}: first error of the others: ${firstError.split('\n', 1)[0]}`]),
      ...(limitedLegs > 0
        ? [`- ${fault}, ${peer}: the load tool was the limit in ${limitedLegs} of ${pairs * 2} legs`]
        : []),
    ];
  });
  return [[...faults, ...rows].join('\n')];
}
