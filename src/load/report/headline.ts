/** The head of the report: which runs, what to beware of, the rates and percentiles. */
import { describeLoop } from '../result/format.ts';
import { PERCENTILES } from '../result/percentiles.ts';
import type { LoadResult } from '../result/result.ts';
import { formatMicros, formatNumber, formatShare } from './client/format.js';
import { type Html, html } from './html.ts';
import { findPlanDifferences } from './plan-differences.ts';
import { findChange, formatChange, type Run } from './runs.ts';

export function renderRuns(runs: readonly Run[]): Html {
  const lines = runs.map(({ letter, name, result }) => {
    const { plan } = result;
    const mark = letter === '' ? null : html`<b class="run run-${letter}">${letter}</b> `;
    const facts = [
      ...(name === '' ? [] : [name]),
      `hdfs://${plan.host}:${plan.port}`,
      describeLoop(plan.loop),
      `${formatNumber(plan.connections)} connections × ${formatNumber(plan.inFlight)} in flight`,
      `${formatNumber(result.measuredMs / 1000)} s measured`,
      result.startedAt,
    ];
    return html`<li>${mark}${facts.join(' · ')}</li>`;
  });
  return html`<ul class="runs">${lines}</ul>${runs.map(renderExpectations)}`;
}

/** What --expect asked for, and whether it was so. */
function renderExpectations({ letter, result }: Run): Html | null {
  const { expectations = [] } = result;
  if (expectations.length === 0) return null;
  const said = expectations.map(({ text, held }) => `${text} ${held ? 'held' : 'missed'}`).join(' · ');
  return html`<p class="note">${letter === '' ? '' : `${letter}: `}Expected: ${said}</p>`;
}

/** What the reader must know before believing a number; the first is the gravest. */
export function renderWarnings(runs: readonly Run[]): Html | null {
  const items: { grave: boolean; title: string; text: string }[] = [];
  for (const { letter, result } of runs) {
    const of = letter === '' ? '' : `${letter}: `;
    for (const warning of findWarnings(result)) items.push({ ...warning, title: `${of}${warning.title}` });
  }
  const [before, after] = runs;
  const differences =
    before === undefined || after === undefined ? [] : findPlanDifferences(before.result.plan, after.result.plan);
  if (differences.length > 0) {
    const text = differences.map((each) => `${each.what}: ${each.before} in A, ${each.after} in B`).join('; ');
    items.push({ grave: true, title: 'The plans differ', text: `${text}.` });
  }
  if (items.length === 0) return null;
  const list = items
    .sort((left, right) => Number(right.grave) - Number(left.grave))
    .map(({ grave, title, text }) => html`<li class="${grave ? 'grave' : 'mild'}"><b>${title}.</b> ${text}</li>`);
  return html`<ul class="warnings" aria-label="Warnings">${list}</ul>`;
}

export interface Warning {
  /** The numbers do not mean what they seem to. */
  readonly grave: boolean;
  readonly title: string;
  readonly text: string;
}

export function findWarnings(result: LoadResult): Warning[] {
  const { loader, plan } = result;
  const warnings: Warning[] = [];
  if (result.calls === 0) {
    warnings.push({ grave: true, title: 'No call was answered', text: 'There are no latencies to show.' });
  }
  if (loader.wasTheLimit) warnings.push({ grave: true, title: 'The loader was the limit', text: loader.reason });
  if (loader.nearLimit !== undefined) {
    warnings.push({ grave: false, title: 'The loader was near its limit', text: loader.nearLimit });
  }
  if (result.gaveUp === true) {
    const text = 'The server was gone, and the run ended itself; calls that it did not make count as never sent.';
    warnings.push({ grave: true, title: 'Ended before its time', text });
  }
  if (result.saturated && result.askedPerSecond !== null && result.achievedShare !== null) {
    const text =
      `${formatNumber(result.callsPerSecond)} of ${formatNumber(result.askedPerSecond)} calls/s asked ` +
      `(${formatShare(result.achievedShare)}). Corrected latencies grow with the length of such a run.`;
    warnings.push({ grave: true, title: 'Saturated', text });
  }
  if (result.endedEarly === true) {
    warnings.push({ grave: false, title: 'Ended early', text: 'The run was stopped by a signal before its time.' });
  }
  if (result.watched?.ended === true) {
    const text = 'It ended before the run did; its last numbers are those of the last sample.';
    warnings.push({ grave: true, title: 'The watched process is gone', text });
  }
  if (plan.loop.kind === 'closed') {
    const text = 'Latencies leave out the waiting of calls that were not made while others were slow.';
    warnings.push({ grave: false, title: 'Closed loop', text });
  }
  for (const { text, held } of result.expectations ?? []) {
    if (!held) warnings.push({ grave: true, title: 'Expectation missed', text });
  }
  if (result.errors > 0) {
    const text = `${formatNumber(result.errors)} calls, ${formatShare(result.errorShare)} of those that were answered, lost or timed out.`;
    warnings.push({ grave: false, title: 'Calls failed', text });
  }
  return warnings;
}

/** Corrected and service latency side by side; with two runs each with the change from A to B. */
export function renderPercentiles(runs: readonly Run[]): Html {
  const bases = ['corrected', 'service'] as const;
  const compared = runs.length > 1;
  const head = compared
    ? html`<tr><td></td>${bases.map((basis) => html`<th scope="colgroup" colspan="${runs.length + 1}">${basis}</th>`)}</tr>
<tr><td></td>${bases.map(() => [runs.map(({ letter }) => html`<th scope="col">${letter}</th>`), html`<th scope="col">B vs A</th>`])}</tr>`
    : html`<tr><td></td>${bases.map((basis) => html`<th scope="col">${basis}</th>`)}</tr>`;
  const rows = PERCENTILES.map(([key, name]) => {
    const cells = bases.map((basis) => {
      const values = runs.map(({ result }) => (result.calls === 0 ? null : result.latency[basis][key]));
      const shown = values.map((value) => html`<td>${value === null ? '–' : formatMicros(value)}</td>`);
      return compared ? [...shown, renderChange(values[0], values[1], 'lower')] : shown;
    });
    return html`<tr${name === 'p99' ? html` class="key"` : null}><th scope="row">${name}</th>${cells}</tr>`;
  });
  return html`<table class="numbers"><caption>Latency</caption>
<thead>${head}</thead><tbody>${rows}</tbody></table>`;
}

/** Value of a fact in a result, null where the run has none; and how it is shown. */
interface Fact {
  readonly name: string;
  readonly read: (result: LoadResult) => number | null;
  readonly show: (value: number) => string;
  /** Which direction is good; null: neither. */
  readonly better: 'higher' | 'lower' | null;
}

const RATE_FACTS: readonly Fact[] = [
  { name: 'answered calls/s', read: (r) => r.callsPerSecond, show: formatNumber, better: 'higher' },
  { name: 'asked calls/s', read: (r) => r.askedPerSecond, show: formatNumber, better: null },
  { name: 'kept up with, of asked', read: (r) => r.achievedShare, show: formatShare, better: null },
  { name: 'calls', read: (r) => r.calls, show: formatNumber, better: null },
  { name: 'errors', read: (r) => r.errors, show: formatNumber, better: 'lower' },
  { name: 'share of errors', read: (r) => r.errorShare, show: formatShare, better: null },
  { name: 'sent late, no free slot or connection', read: (r) => r.lateForSlots, show: formatNumber, better: 'lower' },
  { name: 'sent late, loader busy', read: (r) => r.lateForLoader, show: formatNumber, better: null },
  { name: 'due and never sent', read: (r) => r.unsent, show: formatNumber, better: 'lower' },
  { name: 'without a reply at the end', read: (r) => r.unanswered, show: formatNumber, better: 'lower' },
  { name: 'found nothing', read: (r) => r.nothingFound ?? null, show: formatNumber, better: null },
  { name: 'replaced by mkdirs', read: (r) => r.substituted, show: formatNumber, better: null },
  {
    name: 'server CPU per call',
    read: (r) => (r.watched === null ? null : r.watched.cpuMicrosPerCall),
    show: formatMicros,
    better: 'lower',
  },
];

export function renderRates(runs: readonly Run[]): Html {
  const asked = new Set(runs.map(({ result }) => result.askedPerSecond));
  // More answers to more calls are no merit of the server.
  const facts = asked.size === 1 ? RATE_FACTS : RATE_FACTS.map((fact) => ({ ...fact, better: null }));
  return renderFacts('Rate and errors', facts, runs);
}

/** A table of facts; rows that no run has are left out. */
export function renderFacts(caption: string, facts: readonly Fact[], runs: readonly Run[]): Html {
  const compared = runs.length > 1;
  const head = compared
    ? html`<thead><tr><td></td>${runs.map(({ letter }) => html`<th scope="col">${letter}</th>`)}<th scope="col">B vs A</th></tr></thead>`
    : null;
  const rows = facts.map(({ name, read, show, better }) => {
    const values = runs.map(({ result }) => read(result));
    if (values.every((value) => value === null)) return null;
    const cells = values.map((value) => html`<td>${value === null ? '–' : show(value)}</td>`);
    return html`<tr><th scope="row">${name}</th>${cells}${compared ? renderChange(values[0], values[1], better) : null}</tr>`;
  });
  return html`<table class="numbers"><caption>${caption}</caption>${head}<tbody>${rows}</tbody></table>`;
}

/** Changes smaller than this are not coloured: runs of the same server differ by as much. */
const NOTED_CHANGE = 0.05;

/** A cell with the change; colour says whether it is for the better, the sign says it without colour. */
export function renderChange(
  before: number | null | undefined,
  after: number | null | undefined,
  better: 'higher' | 'lower' | null,
  rows = 1,
): Html {
  const change = findChange(before, after);
  const noted = change !== null && better !== null && Math.abs(change) >= NOTED_CHANGE;
  const verdict = noted ? ((change ?? 0) > 0 === (better === 'higher') ? ' good' : ' bad') : '';
  return html`<td class="change${verdict}"${rows > 1 ? html` rowspan="${rows}"` : null}>${formatChange(change)}</td>`;
}
