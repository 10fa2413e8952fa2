/** The end of the report: what the loader says of itself, the watched process, the plan. */
import type { LoadPlan } from '../plan/plan.ts';
import { describeLoop } from '../result/format.ts';
import type { LoadResult } from '../result/result.ts';
import { formatBytes, formatMicros, formatNumber, formatShare } from './client/format.js';
import { renderFacts } from './headline.ts';
import { type Html, html } from './html.ts';
import { describeMix } from './plan-differences.ts';
import type { Run } from './runs.ts';

/** Names of a list that are shown; the rest is counted. */
const LISTED_NAMES = 20;

type Facts = Parameters<typeof renderFacts>[1];

const LOADER_FACTS: Facts = [
  { name: 'busiest thread', read: (r) => r.loader.utilization, show: formatShare, better: null },
  { name: 'CPU, 100 % is a core', read: (r) => r.loader.cpuShare, show: formatShare, better: null },
  { name: 'written after due, p50', read: ofSendDelay('p50'), show: formatMicros, better: null },
  { name: 'written after due, p99', read: ofSendDelay('p99'), show: formatMicros, better: null },
  { name: 'event loop delay p50', read: (r) => r.loader.loopDelayP50Ms, show: formatMillis, better: null },
  { name: 'event loop delay p99', read: (r) => r.loader.loopDelayP99Ms, show: formatMillis, better: null },
  { name: 'event loop delay max', read: (r) => r.loader.loopDelayMaxMs, show: formatMillis, better: null },
  { name: 'garbage collections', read: (r) => r.loader.gcCount, show: formatNumber, better: null },
  { name: 'time in collections', read: (r) => r.loader.gcTotalMs, show: formatMillis, better: null },
  { name: 'longest collection', read: (r) => r.loader.gcMaxMs, show: formatMillis, better: null },
];

const WATCHED_FACTS: Facts = [
  { name: 'CPU', read: ofWatched('cpuSeconds'), show: (value) => `${formatNumber(value)} s`, better: null },
  { name: 'CPU per call', read: ofWatched('cpuMicrosPerCall'), show: formatMicros, better: 'lower' },
  { name: 'resident at the start', read: ofWatched('rssStartBytes'), show: formatBytes, better: 'lower' },
  { name: 'resident at the end', read: ofWatched('rssEndBytes'), show: formatBytes, better: 'lower' },
  { name: 'resident at most', read: ofWatched('rssMaxBytes'), show: formatBytes, better: 'lower' },
  { name: 'sockets at the start', read: ofWatched('socketsStart'), show: formatNumber, better: null },
  { name: 'sockets at the end', read: ofWatched('socketsEnd'), show: formatNumber, better: null },
  { name: 'descriptors at the start', read: ofWatched('descriptorsStart'), show: formatNumber, better: null },
  { name: 'descriptors at the end', read: ofWatched('descriptorsEnd'), show: formatNumber, better: null },
  { name: 'voluntary switches per call', read: perCall('voluntarySwitches'), show: formatNumber, better: 'lower' },
  { name: 'involuntary switches per call', read: perCall('involuntarySwitches'), show: formatNumber, better: 'lower' },
  { name: 'threads', read: ofWatched('threads'), show: formatNumber, better: null },
];

type WatchedNumber =
  | 'cpuSeconds'
  | 'cpuMicrosPerCall'
  | `rss${'Start' | 'End' | 'Max'}Bytes`
  | `${'sockets' | 'descriptors'}${'Start' | 'End'}`
  | 'voluntarySwitches'
  | 'involuntarySwitches'
  | 'threads';

function ofSendDelay(key: 'p50' | 'p99'): (result: LoadResult) => number | null {
  return ({ loader: { sendDelay } }) => sendDelay?.[key] ?? null;
}

function ofWatched(key: WatchedNumber): (result: LoadResult) => number | null {
  return ({ watched }) => (watched === null ? null : watched[key]);
}

function perCall(key: 'voluntarySwitches' | 'involuntarySwitches'): (result: LoadResult) => number | null {
  return ({ watched, calls }) => (watched === null || calls === 0 ? null : watched[key] / calls);
}

function formatMillis(millis: number): string {
  return formatMicros(millis * 1000);
}

export function renderLoader(runs: readonly Run[]): Html {
  const verdicts = runs.map(({ letter, result }) => {
    const mark = letter === '' ? '' : `${letter}: `;
    const { wasTheLimit, reason, nearLimit } = result.loader;
    const near = nearLimit === undefined ? '' : ` It was near it: ${nearLimit}.`;
    return html`<p class="${wasTheLimit ? 'bad' : 'none'}">${mark}${wasTheLimit ? `The loader was the limit: ${reason}` : `The loader was not the limit.${near}`}</p>`;
  });
  return html`${verdicts}<div class="wide">${renderFacts('The load tool itself', LOADER_FACTS, runs)}</div>`;
}

export function renderWatched(runs: readonly Run[]): Html {
  const commands = runs.flatMap(({ letter, result: { watched } }) =>
    watched === null
      ? []
      : html`<p>${letter === '' ? '' : `${letter}: `}<code>${watched.command}</code>, pid ${watched.pid}</p>`,
  );
  return html`<div>${commands}${renderFacts('In the measured time', WATCHED_FACTS, runs)}</div>`;
}

const PLAN_ROWS: readonly (readonly [string, (plan: LoadPlan, result: LoadResult) => string])[] = [
  ['server', ({ host, port }) => `hdfs://${host}:${port}`],
  ['calls', ({ loop }) => describeLoop(loop)],
  ['ramp', ({ loop }) => (loop.kind === 'open' ? formatSpan(loop.rampMs) : 'none')],
  ['connections', ({ connections }) => formatNumber(connections)],
  ['in flight per connection', ({ inFlight }) => formatNumber(inFlight)],
  ['mix', ({ mix }) => describeMix(mix)],
  [
    'mounts',
    ({ targets }) =>
      listNames(targets.map(({ name, directory }) => (name === directory ? name : `${name} (${directory})`))),
  ],
  ['own directories', ({ targets }) => listNames(targets.map(({ own }) => own))],
  ['paths', ({ paths }) => (paths.length === 0 ? 'files of the own directories' : listNames(paths))],
  [
    'path distribution',
    ({ distribution }) => (distribution.kind === 'zipf' ? `zipf:${distribution.exponent}` : 'uniform'),
  ],
  ['files per mount', ({ filesPerTarget }) => formatNumber(filesPerTarget)],
  ['users', ({ users }) => listNames(users)],
  ['warm-up', ({ warmupMs }) => formatSpan(warmupMs)],
  ['duration', ({ durationMs, calls }) => describeLength(durationMs, calls)],
  ['timeout', ({ timeoutMs }) => formatSpan(timeoutMs)],
  ['loader threads', ({ threads }) => formatNumber(threads)],
  ['observer reads', ({ observerReads }) => (observerReads ? 'yes' : 'no')],
  ['watched process', ({ watchedPid }) => (watchedPid === null ? 'none' : `pid ${watchedPid}`)],
  ['seed', ({ seed }) => String(seed)],
  ['started', (_plan, { startedAt }) => startedAt],
  ['measured by', (_plan, { tool }) => tool],
];

/** Rows that differ between any two runs and are not to be marked for it. */
const ALWAYS_DIFFERENT: ReadonlySet<string> = new Set(['own directories', 'watched process', 'started']);

export function renderPlan(runs: readonly Run[]): Html {
  const head =
    runs.length > 1
      ? html`<thead><tr><td></td>${runs.map(({ letter }) => html`<th scope="col">${letter}</th>`)}</tr></thead>`
      : null;
  const rows = PLAN_ROWS.map(([name, describe]) => {
    const values = runs.map(({ result }) => describe(result.plan, result));
    const same = ALWAYS_DIFFERENT.has(name) || values.every((value) => value === values[0]);
    const cells = values.map((value) => html`<td>${value}</td>`);
    return html`<tr${same ? null : html` class="differs"`}><th scope="row">${name}</th>${cells}</tr>
`;
  });
  return html`<div class="wide"><table class="plan" aria-label="The plan">${head}<tbody>${rows}</tbody></table></div>`;
}

function formatSpan(millis: number): string {
  return millis === 0 ? 'none' : formatMillis(millis);
}

function describeLength(durationMs: number | null, calls: number | null): string {
  if (durationMs !== null) return formatSpan(durationMs);
  return calls === null ? 'the log' : `${formatNumber(calls)} calls`;
}

function listNames(names: readonly string[]): string {
  const shown = names.slice(0, LISTED_NAMES).join(', ');
  return names.length <= LISTED_NAMES
    ? shown || 'none'
    : `${shown} and ${formatNumber(names.length - LISTED_NAMES)} more`;
}
