/** Tables by operation and by mount or nameservice, each row with its range of latencies drawn beside it. */
import type { Group, Latency, LoadResult, Percentiles } from '../result/result.ts';
import { formatMicros, formatNumber } from './client/format.js';
import { renderChange } from './headline.ts';
import { type Html, html } from './html.ts';
import { findRange, joinNames, type Run } from './runs.ts';

/** Width of the drawn range, in its own units. */
const RANGE_WIDTH = 240;
const LANE_HEIGHT = 12;
/** Rows that are open at first; the rest of a longer table is scrolled. */
const SCROLLED_ROWS = 16;

type GroupList = 'operations' | 'targets';

export function renderGroups(list: GroupList, what: string, runs: readonly Run[]): Html {
  const names = joinNames(runs.map(({ result }) => result[list]));
  if (names.length === 0) return html`<p class="none">No call was answered.</p>`;
  const found = runs.map(({ result }) => new Map(result[list].map((group) => [group.name, group])));
  const scale = makeScale(runs.flatMap(({ result }) => result[list]));
  const compared = runs.length > 1;
  const columns = compared ? ['run', ...COLUMNS, 'p50 B vs A', 'p99 B vs A'] : COLUMNS;
  const rows = names.map((name) => {
    const groups = found.map((byName) => byName.get(name) ?? null);
    return compared ? renderPair(name, groups, scale) : renderSingle(name, groups[0] ?? null, scale);
  });
  const table = html`<table class="groups" aria-label="Latency by ${what}">
<thead><tr><th scope="col">${what}</th>${columns.map((name) => html`<th scope="col">${name}</th>`)}<th scope="col" class="range"><span class="unseen">drawn</span>${renderScale(scale)}</th></tr></thead>
<tbody>${rows}</tbody></table>`;
  const long = names.length > SCROLLED_ROWS ? ' long' : '';
  return html`<div class="scroll${long}" role="region" tabindex="0" aria-label="Table by ${what}">${table}</div>
<p class="note">Corrected latencies where nothing else is said. Drawn, on one log scale: a bar from p50 to p99, a mark at p99.9, a line to the maximum.</p>`;
}

const COLUMNS = ['calls', 'errors', 'p50', 'p99', 'p99.9', 'max', 'service p99'];

function renderSingle(name: string, group: Group | null, scale: Scale): Html {
  return html`<tr><th scope="row">${name}</th>${renderCells(group)}<td class="range">${renderRange(group, 1, scale)}</td></tr>
`;
}

/** A row for each run, one below the other; the changes stand beside both. */
function renderPair(name: string, groups: readonly (Group | null)[], scale: Scale): Html {
  const [before, after] = groups;
  const changes = (['p50', 'p99'] as const).map((key) =>
    renderChange(latencyOf(before, 'corrected', key), latencyOf(after, 'corrected', key), 'lower', 2),
  );
  return html`<tr class="pair-first"><th scope="row" rowspan="2">${name}</th><td class="letter"><b class="run run-A">A</b></td>${renderCells(before ?? null)}${changes}<td class="range">${renderRange(before ?? null, 1, scale)}</td></tr>
<tr><td class="letter"><b class="run run-B">B</b></td>${renderCells(after ?? null)}<td class="range">${renderRange(after ?? null, 2, scale)}</td></tr>
`;
}

function renderCells(group: Group | null): Html {
  if (group === null) return html`<td colspan="${COLUMNS.length}">–</td>`;
  const latencies = [
    latencyOf(group, 'corrected', 'p50'),
    latencyOf(group, 'corrected', 'p99'),
    latencyOf(group, 'corrected', 'p999'),
    latencyOf(group, 'corrected', 'max'),
    latencyOf(group, 'service', 'p99'),
  ];
  return html`<td>${formatNumber(group.calls)}</td><td${group.errors > 0 ? html` class="bad"` : null}>${formatNumber(group.errors)}</td>${latencies.map((value) => html`<td>${value === null ? '–' : formatMicros(value)}</td>`)}`;
}

function latencyOf(
  group: Group | null | undefined,
  basis: keyof Latency,
  key: 'p50' | 'p99' | 'p999' | 'max',
): number | null {
  return group === null || group === undefined || group[basis].count === 0 ? null : group[basis][key];
}

/** A log scale from one power of ten to another, µs. */
interface Scale {
  readonly from: number;
  readonly to: number;
}

function makeScale(groups: readonly Group[]): Scale {
  const counted = groups.filter(({ corrected }) => corrected.count > 0).map(({ corrected }) => corrected);
  if (counted.length === 0) return { from: 1, to: 10 };
  const lowest = Math.max(1, findRange(counted.map(({ p50 }) => p50)).lowest);
  const highest = Math.max(10, findRange(counted.map(({ max }) => max)).highest);
  const from = 10 ** Math.floor(Math.log10(lowest));
  return { from, to: Math.max(from * 10, 10 ** Math.ceil(Math.log10(highest) - 1e-9)) };
}

function place(scale: Scale, micros: number): number {
  const share = Math.log(Math.max(micros, scale.from) / scale.from) / Math.log(scale.to / scale.from);
  return Number((Math.min(1, share) * RANGE_WIDTH).toFixed(1));
}

function powersOf({ from, to }: Scale): number[] {
  const powers: number[] = [];
  for (let power = from; power <= to * 1.001; power *= 10) powers.push(power);
  return powers;
}

/** The numbers above the drawn ranges. */
function renderScale(scale: Scale): Html {
  const powers = powersOf(scale);
  // Five labels fit side by side.
  const every = powers.length > 5 ? 2 : 1;
  const labels = powers.map((power, index) => {
    if ((powers.length - 1 - index) % every !== 0) return null;
    const anchor = index === 0 ? 'start' : index === powers.length - 1 ? 'end' : 'middle';
    return html`<text x="${place(scale, power)}" y="11" text-anchor="${anchor}">${formatMicros(power).replace(/\.0+ /, ' ')}</text>`;
  });
  return html`<svg width="${RANGE_WIDTH}" height="14" viewBox="0 0 ${RANGE_WIDTH} 14" aria-hidden="true">${labels}</svg>`;
}

/** `lane` is the number of the run, which gives the colour. */
function renderRange(group: Group | null, lane: 1 | 2, scale: Scale): Html {
  const grid = powersOf(scale).map((power) => {
    const x = place(scale, power);
    return html`<line class="grid" x1="${x}" x2="${x}" y1="0" y2="${LANE_HEIGHT}"/>`;
  });
  const middle = LANE_HEIGHT / 2;
  return html`<svg width="${RANGE_WIDTH}" height="${LANE_HEIGHT}" viewBox="0 0 ${RANGE_WIDTH} ${LANE_HEIGHT}" aria-hidden="true">${grid}${group === null || group.corrected.count === 0 ? null : renderLane(group.corrected, lane, middle, scale)}</svg>`;
}

function renderLane({ p50, p99, p999, max }: Percentiles, lane: 1 | 2, middle: number, scale: Scale): Html {
  const left = place(scale, p50);
  const width = Math.max(1.5, place(scale, p99) - left).toFixed(1);
  const mark = place(scale, p999);
  return html`<g class="lane-${lane}"><line x1="${left}" x2="${place(scale, max)}" y1="${middle}" y2="${middle}"/><rect x="${left}" width="${width}" y="${middle - 3.5}" height="7"/><line x1="${mark}" x2="${mark}" y1="${middle - 5}" y2="${middle + 5}"/></g>`;
}

/** Errors by class, of all runs. */
export function renderErrorClasses(runs: readonly Run[]): Html {
  const found = runs.map(({ result }) => new Map(result.errorClasses.map((each) => [each.class, each])));
  const names = joinNames(runs.map(({ result }) => listClasses(result)));
  if (names.length === 0) return html`<p class="none">No call failed.</p>`;
  const rows = names.map((name) => {
    const classes = found.map((byName) => byName.get(name) ?? null);
    const message = classes.find((each) => each !== null)?.firstMessage ?? '';
    const cells = classes.map((each) => html`<td>${formatNumber(each?.count ?? 0)}</td>`);
    return html`<tr><th scope="row"><code>${name}</code></th>${cells}<td class="text">${message}</td></tr>
`;
  });
  const heads = runs.map(({ letter }) => html`<th scope="col">${letter === '' ? 'calls' : letter}</th>`);
  return html`<div class="scroll" role="region" tabindex="0" aria-label="Errors by class"><table class="groups"><thead><tr><th scope="col">class</th>${heads}<th scope="col" class="text">first message</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

function listClasses(result: LoadResult): { name: string }[] {
  return result.errorClasses.map((each) => ({ name: each.class }));
}
