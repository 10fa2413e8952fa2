/** What `load soak` says for people, and its JSON and HTML. */
import { perSecond } from '../ceiling/print.ts';
import type { Ceiling } from '../ceiling/search.ts';
import { type Html, html } from '../report/html.ts';
import { formatBytes, formatCount, formatMicros, formatShare } from '../result/format.ts';
import type { LoadResult } from '../result/result.ts';
import type { Drift } from './drift.ts';
import type { CheckedDrift } from './drift-expect.ts';
import { describeTrend, signed } from './drift-expect.ts';
import { DRIFT_METRICS, type DriftMetric, isP99Hidden, type SoakWindow } from './windows.ts';

export interface SoakReport {
  /** Share of the ceiling at which it ran. */
  readonly atShare: number;
  readonly ceilingPerSecond: number;
  /** Of the search; null when the ceiling was given. */
  readonly found: Ceiling | null;
  /** Process whose memory, sockets and descriptors were looked at: of the server, or this one. */
  readonly process: { readonly kind: 'server' | 'loader'; readonly pid: number; readonly ended: boolean };
  readonly windowSeconds: number;
  readonly windows: readonly SoakWindow[];
  readonly drift: Readonly<Record<DriftMetric, Drift | null>>;
  readonly expectations: readonly CheckedDrift[];
  readonly result: LoadResult;
}

const LABELS: Readonly<Record<DriftMetric, string>> = {
  p99: 'p99 corrected',
  rss: 'resident memory',
  sockets: 'sockets',
  descriptors: 'descriptors',
};

const HEADINGS = ['', 'median', 'first quarter', 'last quarter', 'change', 'trend per hour'] as const;

/** The table of drifts with what must be known to read it. */
export function formatDrifts(report: SoakReport): string[] {
  const columns = (cells: readonly string[]): string =>
    `  ${(cells[0] ?? '').padEnd(18)}${cells
      .slice(1, 5)
      .map((cell) => cell.padStart(14))
      .join('')}  ${cells[5] ?? ''}`.trimEnd();
  return [
    `${describeWindows(report)}; ${describeProcess(report)}`,
    columns(HEADINGS),
    ...DRIFT_METRICS.map((metric) => columns(describeDrift(metric, report.drift[metric]))),
  ];
}

function describeWindows({ windows, windowSeconds }: SoakReport): string {
  return `Drift over ${windows.length === 1 ? 'one window' : `${windows.length} windows`} of ${windowSeconds} s`;
}

export function describeProcess({ process: { kind, pid, ended } }: SoakReport): string {
  if (kind === 'loader') {
    return 'memory, sockets and descriptors are those of this tool: those of the server are unknown without --pid';
  }
  return `memory, sockets and descriptors are those of process ${pid}${ended ? ', WHICH HAS ENDED' : ''}`;
}

function describeDrift(metric: DriftMetric, drift: Drift | null): string[] {
  if (drift === null) return [LABELS[metric], '-', '-', '-', '-', 'unknown'];
  return [
    LABELS[metric],
    formatValue(metric, drift.level),
    formatValue(metric, drift.firstQuarter),
    formatValue(metric, drift.lastQuarter),
    drift.quarterShare === null ? '-' : signed(drift.quarterShare),
    describeTrend(drift),
  ];
}

function formatValue(metric: DriftMetric, value: number): string {
  if (metric === 'p99') return formatMicros(value);
  if (metric === 'rss') return formatBytes(value);
  return Number.isInteger(value) ? formatCount(value) : value.toFixed(1);
}

/** What ran, in one line. */
export function describeSoak({ atShare, ceilingPerSecond, result }: SoakReport): string {
  const rate = perSecond(result.askedPerSecond ?? result.callsPerSecond);
  return `Soak: ${rate}, ${formatShare(atShare)} of ${perSecond(ceilingPerSecond)}, for ${formatMinutes(result.measuredMs)}`;
}

export function formatMinutes(ms: number): string {
  return ms < 120_000 ? `${(ms / 1000).toFixed(0)} s` : `${(ms / 60_000).toFixed(ms % 60_000 < 500 ? 0 : 1)} min`;
}

/** One line for a window while it runs, of a soak that is to last `ofMs`. */
export function formatWindow(window: SoakWindow, ofMs: number): string {
  const { startSecond, seconds, calls, errors, p99Micros, rssBytes, sockets } = window;
  const parts = [
    perSecond(calls / Math.max(1, seconds)),
    `p99 ${isP99Hidden(window) ? 'at least ' : ''}${formatMicros(p99Micros)}`,
    `errors ${formatCount(errors)}`,
    ...(rssBytes === null ? [] : [`memory ${formatValue('rss', rssBytes)}`]),
    ...(sockets === null ? [] : [`sockets ${formatValue('sockets', sockets)}`]),
  ];
  return `soak ${formatMinutes((startSecond + seconds) * 1000)} of ${formatMinutes(ofMs)}: ${parts.join(', ')}`;
}

/** As the lines of the other expectations are written. */
export function formatChecked({ text, held, value }: CheckedDrift): string {
  return `expect ${text}  ${held ? 'held' : 'MISSED'}: ${value}`;
}

export const SOAK_VERSION = 1;

/** What --json writes. Drifts are shares of the median per hour; latencies µs. */
export function toSoakJson(report: SoakReport): object {
  return { version: SOAK_VERSION, kind: 'soak', ...report };
}

/** Section of the HTML report. */
export function renderDrifts(report: SoakReport): Html {
  const rows = DRIFT_METRICS.map((metric) => {
    const cells = describeDrift(metric, report.drift[metric]);
    return html`<tr><th scope="row">${cells[0] ?? ''}</th>${cells.slice(1, 5).map((cell) => html`<td>${cell}</td>`)}<td class="text">${cells[5] ?? ''}</td></tr>`;
  });
  const windows = report.windows.map(
    (window) => html`<tr><th scope="row">${formatMinutes(window.startSecond * 1000)}</th>
<td>${perSecond(window.calls / Math.max(1, window.seconds))}</td><td>${isP99Hidden(window) ? '≥ ' : ''}${formatMicros(window.p99Micros)}</td><td>${window.errors}</td>
<td>${window.rssBytes === null ? '-' : formatValue('rss', window.rssBytes)}</td><td>${window.sockets ?? '-'}</td><td>${window.descriptors ?? '-'}</td></tr>`,
  );
  return html`<section aria-labelledby="drift"><h2 id="drift">Drift</h2>
<p>${describeSoak(report)}; ${describeProcess(report)}.</p>
<div class="scroll" role="region" tabindex="0" aria-label="Drift"><table class="groups"><caption>${describeWindows(report)}.</caption>
<thead><tr><td></td>${HEADINGS.slice(1, 5).map((heading) => html`<th scope="col">${heading}</th>`)}<th scope="col" class="text">${HEADINGS[5]}</th></tr></thead><tbody>${rows}</tbody></table></div>
<details><summary>All windows</summary><div class="scroll" role="region" tabindex="0" aria-label="Windows"><table class="groups"><caption>Numbers of each window.</caption>
<thead><tr><th scope="col">from</th><th scope="col">calls/s</th><th scope="col">p99</th><th scope="col">errors</th><th scope="col">memory</th><th scope="col">sockets</th><th scope="col">descriptors</th></tr></thead>
<tbody>${windows}</tbody></table></div></details></section>`;
}
