/** A chart in the page: title, room for the script to draw in, caption, and its numbers as a table for those who cannot see it. */
import type { ChartLine, ChartSpec } from './chart-spec.ts';
import { formatClock, formatPercentile, formatValue } from './client/format.js';
import { type Html, html } from './html.ts';
import { findRange } from './runs.ts';

/** Most rows of a chart's table: a longer chart is told in intervals. */
const TABLE_ROWS = 30;

/** Round lengths of intervals, in seconds. */
const INTERVALS_S = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600];

/** What stands for the seconds of an interval. */
export type Fold = 'highest' | 'mean' | 'sum';

export interface FigureText {
  readonly title: string;
  /** What the chart shows, in a sentence with its main numbers. */
  readonly caption: string;
  readonly fold: Fold;
}

export function renderFigure(spec: ChartSpec, { title, caption, fold }: FigureText): Html {
  const table = spec.kind === 'percentile' ? renderCurveTable(spec) : renderTimeTable(spec, fold);
  return html`<figure id="${spec.id}" class="${spec.tall ? 'tall' : 'short'}">
<h3 id="${spec.id}-title">${title}</h3>
<div id="${spec.id}-plot" class="plot" role="group" tabindex="0" aria-labelledby="${spec.id}-title" aria-describedby="${spec.id}-caption keys"></div>
<figcaption id="${spec.id}-caption">${caption}</figcaption>
<details><summary>Numbers<span class="unseen"> of the chart: ${title}</span></summary>
<div class="scroll" role="region" tabindex="0" aria-label="Numbers: ${title}">${table}</div></details>
</figure>
`;
}

/** All percentiles that have names, and those of the curve at each further nine. */
function renderCurveTable({ x, lines, unit }: ChartSpec): Html {
  const marks = [2, 4, 10, 20];
  for (let nines = 100; nines <= (x.at(-1) ?? 0); nines *= 10) marks.push(nines);
  const cells = marks.map((mark) => lines.map(({ values }) => findAtLeast(x, values, mark)));
  const rows = marks.map(
    (mark, row) =>
      html`<tr><th scope="row">${formatPercentile(mark)}</th>${cells[row]?.map((value) => renderCell(unit, value)) ?? null}</tr>`,
  );
  const highest = lines.map(({ values }) => values.findLast((value) => value !== null) ?? null);
  return html`<table><thead><tr><th scope="col">of the calls within</th>${lines.map(renderHead)}</tr></thead>
<tbody>${rows}<tr><th scope="row">all</th>${highest.map((value) => renderCell(unit, value))}</tr></tbody></table>`;
}

/** The first value at or after `mark`. */
function findAtLeast(x: readonly number[], values: ChartLine['values'], mark: number): number | null {
  const at = x.findIndex((inverse, index) => inverse >= mark * (1 - 1e-6) && (values[index] ?? null) !== null);
  return at < 0 ? null : (values[at] ?? null);
}

function renderTimeTable({ x, lines, unit }: ChartSpec, fold: Fold): Html {
  const [first = 0] = x;
  const span = (x.at(-1) ?? 0) - first + 1;
  const step = INTERVALS_S.find((seconds) => span / seconds <= TABLE_ROWS) ?? Math.ceil(span / TABLE_ROWS);
  const rows: Html[] = [];
  let from = 0;
  while (from < x.length) {
    const interval = Math.floor((x[from] ?? 0) / step);
    let to = from + 1;
    while (to < x.length && Math.floor((x[to] ?? 0) / step) === interval) to++;
    const cells = lines.map(({ values }) => renderCell(unit, foldValues(values.slice(from, to), fold)));
    rows.push(html`<tr><th scope="row">${formatClock(interval * step)}</th>${cells}</tr>`);
    from = to;
  }
  const each = step === 1 ? '1 s' : `${step} s, ${fold}`;
  return html`<table><thead><tr><th scope="col">from (${each})</th>${lines.map(renderHead)}</tr></thead>
<tbody>${rows}</tbody></table>`;
}

function renderHead({ label, basis }: ChartLine): Html {
  return html`<th scope="col">${label}${basis === null ? null : html`<br><small>${basis}</small>`}</th>`;
}

function renderCell(unit: ChartSpec['unit'], value: number | null): Html {
  return html`<td>${value === null ? '–' : formatValue(unit, value)}</td>`;
}

function foldValues(values: ChartLine['values'], fold: Fold): number | null {
  const present = values.filter((value) => value !== null);
  if (present.length === 0) return null;
  if (fold === 'highest') return findRange(present).highest;
  const sum = present.reduce((total, value) => total + value, 0);
  return fold === 'sum' ? sum : sum / present.length;
}
