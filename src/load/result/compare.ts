/** `load compare A.json B.json [--html FILE]`: two results side by side. */
import { statSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { ExitCode, parseFlags, printLine, UsageError } from '../../commands/usage.ts';
import { takePositionals } from '../plan/positionals.ts';
import { findWarnings } from '../report/headline.ts';
import { findPlanDifferences } from '../report/plan-differences.ts';
import { findRange, joinNames } from '../report/runs.ts';
import {
  describeLoop,
  formatAchieved,
  formatBytes,
  formatCount,
  formatMicros,
  formatRate,
  formatShare,
  plainText,
} from './format.ts';
import { PERCENTILES } from './percentiles.ts';
import { readResult } from './read-result.ts';
import type { Group, LoadResult } from './result.ts';

const USAGE = "'load compare A.json B.json [--html FILE]'";

export async function run(args: string[]): Promise<number> {
  const { files, flags } = readArguments(args);
  const [first, second] = files;
  const before = readResult(first);
  const after = readResult(second);
  const { html } = flags;
  if (html !== undefined) {
    const { renderReport } = await import('../report/page.ts');
    writePage(
      html,
      renderReport(
        [before, after],
        files.map((file) => basename(file)),
      ),
    );
  }
  for (const line of renderComparison([before, after], files)) printLine(line);
  if (html !== undefined) printLine(`\nHTML report: ${html}`);
  return ExitCode.OK;
}

function readArguments(args: readonly string[]) {
  const options = { html: { type: 'string' } } as const;
  const { positionals, rest } = takePositionals(args, options);
  const flags = parseFlags(rest, options);
  const [first, second, third] = positionals;
  if (first === undefined || second === undefined) {
    throw new UsageError(`two results are compared, ${positionals.length} given: ${USAGE}`);
  }
  if (third !== undefined) throw new UsageError(`unexpected argument '${third}': two results are compared, ${USAGE}`);
  const { html } = flags;
  if (html === '-') throw new UsageError('--html -: the page does not go to standard output; name a file');
  if (html !== undefined && [first, second].some((file) => isSameFile(file, html))) {
    throw new UsageError(`--html ${html}: is one of the results, and would be written over; name another file`);
  }
  return { files: [first, second] as const, flags };
}

/** By whatever names. What cannot be looked at is no other; reading or writing it says why. */
function isSameFile(left: string, right: string): boolean {
  try {
    const one = statSync(left, { bigint: true });
    const other = statSync(right, { bigint: true });
    return one.dev === other.dev && one.ino === other.ino;
  } catch {
    return false;
  }
}

function writePage(file: string, page: string): void {
  try {
    writeFileSync(file, page);
  } catch (error) {
    throw new UsageError(
      `--html ${file}: cannot be written: ${(error as NodeJS.ErrnoException).code ?? String(error)}`,
    );
  }
}

/** Longest name of a mount, and longest warning: more is cut. */
const MAX_NAME_CHARACTERS = 60;
const MAX_WARNING_CHARACTERS = 400;

type Pair = readonly [LoadResult, LoadResult];

/** The lines of the comparison; B/A is the second through the first. */
export function* renderComparison(results: Pair, names: readonly [string, string]): Generator<string> {
  for (const [index, result] of results.entries()) {
    const { plan, startedAt } = result;
    const facts = `${describeLoop(plan.loop)}, ${plan.connections === 1 ? '1 connection' : `${formatCount(plan.connections)} connections`} × ${formatCount(plan.inFlight)} in flight`;
    const line = `${letterOf(index)}: ${names[index]}, ${startedAt}, hdfs://${plan.host}:${plan.port}, ${facts}`;
    yield plainText(line, MAX_WARNING_CHARACTERS);
  }
  const warnings = listWarnings(results);
  if (warnings.length > 0) yield '';
  yield* warnings;
  yield '';
  yield* renderTable(listRows(results));
}

function letterOf(index: number): string {
  return index === 0 ? 'A' : 'B';
}

function listWarnings(results: Pair): string[] {
  const [before, after] = results;
  const differences = findPlanDifferences(before.plan, after.plan).map(
    (each) => `warning: the plans differ in ${each.what}: A ${each.before}, B ${each.after}`,
  );
  const own = results.flatMap((result, index) =>
    findWarnings(result)
      .filter(({ grave }) => grave)
      .map(({ title, text }) => `warning: ${letterOf(index)}: ${title}: ${text}`),
  );
  return [...differences, ...own].map((line) => plainText(line, MAX_WARNING_CHARACTERS));
}

/** A heading, or a name with a value of each result. */
type Row =
  | { readonly heading: string }
  | {
      readonly name: string;
      readonly values: readonly (number | null | undefined)[];
      readonly show: (value: number) => string;
    };

function listRows(results: Pair): Row[] {
  const rows: Row[] = [{ heading: 'rate' }];
  const add = (name: string, show: (value: number) => string, read: (result: LoadResult) => number | null) =>
    rows.push({ name, show, values: results.map(read) });
  add('answered calls/s', formatRate, (result) => result.callsPerSecond);
  add('asked calls/s', formatRate, (result) => result.askedPerSecond);
  add('answered of asked', formatAchieved, (result) => result.achievedShare);
  add('calls', formatCount, (result) => result.calls);
  add('errors', formatCount, (result) => result.errors);
  add('share of errors', formatShare, (result) => result.errorShare);
  for (const basis of ['corrected', 'service'] as const) {
    rows.push({ heading: `latency, ${basis}` });
    for (const [key, name] of PERCENTILES) {
      add(name, formatMicros, (result) => (isUnknown(result, basis) ? null : result.latency[basis][key]));
    }
  }
  rows.push(...listGroups('by operation', results, ({ operations }) => operations));
  rows.push(...listGroups('by mount', results, ({ targets }) => targets));
  rows.push(...listErrors(results));
  if (results.some(({ watched }) => watched !== null)) {
    rows.push({ heading: 'watched process' });
    add('CPU per call', formatMicros, ({ watched }) => watched?.cpuMicrosPerCall ?? null);
    add('calls per CPU second', formatCount, ({ watched }) => invert(watched?.cpuMicrosPerCall));
    add('resident at most', formatBytes, ({ watched }) => watched?.rssMaxBytes ?? null);
    add('sockets at the end', formatCount, ({ watched }) => watched?.socketsEnd ?? null);
    add(
      'switches per call',
      (value) => value.toFixed(2),
      ({ watched, calls }) =>
        watched === null || calls === 0 ? null : (watched.voluntarySwitches + watched.involuntarySwitches) / calls,
    );
  }
  rows.push({ heading: 'load tool' });
  add('busiest thread', formatShare, ({ loader }) => loader.utilization);
  add('event loop delay p99', formatMicros, ({ loader }) => loader.loopDelayP99Ms * 1000);
  return rows;
}

function invert(cpuMicrosPerCall: number | undefined): number | null {
  return cpuMicrosPerCall === undefined || cpuMicrosPerCall === 0 ? null : 1_000_000 / cpuMicrosPerCall;
}

type Basis = 'corrected' | 'service';

/** In a closed loop no call is due at a time: there is nothing to correct. */
function isUnknown({ calls, plan }: LoadResult, basis: Basis): boolean {
  return calls === 0 || (basis === 'corrected' && plan.loop.kind === 'closed');
}

/** Every row has the name of its group, so that it can be found with grep. Two closed loops are compared by their service times. */
function listGroups(kind: string, results: Pair, read: (result: LoadResult) => readonly Group[]): Row[] {
  const basis = results.every(({ plan }) => plan.loop.kind === 'closed') ? 'service' : 'corrected';
  const lists = results.map(read);
  const rows = joinNames(lists).flatMap((full): Row[] => {
    const groups = lists.map((list) => list.find((group) => group.name === full));
    const name = plainText(full, MAX_NAME_CHARACTERS);
    const latency = (key: 'p50' | 'p99' | 'p999') =>
      results.map((result, index) => {
        const group = groups[index];
        return group === undefined || group[basis].count === 0 || isUnknown(result, basis) ? null : group[basis][key];
      });
    return [
      { name: `${name} calls`, show: formatCount, values: groups.map((group) => group?.calls) },
      { name: `${name} errors`, show: formatCount, values: groups.map((group) => group?.errors) },
      { name: `${name} p50`, show: formatMicros, values: latency('p50') },
      { name: `${name} p99`, show: formatMicros, values: latency('p99') },
      { name: `${name} p99.9`, show: formatMicros, values: latency('p999') },
    ];
  });
  return rows.length === 0 ? [] : [{ heading: `${kind}, ${basis} latency` }, ...rows];
}

function listErrors(results: Pair): Row[] {
  const names = new Set(results.flatMap(({ errorClasses }) => errorClasses.map((each) => each.class)));
  if (names.size === 0) return [];
  const rows = [...names].map((name): Row => {
    const counts = results.map((result) => result.errorClasses.find((each) => each.class === name)?.count ?? 0);
    return { name: plainText(name, MAX_NAME_CHARACTERS), show: formatCount, values: counts };
  });
  return [{ heading: 'errors by class' }, ...rows];
}

function* renderTable(rows: readonly Row[]): Generator<string> {
  const shown = rows.map((row) =>
    'heading' in row
      ? row
      : {
          name: row.name,
          cells: [
            ...row.values.map((value) => (value === null || value === undefined ? '–' : row.show(value))),
            divide(row.values),
          ],
        },
  );
  const cells = shown.filter((row) => 'cells' in row);
  const nameWidth = findRange(cells.map(({ name }) => name.length)).highest + 2;
  const widths = [0, 1, 2].map((column) =>
    Math.max(8, findRange(cells.map((row) => row.cells[column]?.length ?? 0)).highest),
  );
  const line = (name: string, columns: readonly string[]): string =>
    `${name.padEnd(nameWidth)}${columns.map((cell, column) => cell.padStart((widths[column] ?? 0) + 2)).join('')}`;
  let isFirst = true;
  for (const row of shown) {
    if ('cells' in row) {
      yield line(`  ${row.name}`, row.cells);
      continue;
    }
    if (!isFirst) yield '';
    yield isFirst ? line(row.heading, ['A', 'B', 'B/A']) : row.heading;
    isFirst = false;
  }
}

/** The second value through the first, two digits; `–` where there is none. */
function divide([before, after]: readonly (number | null | undefined)[]): string {
  if (before === null || before === undefined || after === null || after === undefined) return '–';
  if (before === 0) return '–';
  const ratio = after / before;
  return ratio > 0 && ratio < 0.0995 ? String(Number(ratio.toPrecision(2))) : ratio.toFixed(2);
}
