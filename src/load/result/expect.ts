/**
 * What a run must hold, and whether it did.
 *
 *   expectations = expectation *( "," expectation )
 *   expectation  = [ "service." ] [ name "." ] metric op value     name: an operation, or the name of a mount
 *   metric       = p50 | p75 | p90 | p95 | p99 | p99.9 | p99.99 | max | mean        a time with unit: us, ms, s
 *                | errors | achieved                                                a share: 0.01%
 *                | rate                                                             calls per second
 *   op           = "<" | "<=" | ">" | ">="
 */
import { nearestWord, UsageError } from '../../commands/usage.ts';
import { OPERATION_NAMES } from '../plan/operations.ts';
import type { LoadPlan } from '../plan/plan.ts';
import { readDurationMs, readPercent, readRate } from '../plan/values.ts';
import { formatAchieved, formatMicros, formatRate, formatShare } from './format.ts';
import { countMissing, describeMissing, liesAmongMissing } from './missing-calls.ts';
import { findPercentile, PERCENTILES, type PercentileName } from './percentiles.ts';
import type { Group, LoadResult } from './result.ts';

type Metric = PercentileName | 'errors' | 'rate' | 'achieved';
type Operator = '<' | '<=' | '>' | '>=';

const METRICS: readonly Metric[] = [...PERCENTILES.map(([, name]) => name), 'errors', 'rate', 'achieved'];
const MAX_EXPECTATIONS = 100;

export interface Expectation {
  /** As it was given. */
  readonly text: string;
  readonly metric: Metric;
  /** Operation or target; '' for all calls. */
  readonly name: string;
  /** Of service times, not of corrected latencies. */
  readonly isService: boolean;
  readonly operator: Operator;
  /** µs, share 0 … 1, or calls per second. */
  readonly limit: number;
}

export interface Verdict {
  readonly expectation: Expectation;
  /** Null when it is unknown; then it is missed. */
  readonly value: number | null;
  /** Why it is unknown, else ''. */
  readonly unknown: string;
  readonly held: boolean;
}

/** Throws UsageError for what cannot be understood, or cannot be known of a run of this plan. */
export function parseExpectations(text: string, plan: LoadPlan): Expectation[] {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.length > MAX_EXPECTATIONS) {
    throw new UsageError(`--expect: ${parts.length} expectations, at most ${MAX_EXPECTATIONS} are possible`);
  }
  return parts.map((part) => parseExpectation(part, plan));
}

function parseExpectation(text: string, plan: LoadPlan): Expectation {
  const [, subject = '', operator, value = ''] = /^([^<>]+?)\s*(<=|>=|<|>)\s*([^<>=]+)$/.exec(text) ?? [];
  if (operator === undefined) {
    throw new UsageError(`--expect ${text}: write METRIC<VALUE, for instance p99<5ms or errors<=0.01%`);
  }
  const [, scope = '', metric] =
    new RegExp(`^(?:(.+)\\.)?(${METRICS.join('|').replaceAll('.', '\\.')})$`).exec(subject) ?? [];
  if (metric === undefined) {
    const near = nearestWord(subject.slice(subject.lastIndexOf('.') + 1), METRICS);
    throw new UsageError(
      `--expect ${text}: there is no metric ${subject}${near === null ? '.' : `; did you mean ${near}?`} It knows ${METRICS.join(', ')}`,
    );
  }
  if (scope.endsWith('.')) throw new UsageError(`--expect ${text}: there is no name before the last dot`);
  const isService = scope === 'service' || scope.startsWith('service.');
  const expectation: Expectation = {
    text,
    metric: metric as Metric,
    name: isService ? scope.slice('service.'.length) : scope,
    isService,
    operator: operator as Operator,
    limit: parseLimit(text, metric as Metric, value.trim()),
  };
  refuseUnknowable(expectation, plan);
  return expectation;
}

function parseLimit(text: string, metric: Metric, value: string): number {
  if (isTime(metric)) {
    const ms = readDurationMs(value);
    if (ms === null) throw new UsageError(`--expect ${text}: give a time with its unit, for instance 800us, 5ms or 1s`);
    return ms * 1000;
  }
  if (metric === 'rate') {
    const callsPerSecond = readRate(value);
    if (callsPerSecond !== null) return callsPerSecond;
    throw new UsageError(`--expect ${text}: give calls per second, for instance 5000 or 5k`);
  }
  const share = value === '0' ? 0 : readPercent(value);
  if (share === null) throw new UsageError(`--expect ${text}: give a share in %, for instance 0.01%`);
  return share;
}

function refuseUnknowable({ text, metric, name, isService }: Expectation, plan: LoadPlan): void {
  if (!isTime(metric) && isService) {
    throw new UsageError(`--expect ${text}: ${metric} has no service time; leave 'service.' out`);
  }
  if ((metric === 'rate' || metric === 'achieved') && name !== '') {
    throw new UsageError(`--expect ${text}: ${metric} is known of all calls together only`);
  }
  if (metric === 'achieved' && plan.loop.kind === 'closed') {
    throw new UsageError(
      `--expect ${text}: a closed loop asks for no rate; expect a rate instead, for instance rate>5000`,
    );
  }
  if (name === '') return;
  const operations = plan.loop.kind === 'replay' ? OPERATION_NAMES : plan.mix.map(({ operation }) => operation);
  const names = [...operations, ...plan.targets.map((target) => target.name)];
  if (names.includes(name)) return;
  throw new UsageError(`--expect ${text}: this run has no operation or mount ${name}; it has ${names.join(', ')}`);
}

export function judgeExpectations(expectations: readonly Expectation[], result: LoadResult): Verdict[] {
  return expectations.map((expectation) => {
    const value = readMetric(expectation, result);
    if (value === null) return { expectation, value, unknown: 'no calls', held: false };
    if (isHidden(expectation, result)) {
      const unknown = `at least ${formatMetric(expectation.metric, value)}, ${describeMissing(result)}`;
      return { expectation, value: null, unknown, held: false };
    }
    return { expectation, value, unknown: '', held: compare(value, expectation) };
  });
}

/** The result with what was expected of it, as --json writes it. */
export function recordVerdicts(result: LoadResult, verdicts: readonly Verdict[]): LoadResult {
  if (verdicts.length === 0) return result;
  const expectations = verdicts.map(({ expectation, value, held }) => ({ text: expectation.text, value, held }));
  return { ...result, expectations };
}

/** What is measured says nothing about an upper limit when the percentile lies among calls without a latency. */
function isHidden({ metric, name, isService, operator }: Expectation, result: LoadResult): boolean {
  const missing = countMissing(result);
  if (!isTime(metric) || isService || missing === 0 || operator.startsWith('>')) return false;
  // Nobody knows which operations and mounts they would have been for.
  if (name !== '' || metric === 'mean' || metric === 'max') return true;
  return liesAmongMissing(Number(metric.slice(1)) / 100, result.latency.corrected.count, missing);
}

function readMetric({ metric, name, isService }: Expectation, result: LoadResult): number | null {
  if (metric === 'rate') return result.callsPerSecond;
  if (metric === 'achieved') return result.achievedShare;
  const group = name === '' ? null : findGroup(name, result);
  if (group === undefined) return null;
  if (metric === 'errors') return readErrorShare(group, result);
  const latency = group ?? result.latency;
  const percentiles = isService ? latency.service : latency.corrected;
  const key = findPercentile(metric);
  return key === undefined || percentiles.count === 0 ? null : percentiles[key];
}

function readErrorShare(group: Group | null, result: LoadResult): number | null {
  if (group !== null) return group.errors / Math.max(1, group.calls, group.errors);
  return result.latency.corrected.count === 0 && result.errors === 0 ? null : result.errorShare;
}

function findGroup(name: string, { operations, targets }: LoadResult): Group | undefined {
  return operations.find((group) => group.name === name) ?? targets.find((group) => group.name === name);
}

function compare(value: number, { operator, limit }: Expectation): boolean {
  switch (operator) {
    case '<':
      return value < limit;
    case '<=':
      return value <= limit;
    case '>':
      return value > limit;
    case '>=':
      return value >= limit;
  }
}

function isTime(metric: Metric): metric is PercentileName {
  return findPercentile(metric) !== undefined;
}

/** A line for each: what was expected, what was measured, held or missed. */
export function renderVerdicts(verdicts: readonly Verdict[]): string[] {
  const width = Math.max(0, ...verdicts.map(({ expectation }) => expectation.text.length));
  return verdicts.map(({ expectation, value, unknown, held }) => {
    const text = expectation.text.padEnd(width);
    return `expect ${text}  ${held ? 'held' : 'MISSED'}: ${value === null ? unknown : formatMetric(expectation.metric, value)}`;
  });
}

function formatMetric(metric: Metric, value: number): string {
  if (isTime(metric)) return formatMicros(value);
  if (metric === 'rate') return `${formatRate(value)} calls/s`;
  return metric === 'achieved' ? formatAchieved(value) : formatShare(value);
}
