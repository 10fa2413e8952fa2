/** The HTML report of a search or of a soak: the report of its run, with a section of its own at the top. */

import { type Html, html } from '../report/html.ts';
import { renderReport } from '../report/page.ts';
import { formatAchieved, formatMicros, formatMs, formatShare } from '../result/format.ts';
import { LoadError } from '../run/load-error.ts';
import { renderDrifts, type SoakReport } from '../soak/print.ts';
import type { FoundCeiling } from './find-ceiling.ts';
import { type CeilingSettings, chooseStepMs } from './flags.ts';
import { describeCeiling, describeRoughness, perSecond } from './print.ts';

/** The steps, and the report of the run at the ceiling, or of the last one when no rate held. Throws without any step. */
export function renderCeilingPage(found: FoundCeiling, settings: CeilingSettings): string {
  const shown = found.best ?? found.last;
  if (shown === null) throw new LoadError('no report: nothing was measured');
  return insertSection(renderReport([shown]), renderSearch(found, settings));
}

export function renderSoakPage(report: SoakReport): string {
  return insertSection(renderReport([report.result]), renderDrifts(report));
}

/** Puts a section before the others of a report. */
export function insertSection(page: string, section: Html): string {
  const place = page.indexOf('<main>') + '<main>'.length;
  if (place < '<main>'.length) throw new Error('the report has no <main>');
  return `${page.slice(0, place)}\n${section.text}${page.slice(place)}`;
}

export function renderSearch(found: FoundCeiling, settings: CeilingSettings): Html {
  const rows = found.steps.map(
    (step) => html`<tr${step.held ? html` class="key"` : null}><th scope="row">${perSecond(step.rate)}</th>
<td>${step.held ? 'held' : step.verdict === 'held' ? 'unsure' : step.verdict === 'loader' ? 'loader' : 'missed'}</td>
<td>${formatAchieved(step.achievedShare)}</td><td>${formatMicros(step.corrected.p50)}</td><td>${formatMicros(step.corrected.p99)}</td>
<td>${formatMicros(step.corrected.max)}</td><td>${formatShare(step.errorShare)}</td><td>${formatMs(step.measuredMs)}</td>
<td class="text">${[step.why, step.repeated ? 'measured once more' : '', describeRoughness(step)].filter((text) => text !== '').join('; ')}</td></tr>`,
  );
  const shown =
    found.best === null ? 'What follows is the last step.' : 'What follows is the step at the highest rate that held.';
  return html`<section aria-labelledby="search"><h2 id="search">Search for the ceiling</h2>
<p>${describeCeiling(found, settings)} ${shown}</p>
<div class="scroll" role="region" tabindex="0" aria-label="Steps"><table class="groups"><caption>Steps in their order. Latencies are corrected; a step lasts ${describeLength(settings)}.</caption>
<thead><tr><th scope="col">rate</th><th scope="col">verdict</th><th scope="col">achieved</th><th scope="col">p50</th><th scope="col">p99</th><th scope="col">max</th><th scope="col">errors</th><th scope="col">measured</th><th scope="col" class="text">remarks</th></tr></thead>
<tbody>${rows}</tbody></table></div></section>`;
}

function describeLength({ stepMs, search }: CeilingSettings): string {
  if (stepMs !== null) return `${stepMs / 1000} s`;
  const longest = chooseStepMs(null, search.startPerSecond) / 1000;
  return `${chooseStepMs(null, search.maxPerSecond) / 1000} s or longer where calls are few, ${longest} s at the first rate`;
}
