/** The HTML report of one run, or of two that are compared: one file that needs nothing else and asks for nothing. */
import type { LoadResult } from '../result/result.ts';
import { hashSource, readAssets } from './assets.ts';
import { renderLoader, renderPlan, renderWatched } from './details.ts';
import { renderFigure } from './figure.ts';
import { renderErrorClasses, renderGroups } from './groups.ts';
import { renderPercentiles, renderRates, renderRuns, renderWarnings } from './headline.ts';
import { embedJson, Html, html } from './html.ts';
import { type Chart, makeCurve, makeLoadCharts, makeWatchedCharts } from './over-time.ts';
import type { Run } from './runs.ts';

/**
 * The page as text. Two results are drawn over each other, the second beside its difference to the first; `names` says what to call them.
 * Throws RangeError for any other number of results.
 */
export function renderReport(results: readonly LoadResult[], names: readonly string[] = []): string {
  if (results.length < 1 || results.length > 2) {
    throw new RangeError(`a report shows one run or two, not ${results.length}`);
  }
  const letters = results.length === 1 ? ([''] as const) : (['A', 'B'] as const);
  const runs = results.map(
    (result, index): Run => ({ letter: letters[index] ?? '', name: names[index] ?? '', result }),
  );
  return renderPage(runs).text;
}

function renderPage(runs: readonly Run[]): Html {
  const title = runs.length === 1 ? 'Load report' : 'Load comparison';
  const server = [...new Set(runs.map(({ result }) => `${result.plan.host}:${result.plan.port}`))].join(', ');
  const curve = makeCurve(runs);
  const load = makeLoadCharts(runs);
  const watched = makeWatchedCharts(runs);
  const body = html`<header><h1>${title}</h1>${renderRuns(runs)}</header>
<main>
${renderWarnings(runs)}
<section aria-labelledby="summary"><h2 id="summary">Summary</h2>
<div class="columns"><div>${renderPercentiles(runs)}</div><div>${renderRates(runs)}</div></div>
<p class="note">Corrected latency counts from the moment a call was due, service time from the moment it was sent.</p></section>
<section aria-labelledby="percentiles"><h2 id="percentiles">Latency by percentile</h2>
<p id="keys" class="note">In a chart: ← and → move along, Home and End jump, + and − zoom, 0 shows all. Drag to zoom, double-click for all.</p>
${renderCharts([curve])}</section>
<section aria-labelledby="time"><h2 id="time">Over time</h2>
${renderSwitches(load)}
<div class="charts">${renderCharts(load)}</div></section>
<section aria-labelledby="operations"><h2 id="operations">By operation</h2>
${renderGroups('operations', 'operation', runs)}</section>
<section aria-labelledby="mounts"><h2 id="mounts">By mount</h2>
${renderGroups('targets', 'mount', runs)}</section>
<section aria-labelledby="errors-by-class"><h2 id="errors-by-class">Errors</h2>
${renderErrorClasses(runs)}</section>
${runs.some(({ result }) => result.watched !== null) ? renderProcess(runs, watched) : null}
<section aria-labelledby="loader"><h2 id="loader">Loader</h2>
${renderLoader(runs)}</section>
<section aria-labelledby="plan"><h2 id="plan">Plan</h2>
${renderPlan(runs)}</section>
</main>
<p id="spoken" class="unseen" aria-live="polite"></p>
<noscript><p class="note">The charts need JavaScript; their numbers are in the tables.</p></noscript>`;
  return wrapPage(html`${title}: ${server}`, body, [curve, ...load, ...watched]);
}

function renderProcess(runs: readonly Run[], charts: readonly Chart[]): Html {
  return html`<section aria-labelledby="process"><h2 id="process">Watched process</h2>
<div class="charts">${renderWatched(runs)}${renderCharts(charts)}</div></section>`;
}

function renderCharts(charts: readonly Chart[]): Html {
  return html`${charts.map(({ spec, text }) => renderFigure(spec, text))}`;
}

/** Whether latencies are corrected ones or service times, and which scale they have. */
function renderSwitches(charts: readonly Chart[]): Html {
  const hasBases = charts.some(({ spec }) => spec.lines.some(({ basis }) => basis !== null));
  const hasShade = charts.some(({ spec }) => spec.shaded.length > 0);
  return html`<form class="switches">
${hasBases ? renderChoice('basis', 'Latency', ['corrected', 'service']) : null}${renderChoice('scale', 'Latency scale', ['log', 'linear'])}
<button type="button" id="show-all">Show all of the time</button>
${hasShade ? html`<p class="note">not measured</p>` : null}
</form>`;
}

/** Radio buttons; the first is chosen. */
function renderChoice(name: string, label: string, values: readonly string[]): Html {
  const inputs = values.map(
    (value, index) =>
      html`<label><input type="radio" name="${name}" value="${value}"${index === 0 ? html` checked` : null}> ${value}</label>`,
  );
  return html`<div class="choice" role="radiogroup" aria-labelledby="choice-${name}"><span id="choice-${name}">${label}</span>${inputs}</div>`;
}

function wrapPage(title: Html, body: Html, charts: readonly Chart[]): Html {
  const { chartLibrary, chartLibraryLicense, script, style } = readAssets();
  const policy = [
    `default-src 'none'`,
    `script-src ${hashSource(chartLibrary)} ${hashSource(script)}`,
    `style-src ${hashSource(style)}`,
    `base-uri 'none'`,
    `form-action 'none'`,
  ].join('; ');
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
${body}
<script type="application/json" id="charts">${embedJson(charts.map(({ spec }) => spec))}</script>
<!-- The charts are drawn by uPlot.
${new Html(chartLibraryLicense.replaceAll('--', '- -'))}
-->
<script>${new Html(chartLibrary)}</script>
<script>${new Html(script)}</script>
</body>
</html>
`;
}
