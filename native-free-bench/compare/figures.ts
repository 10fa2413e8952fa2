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
}

/** What a reader has found so far. */
interface Found {
  readonly figures: Figure[];
  readonly leftOut: string[];
  /** Rates that follow from the run itself, with their names. */
  readonly rates: string[];
}

type Ratios = Readonly<Record<string, number | null>>;

const CPU = 'CPU µs/call';
const CALLS = 'calls/s';
const P99 = 'p99 µs';
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
  const found: Found = { figures: [], leftOut: [], rates: [] };
  READERS[bench](whole, found);
  return { conditions: readConditions(whole, found.rates), figures: found.figures, leftOut: found.leftOut };
}

function readPath(whole: JsonPlace, found: Found): void {
  for (const scenario of whole.list('scenarios')) {
    const name = scenario.text('scenario');
    const variants = scenario.list('variants');
    // CLIENTS@RATE is an open loop, in which nobody is meant to be full.
    const isValid = (variant: JsonPlace): boolean =>
      optionalText(variant, 'limit') === '' && (name.includes('@') || isSaturated(variant, 'proxyBusy'));
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
      add(found, row, CALLS, variant.number('callsPerSecond'), {
        HAProxy: through(variant, validPeer, 'callsPerSecond'),
      });
      add(found, row, P99, variant.number('p99Micros'), { HAProxy: through(variant, validPeer, 'p99Micros') });
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
    noteRate(found, name, scenario);
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
      for (const [field, unit] of [
        ['callsPerSecond', CALLS],
        ['p99Micros', P99],
      ] as const) {
        add(found, row, unit, peer.number(field), {
          HAProxy: through(peer, haproxy, field),
          'Java Router': through(peer, bestOf(javas, field, unit === CALLS), field),
        });
      }
    }
  }
}

function bestOf(peers: readonly JsonPlace[], name: string, most: boolean): JsonPlace | null {
  const sorted = peers.toSorted((a, b) => (most ? b.number(name) - a.number(name) : a.number(name) - b.number(name)));
  return sorted[0] ?? null;
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
      optionalText(variant, 'limit') === '' && (rate > 0 || isSaturated(variant, 'busy'));
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
        rate > 0 ? ([P99, 'p99Micros', 'p99'] as const) : ([CALLS, 'callsPerSecond', 'callsPerSecond'] as const);
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
  for (const point of whole.list('memory')) {
    add(found, `memory: ${point.field('point').text('name')}`, 'MB', point.number('rssBytes') / 1e6, {});
  }
}

function readMemory(whole: JsonPlace, found: Found): void {
  const calls = whole.optional('calls');
  const last = calls?.list('samples').at(-1);
  if (calls !== null && last !== undefined) {
    const row = `resident after calls of ${count(calls, 'connections')} connections`;
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

function noteRate(found: Found, name: string, place: JsonPlace): void {
  const rate = place.optionalNumber('ratePerSecond') ?? 0;
  if (rate > 0) found.rates.push(`${name} ${Math.round(rate).toLocaleString('en-US')}`);
}

/** Also when the file does not say how busy it was. */
function isSaturated(row: JsonPlace, busy: string): boolean {
  return (row.optionalNumber(busy) ?? 1) >= SATURATED_BUSY;
}

function optionalText(place: JsonPlace, name: string): string {
  return place.optional(name) === null ? '' : place.text(name);
}

function through(own: JsonPlace, peer: JsonPlace | null, name: string): number | null {
  return peer === null ? null : own.number(name) / peer.number(name);
}

function count(place: JsonPlace, name: string): string {
  return place.number(name).toLocaleString('en-US');
}

function add(found: Found, row: string, unit: string, value: number, ofPeers: Ratios): void {
  const known = Object.entries(ofPeers).filter((entry): entry is [string, number] => entry[1] !== null);
  found.figures.push({ row, unit, value, ofPeers: Object.fromEntries(known) });
}
