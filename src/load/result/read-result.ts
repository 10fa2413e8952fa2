/** Reads a result that --json wrote. Everything that the report and the comparison use is checked, so that they need not. */
import { readFileSync, statSync } from 'node:fs';
import { UsageError } from '../../commands/usage.ts';
import { OPERATION_NAMES } from '../plan/operations.ts';
import { type LoadResult, RESULT_VERSION } from './result.ts';

/** Largest file that is read; an hour of two runs takes a few MB. */
const MAX_RESULT_BYTES = 256 * 1024 * 1024;

/** Throws UsageError that names the file and what is wrong with it. */
export function readResult(file: string): LoadResult {
  let text: string;
  try {
    if (statSync(file).size > MAX_RESULT_BYTES) throw new UsageError(`${file}: too large for a result`);
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    const reasons: Readonly<Record<string, string>> = {
      ENOENT: 'there is no such file',
      EISDIR: 'it is a directory',
      EACCES: 'permission denied',
    };
    throw new UsageError(`${file}: cannot be read: ${reasons[code] ?? code}`);
  }
  return checkResult(pickResult(parseJson(file, text), file), file);
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${file}: is not JSON; give a file that 'switchyard load --json FILE' wrote`);
  }
}

/** The result in what `load ceiling` and `load soak` write: that of the highest rate which held, and that of the soak. */
function pickResult(value: unknown, file: string): unknown {
  if (!isRecord(value)) return value;
  if (value['kind'] === 'soak') return value['result'];
  if (value['kind'] !== 'ceiling') return value;
  if (value['best'] !== null) return value['best'];
  throw new UsageError(`${file}: is of a search in which no rate held: there is nothing to compare`);
}

/** The value as a result. Throws UsageError that names `file` and the first field that is missing or wrong. */
export function checkResult(value: unknown, file: string): LoadResult {
  if (!isRecord(value) || !('version' in value) || !('plan' in value) || !('latency' in value)) {
    throw new UsageError(`${file}: is not a result of 'switchyard load --json FILE'`);
  }
  if (value['version'] !== RESULT_VERSION) {
    throw new UsageError(
      `${file}: is a result of version ${JSON.stringify(value['version'])}, this program reads version ${RESULT_VERSION}; ` +
        'read it with the program that wrote it, or run the load again',
    );
  }
  const problem = RESULT(value, '');
  if (problem !== null) throw new UsageError(`${file}: is not a whole result: ${problem}`);
  return value as unknown as LoadResult;
}

/** What is wrong with a value, starting with its place; null: nothing. */
type Shape = (value: unknown, place: string) => string | null;

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function expected(what: string, value: unknown, place: string): string {
  if (value === undefined) return `${place} is missing`;
  const found =
    value === null ? 'null' : Array.isArray(value) ? 'a list' : isRecord(value) ? 'an object' : typeof value;
  return `${place} should be ${what} and is ${found}`;
}

const number: Shape = (value, place) =>
  typeof value === 'number' && Number.isFinite(value) ? null : expected('a number', value, place);
const text: Shape = (value, place) => (typeof value === 'string' ? null : expected('text', value, place));
const flag: Shape = (value, place) => (typeof value === 'boolean' ? null : expected('true or false', value, place));

function optional(shape: Shape): Shape {
  return (value, place) => (value === undefined ? null : shape(value, place));
}

function orNull(shape: Shape): Shape {
  return (value, place) => (value === null ? null : shape(value, place));
}

function oneOf(words: readonly string[]): Shape {
  return (value, place) =>
    typeof value === 'string' && words.includes(value) ? null : expected(`one of ${words.join(', ')}`, value, place);
}

function list(shape: Shape): Shape {
  return (value, place) => {
    if (!Array.isArray(value)) return expected('a list', value, place);
    for (const [index, item] of value.entries()) {
      const problem = shape(item, `${place}[${index}]`);
      if (problem !== null) return problem;
    }
    return null;
  };
}

/** A list of exactly these. */
function tuple(...shapes: readonly Shape[]): Shape {
  return (value, place) => {
    if (!Array.isArray(value) || value.length !== shapes.length) {
      return expected(`a list of ${shapes.length}`, value, place);
    }
    return shapes.reduce<string | null>(
      (problem, shape, index) => problem ?? shape(value[index], `${place}[${index}]`),
      null,
    );
  };
}

/** An object with at least these fields. */
function record(fields: Readonly<Record<string, Shape>>): Shape {
  return (value, place) => {
    if (!isRecord(value)) return expected('an object', value, place);
    for (const [name, shape] of Object.entries(fields)) {
      const problem = shape(value[name], place === '' ? name : `${place}.${name}`);
      if (problem !== null) return problem;
    }
    return null;
  };
}

function numbers(...names: readonly string[]): Readonly<Record<string, Shape>> {
  return Object.fromEntries(names.map((name) => [name, number]));
}

/** An object whose `kind` says what other fields it has. */
function variant(kinds: Readonly<Record<string, Shape>>): Shape {
  return (value, place) => {
    const problem = record({ kind: oneOf(Object.keys(kinds)) })(value, place);
    if (problem !== null) return problem;
    return kinds[(value as { kind: string }).kind]?.(value, place) ?? null;
  };
}

const PERCENTILES = record(
  numbers('count', 'min', 'mean', 'stdev', 'p50', 'p75', 'p90', 'p95', 'p99', 'p999', 'p9999', 'max'),
);

const GROUP = record({
  name: text,
  ...numbers('calls', 'errors'),
  corrected: PERCENTILES,
  service: PERCENTILES,
});

const PLAN = record({
  host: text,
  port: number,
  loop: variant({
    open: record(numbers('callsPerSecond', 'rampMs')),
    closed: record({}),
    replay: record(numbers('speed')),
  }),
  ...numbers('connections', 'inFlight', 'filesPerTarget', 'warmupMs', 'timeoutMs', 'threads', 'seed'),
  users: list(text),
  mix: list(record({ operation: oneOf(OPERATION_NAMES), weight: number })),
  targets: list(record({ name: text, directory: text, own: text })),
  paths: list(text),
  distribution: variant({ uniform: record({}), zipf: record(numbers('exponent')) }),
  durationMs: orNull(number),
  calls: orNull(number),
  observerReads: flag,
  watchedPid: orNull(number),
  firstName: optional(number),
  spin: optional(flag),
});

const SECOND = record(numbers('p50', 'p99', 'p999', 'max'));

const RESULT = record({
  tool: text,
  startedAt: text,
  endedEarly: optional(flag),
  gaveUp: optional(flag),
  plan: PLAN,
  ...numbers(
    'measuredMs',
    'calls',
    'callsPerSecond',
    'lateForSlots',
    'lateForLoader',
    'unsent',
    'unanswered',
    'substituted',
  ),
  ...numbers('successes', 'errors', 'errorShare'),
  nothingFound: optional(number),
  askedPerSecond: orNull(number),
  achievedShare: orNull(number),
  saturated: flag,
  expectations: optional(list(record({ text, value: orNull(number), held: flag }))),
  errorClasses: list(record({ class: text, count: number, firstMessage: text })),
  latency: record({ corrected: PERCENTILES, service: PERCENTILES }),
  operations: list(GROUP),
  targets: list(GROUP),
  series: list(
    record({
      ...numbers('second', 'callsPerSecond', 'errors', 'waiting', 'inFlight'),
      measured: flag,
      corrected: SECOND,
      service: SECOND,
    }),
  ),
  curve: record({ corrected: list(tuple(number, number)), service: list(tuple(number, number)) }),
  loader: record({
    ...numbers('utilization', 'cpuShare', 'loopDelayP50Ms', 'loopDelayP99Ms', 'loopDelayMaxMs'),
    ...numbers('gcCount', 'gcTotalMs', 'gcMaxMs'),
    sendDelay: orNull(record(numbers('p50', 'p99'))),
    nearLimit: optional(text),
    wasTheLimit: flag,
    reason: text,
  }),
  watched: orNull(
    record({
      command: text,
      ended: optional(flag),
      ...numbers('pid', 'cpuSeconds', 'cpuMicrosPerCall', 'rssStartBytes', 'rssEndBytes', 'rssMaxBytes'),
      descriptorsStart: orNull(number),
      descriptorsEnd: orNull(number),
      socketsStart: orNull(number),
      socketsEnd: orNull(number),
      ...numbers('voluntarySwitches', 'involuntarySwitches', 'threads'),
      samples: list(tuple(number, number, orNull(number), number)),
    }),
  ),
});
