/**
 * The figures that each bench's result file holds, in one form: a value, and where the run had peers, the value as a multiple of theirs. One
 * reader for each bench; the shapes are those that the benches write with --json.
 *
 * Calls/s and latencies of a row in which load, NameNode or another process was the limit say nothing about the row: they are left out, its own
 * and the ratios to it. CPU per call stands.
 */

import { FULL } from '../ablation/variants.ts';
import { SATURATED_BUSY } from '../harness/limits.ts';
import { type Conditions, readConditions } from './conditions.ts';
import { JsonPlace } from './json-place.ts';

export interface Figure {
  /** What was measured: scenario and variant, operation, point. */
  readonly row: string;
  readonly unit: string;
  readonly value: number;
  /** Value through that of the peer in the same run, by the peer's name. */
  readonly ofPeers: Readonly<Record<string, number>>;
}

export interface BenchFigures {
  readonly conditions: Conditions;
  readonly figures: readonly Figure[];
  /** Rows whose calls/s and latencies are left out, own and peers'. */
  readonly leftOut: readonly string[];
  /** What the bench could not measure, and why. */
  readonly failures: readonly string[];
}

/** What a reader has found so far. */
interface Found {
  readonly figures: Figure[];
  readonly leftOut: string[];
  readonly failures: string[];
  /** Rates that follow from the run itself, with their names. */
  readonly rates: string[];
}

type Ratios = Readonly<Record<string, number | null>>;

const CPU = 'CPU µs/call';
const CALLS = 'calls/s';
const P99 = 'p99 µs';
/** In an open loop p99 counts from the due time and so has the wait for the loader's own tick in it, for all peers. */
const SERVICE_P99 = 'p99 µs since write';
const CLOSED_FIELDS = [
  ['callsPerSecond', CALLS],
  ['p99Micros', P99],
] as const;
const OPEN_FIELDS = [...CLOSED_FIELDS, ['serviceP99Micros', SERVICE_P99]] as const;
const OWN_VARIANTS: readonly string[] = ['ring', 'inline'];

const READERS = {
  path: readPath,
  micro: readMicro,
  against: readAgainst,
  'against-rig': readAgainst,
  ablation: readAblation,
  scale: readScale,
  memory: readMemory,
} as const satisfies Readonly<Record<string, (whole: JsonPlace, found: Found) => void>>;

export type BenchName = keyof typeof READERS;
export const BENCH_NAMES: readonly BenchName[] = Object.keys(READERS) as BenchName[];

/** `file` is how errors call it. Throws an Error that names the place when this is no result of `bench`. */
export function readFigures(bench: BenchName, text: string, file: string): BenchFigures {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`${file}: it is not JSON`);
  }
  const whole = new JsonPlace(value, `${file}: `);
  const found: Found = { figures: [], leftOut: [], failures: [], rates: [] };
  READERS[bench](whole, found);
  const { figures, leftOut, failures, rates } = found;
  return { conditions: readConditions(whole, rates), figures, leftOut, failures };
}

function readPath(whole: JsonPlace, found: Found): void {
  for (const scenario of whole.list('scenarios')) {
    const name = scenario.text('scenario');
    const variants = scenario.list('variants');
    // CLIENTS@RATE is an open loop, in which nobody is meant to be full.
    const isOpen = name.includes('@');
    const isValid = (variant: JsonPlace): boolean =>
      optionalText(variant, 'limit') === '' && (isOpen || isSaturated(variant, 'proxyBusy'));
    const peer = variants.find((variant) => variant.text('variant') === 'haproxy') ?? null;
    const validPeer = peer !== null && isValid(peer) ? peer : null;
    if (peer !== null && validPeer === null) found.leftOut.push(`${name} haproxy`);
    for (const variant of variants) {
      if (!OWN_VARIANTS.includes(variant.text('variant'))) continue;
      const row = `${name} ${variant.text('variant')}`;
      // The bench itself takes this ratio within each round.
      add(found, row, CPU, variant.number('cpuMicrosPerCall'), { HAProxy: variant.optionalNumber('ratio') });
      if (!isValid(variant)) {
        found.leftOut.push(row);
        continue;
      }
      for (const [field, unit] of isOpen ? OPEN_FIELDS : CLOSED_FIELDS) {
        addIfThere(found, row, unit, variant, field, { HAProxy: validPeer });
      }
    }
  }
}

function readMicro(whole: JsonPlace, found: Found): void {
  const alternativeNs = new Map<string, number | null>();
  if (whole.optional('comparisons') !== null) {
    for (const comparison of whole.list('comparisons')) {
      alternativeNs.set(comparison.text('operation'), comparison.optionalNumber('alternativeNs'));
    }
  }
  for (const operation of whole.list('operations')) {
    const name = operation.text('name');
    const medianNs = operation.number('medianNs');
    const other = alternativeNs.get(name) ?? null;
    add(found, name, 'ns', medianNs, { alternative: other === null ? null : medianNs / other });
  }
}

function readAgainst(whole: JsonPlace, found: Found): void {
  for (const scenario of whole.list('scenarios')) {
    const name = scenario.text('scenario');
    const isOpen = noteRate(found, name, scenario) > 0;
    const peers = scenario.list('peers');
    const isValid = (peer: JsonPlace): boolean => peer.text('limit') === '';
    for (const peer of peers) {
      // Without a peer in between the tools always are the limit.
      if (!isValid(peer) && peer.text('peer') !== 'direct') found.leftOut.push(`${name} ${peer.text('peer')}`);
    }
    const haproxy = peers.find((peer) => peer.text('peer') === 'haproxy' && isValid(peer)) ?? null;
    const javas = peers.filter((peer) => peer.text('peer').startsWith('java') && isValid(peer));
    for (const peer of peers) {
      if (!OWN_VARIANTS.includes(peer.text('peer'))) continue;
      const row = `${name} ${peer.text('peer')}`;
      const cpu = peer.optionalNumber('cpuMicrosPerCall');
      const ofJava = peer.optionalNumber('ofJava');
      if (cpu !== null) {
        add(found, row, CPU, cpu, {
          HAProxy: peer.optionalNumber('ofHaproxy'),
          // The bench gives calls per CPU-second as a multiple of the better Java Router's.
          'Java Router': ofJava === null ? null : 1 / ofJava,
        });
      }
      if (!isValid(peer)) continue;
      for (const [field, unit] of isOpen ? OPEN_FIELDS : CLOSED_FIELDS) {
        const java = bestOf(javas, field, unit === CALLS);
        addIfThere(found, row, unit, peer, field, { HAProxy: haproxy, 'Java Router': java });
      }
    }
  }
}

function bestOf(peers: readonly JsonPlace[], name: string, most: boolean): JsonPlace | null {
  const value = (peer: JsonPlace): number => peer.optionalNumber(name) ?? (most ? 0 : Number.POSITIVE_INFINITY);
  return peers.toSorted((a, b) => (most ? value(b) - value(a) : value(a) - value(b)))[0] ?? null;
}

/** In all three units the bench gives what the full router has as a multiple of the variant's, or its inverse. */
function readAblation(whole: JsonPlace, found: Found): void {
  for (const load of whole.list('loads')) {
    const point = load.field('load');
    const rate = point.optionalNumber('ratePerSecond') ?? 0;
    // The rate follows from the run: rows of two runs must meet all the same.
    const name = rate > 0 ? `${point.number('connections')} at the fixed rate` : point.text('name');
    noteRate(found, name, point);
    const variants = load.list('variants');
    const isValid = (variant: JsonPlace): boolean =>
      optionalText(variant, 'limit') === '' &&
      optionalText(variant, 'shortfall') === '' &&
      (rate > 0 || isSaturated(variant, 'busy'));
    const full = variants.find((variant) => variant.text('variant') === FULL.name);
    const isFullValid = full !== undefined && isValid(full);
    for (const variant of variants) {
      const row = `${name} ${variant.text('variant')}`;
      const gain = variant.field('gain');
      add(found, row, CPU, variant.number('cpuMicrosPerCall'), {
        // Calls per CPU-second: the other way round it is the CPU per call.
        'full router': gain.optionalNumber('callsPerCpuSecond'),
      });
      if (!isValid(variant)) {
        found.leftOut.push(row);
        continue;
      }
      const [unit, field, ratio] =
        rate > 0
          ? ([SERVICE_P99, 'serviceP99Micros', 'p99'] as const)
          : ([CALLS, 'callsPerSecond', 'callsPerSecond'] as const);
      const ofVariant = isFullValid ? gain.optionalNumber(ratio) : null;
      add(found, row, unit, variant.number(field), {
        'full router': ofVariant === null ? null : 1 / ofVariant,
      });
    }
  }
}

function readScale(whole: JsonPlace, found: Found): void {
  for (const axis of whole.list('axes')) {
    for (const point of axis.list('points')) {
      add(found, `${axis.text('axis')}: ${point.field('point').text('name')}`, CPU, point.number('cpuMicrosPerCall'), {
        "axis' reference": point.optionalNumber('ratio'),
      });
    }
  }
  if (whole.optional('failures') !== null) {
    for (const failure of whole.list('failures')) found.failures.push(String(failure.value));
  }
  for (const point of whole.list('memory')) {
    add(found, `memory: ${point.field('point').text('name')}`, 'MB', point.number('rssBytes') / 1e6, {});
  }
}

function readMemory(whole: JsonPlace, found: Found): void {
  const calls = whole.optional('calls');
  const last = calls?.list('samples').at(-1);
  if (calls !== null && last !== undefined) {
    const row = `resident after ${count(calls, 'calls')} calls of ${count(calls, 'connections')} connections`;
    add(found, row, 'MB', last.number('rssBytes') / 1e6, {});
  }
  const idle = whole.optional('idle');
  if (idle !== null) {
    const row = `each of ${count(idle, 'connections')} idle connections`;
    add(found, row, 'KB', idle.number('perConnection') / 1e3, {});
    const further = `${row}, without the first ${count(idle, 'firstCount')}`;
    add(found, further, 'KB', idle.number('perFurtherConnection') / 1e3, {});
  }
  const start = whole.optional('start');
  if (start !== null) {
    add(found, `start to ready with ${count(start, 'mounts')} mounts`, 'ms', start.number('medianMs'), {});
  }
  if (found.figures.length === 0) throw new Error(`${whole.place}one of calls, idle and start is wanted`);
}

/** Calls a second of an open loop; 0: closed loop. */
function noteRate(found: Found, name: string, place: JsonPlace): number {
  const rate = place.optionalNumber('ratePerSecond') ?? 0;
  if (rate > 0) found.rates.push(`${name} ${Math.round(rate).toLocaleString('en-US')}`);
  return rate;
}

/** Also when the file does not say how busy it was. */
function isSaturated(row: JsonPlace, busy: string): boolean {
  return (row.optionalNumber(busy) ?? 1) >= SATURATED_BUSY;
}

function optionalText(place: JsonPlace, name: string): string {
  return place.optional(name) === null ? '' : place.text(name);
}

function count(place: JsonPlace, name: string): string {
  return place.number(name).toLocaleString('en-US');
}

function add(found: Found, row: string, unit: string, value: number, ofPeers: Ratios): void {
  const known = Object.entries(ofPeers).filter((entry): entry is [string, number] => entry[1] !== null);
  found.figures.push({ row, unit, value, ofPeers: Object.fromEntries(known) });
}

/** The field of `own` and as a multiple of that of the peers; nothing when `own` has none, as results of older benches. */
function addIfThere(
  found: Found,
  row: string,
  unit: string,
  own: JsonPlace,
  field: string,
  peers: Readonly<Record<string, JsonPlace | null>>,
): void {
  const value = unit === SERVICE_P99 ? own.optionalNumber(field) : own.number(field);
  if (value === null) return;
  const ratios = Object.entries(peers).map(([name, peer]) => {
    const other = peer?.optionalNumber(field) ?? null;
    return [name, other === null || other === 0 ? null : value / other] as const;
  });
  add(found, row, unit, value, Object.fromEntries(ratios));
}
