/**
 * The figures that each bench's result file holds, in one form: a value, and where the run had peers, the value as a multiple of theirs. One
 * reader for each bench; the shapes are those that the benches write with --json.
 */

import { JsonPlace } from './json-place.ts';

export interface Figure {
  /** What was measured: scenario and variant, operation, point. */
  readonly row: string;
  readonly unit: string;
  readonly value: number;
  /** Value through that of the peer in the same run, by the peer's name. */
  readonly ofPeers: Readonly<Record<string, number>>;
}

export interface Conditions {
  readonly processor: string;
  readonly cores: string;
  readonly kernel: string;
  readonly node: string;
  readonly handoff: string;
}

export interface BenchFigures {
  readonly conditions: Conditions;
  readonly figures: readonly Figure[];
}

const CPU = 'CPU µs/call';
const CALLS = 'calls/s';
const P99 = 'p99 µs';
const OWN_VARIANTS: readonly string[] = ['ring', 'inline'];

const READERS = {
  path: readPath,
  micro: readMicro,
  against: readAgainst,
  ablation: readAblation,
  scale: readScale,
  memory: readMemory,
} as const satisfies Readonly<Record<string, (whole: JsonPlace) => Figure[]>>;

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
  const machine = whole.optional('machine') ?? whole;
  const word = (place: JsonPlace, name: string): string => {
    const found = place.optional(name);
    return found === null ? '' : String(found.value);
  };
  return {
    conditions: {
      processor: word(machine, 'processor'),
      cores: word(machine, 'cores'),
      kernel: word(machine, 'kernel'),
      node: word(machine, 'node'),
      handoff: word(whole, 'handoff'),
    },
    figures: READERS[bench](whole),
  };
}

function readPath(whole: JsonPlace): Figure[] {
  return whole.list('scenarios').flatMap((scenario) => {
    const variants = scenario.list('variants');
    const peer = variants.find((variant) => variant.text('variant') === 'haproxy') ?? null;
    return variants
      .filter((variant) => OWN_VARIANTS.includes(variant.text('variant')))
      .flatMap((variant) => {
        const row = `${scenario.text('scenario')} ${variant.text('variant')}`;
        return [
          // The bench itself takes this ratio within each round.
          figure(row, CPU, variant.number('cpuMicrosPerCall'), { HAProxy: variant.optionalNumber('ratio') }),
          figure(row, CALLS, variant.number('callsPerSecond'), { HAProxy: through(variant, peer, 'callsPerSecond') }),
          figure(row, P99, variant.number('p99Micros'), { HAProxy: through(variant, peer, 'p99Micros') }),
        ];
      });
  });
}

function readMicro(whole: JsonPlace): Figure[] {
  const alternativeNs = new Map<string, number | null>();
  if (whole.optional('comparisons') !== null) {
    for (const comparison of whole.list('comparisons')) {
      alternativeNs.set(comparison.text('operation'), comparison.optionalNumber('alternativeNs'));
    }
  }
  return whole.list('operations').map((operation) => {
    const name = operation.text('name');
    const medianNs = operation.number('medianNs');
    const other = alternativeNs.get(name) ?? null;
    return figure(name, 'ns', medianNs, { alternative: other === null ? null : medianNs / other });
  });
}

function readAgainst(whole: JsonPlace): Figure[] {
  return whole.list('scenarios').flatMap((scenario) => {
    const peers = scenario.list('peers');
    const haproxy = peers.find((peer) => peer.text('peer') === 'haproxy') ?? null;
    const javas = peers.filter((peer) => peer.text('peer').startsWith('java'));
    return peers
      .filter((peer) => OWN_VARIANTS.includes(peer.text('peer')))
      .flatMap((peer) => {
        const row = `${scenario.text('scenario')} ${peer.text('peer')}`;
        const figures: Figure[] = [];
        const cpu = peer.optionalNumber('cpuMicrosPerCall');
        if (cpu !== null) {
          const ofJava = peer.optionalNumber('ofJava');
          figures.push(
            figure(row, CPU, cpu, {
              HAProxy: peer.optionalNumber('ofHaproxy'),
              // The bench gives calls per CPU-second as a multiple of the better Java Router's.
              'Java Router': ofJava === null ? null : 1 / ofJava,
            }),
          );
        }
        // Where loader or NameNode were the limit the rest says nothing about the router.
        if (peer.text('limit') !== '') return figures;
        for (const [name, unit] of [
          ['callsPerSecond', CALLS],
          ['p99Micros', P99],
        ] as const) {
          const best = bestOf(javas, name, unit === CALLS);
          figures.push(
            figure(row, unit, peer.number(name), {
              HAProxy: through(peer, haproxy, name),
              'Java Router': through(peer, best, name),
            }),
          );
        }
        return figures;
      });
  });
}

function bestOf(peers: readonly JsonPlace[], name: string, most: boolean): JsonPlace | null {
  const sorted = peers
    .filter((peer) => peer.text('limit') === '')
    .toSorted((a, b) => (most ? b.number(name) - a.number(name) : a.number(name) - b.number(name)));
  return sorted[0] ?? null;
}

function readAblation(whole: JsonPlace): Figure[] {
  return whole.list('loads').flatMap((load) => {
    const name = load.field('load').text('name');
    return load.list('variants').map((variant) =>
      figure(`${name} ${variant.text('variant')}`, CPU, variant.number('cpuMicrosPerCall'), {
        // Calls per CPU-second of the full router as a multiple of the variant's: the other way round it is the CPU per call.
        'full router': variant.field('gain').optionalNumber('callsPerCpuSecond'),
      }),
    );
  });
}

function readScale(whole: JsonPlace): Figure[] {
  const points = whole.list('axes').flatMap((axis) =>
    axis.list('points').map((point) =>
      figure(`${axis.text('axis')}: ${point.field('point').text('name')}`, CPU, point.number('cpuMicrosPerCall'), {
        "axis' reference": point.number('ratio'),
      }),
    ),
  );
  const memory = whole
    .list('memory')
    .map((point) => figure(`memory: ${point.field('point').text('name')}`, 'MB', point.number('rssBytes') / 1e6, {}));
  return [...points, ...memory];
}

function readMemory(whole: JsonPlace): Figure[] {
  const figures: Figure[] = [];
  const samples = whole.optional('calls')?.list('samples') ?? [];
  const last = samples.at(-1);
  if (last !== undefined) figures.push(figure('resident after all calls', 'MB', last.number('rssBytes') / 1e6, {}));
  const idle = whole.optional('idle');
  if (idle !== null) {
    figures.push(figure('each idle connection', 'KB', idle.number('perConnection') / 1e3, {}));
    figures.push(figure('each further idle connection', 'KB', idle.number('perFurtherConnection') / 1e3, {}));
  }
  const start = whole.optional('start');
  if (start !== null) figures.push(figure('start to ready', 'ms', start.number('medianMs'), {}));
  if (figures.length === 0) throw new Error(`${whole.place}one of calls, idle and start is wanted`);
  return figures;
}

function through(own: JsonPlace, peer: JsonPlace | null, name: string): number | null {
  return peer === null ? null : own.number(name) / peer.number(name);
}

function figure(row: string, unit: string, value: number, ofPeers: Readonly<Record<string, number | null>>): Figure {
  const known = Object.entries(ofPeers).filter((entry): entry is [string, number] => entry[1] !== null);
  return { row, unit, value, ofPeers: Object.fromEntries(known) };
}
