import { grouped, markdownTable, type PrintTable, printTable } from '../harness/table.ts';

/** One row: a kind of call by one way. */
export interface Figures {
  readonly part: string;
  /** `ring`, `inline`, or `direct` for the NameNode itself. */
  readonly name: string;
  readonly calls: number;
  readonly entries: number;
  readonly callsPerSecond: number;
  /** Of the router. */
  readonly cpuMicrosPerCall: number;
  /** Of one call; for `beside`: of a fast call, above what it takes when nothing is merged. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly grownMegabytes: number;
  /** Time beside the direct connection's of the same round; null where there is none. */
  readonly timeOfDirect: number | null;
  readonly errors: number;
}

/** What the project aims at. */
const MAX_GROWTH_MB = 64;
const MAX_BESIDE_MS = 5;

const TITLES: Readonly<Record<string, string>> = {
  listing: 'listing of a directory in 2 nameservices, by pages',
  beside: 'getFileInfo while such listings run in its worker: delay',
  summary: 'content summary over 4 nameservices',
  lease: 'renewLease to 64 nameservices',
};
const HEADINGS = [
  'call',
  'by',
  'calls/s',
  'CPU µs/call',
  'p50 ms',
  'p99 ms',
  'x direct',
  'memory +MB',
  'errors',
  'aim',
];

export function printReport(figures: readonly Figures[]): string {
  return table(printTable, figures);
}

export function markdownReport(conditions: string, figures: readonly Figures[]): string {
  return `# Calls over several nameservices\n\n${conditions}\n\n${table(markdownTable, figures)}\n`;
}

function table(print: PrintTable, figures: readonly Figures[]): string {
  return print(HEADINGS, figures.map(rowOf));
}

function rowOf(row: Figures): string[] {
  const direct = row.name === 'direct';
  const names = row.entries > 0 ? `, ${grouped(row.entries)} names` : '';
  return [
    `${TITLES[row.part] ?? row.part}${names}`,
    row.name,
    grouped(row.callsPerSecond),
    direct ? '' : row.cpuMicrosPerCall.toFixed(1),
    row.p50Ms.toFixed(2),
    row.p99Ms.toFixed(2),
    row.timeOfDirect === null ? '' : row.timeOfDirect.toFixed(2),
    direct || row.part === 'beside' ? '' : row.grownMegabytes.toFixed(1),
    String(row.errors),
    direct ? '' : aimOf(row),
  ];
}

function aimOf({ part, p99Ms, grownMegabytes }: Figures): string {
  if (part === 'beside') return `p99 ≤ ${MAX_BESIDE_MS} ms: ${p99Ms <= MAX_BESIDE_MS ? 'reached' : 'missed'}`;
  if (part === 'listing') return `≤ ${MAX_GROWTH_MB} MB: ${grownMegabytes <= MAX_GROWTH_MB ? 'reached' : 'missed'}`;
  return '';
}
