/** The charts of a report with their titles and captions. */
import type { SeriesPoint } from '../result/result.ts';
import type { ChartSpec } from './chart-spec.ts';
import { formatBytes, formatClock, formatMicros, formatNumber } from './client/format.js';
import { makeCurveChart } from './curve-chart.ts';
import type { FigureText } from './figure.ts';
import { findChange, findRange, formatChange, type Run } from './runs.ts';
import {
  makeBacklogChart,
  makeErrorChart,
  makeLatencyCharts,
  makeProcessCharts,
  makeRateChart,
} from './time-charts.ts';

export interface Chart {
  readonly spec: ChartSpec;
  readonly text: FigureText;
}

export function makeCurve(runs: readonly Run[]): Chart {
  const parts = runs.map(({ letter, result }) => {
    const { p50, p99, p999, max } = result.latency.corrected;
    return `${start(letter, 'half')} of the calls within ${formatMicros(p50)}, 99 % within ${formatMicros(p99)}, 99.9 % within ${formatMicros(p999)}, all within ${formatMicros(max)} (corrected).`;
  });
  return {
    spec: makeCurveChart(runs),
    text: { title: 'All calls of the measured time', caption: parts.join(' '), fold: 'highest' },
  };
}

/** Latency, rate, backlog, and errors where there are some. */
export function makeLoadCharts(runs: readonly Run[]): Chart[] {
  const latency = makeLatencyCharts(runs).map((spec, index): Chart => {
    const key = runs.length === 1 ? null : (LATENCY_KEYS[index] ?? 'max');
    const title = key === null ? 'Latency of each second' : `Latency of each second: ${NAMES[key]}`;
    const caption = runs.map((run) => describeLatency(run, key ?? 'p99')).join(' ');
    return { spec, text: { title, caption, fold: 'highest' } };
  });
  const charts: Chart[] = [
    ...latency,
    {
      spec: makeRateChart(runs),
      text: { title: 'Calls per second', caption: runs.map(describeRate).join(' '), fold: 'mean' },
    },
    {
      spec: makeBacklogChart(runs),
      text: {
        title: 'Calls due and waiting, calls in flight',
        caption: runs.map(describeBacklog).join(' '),
        fold: 'highest',
      },
    },
  ];
  if (runs.some(({ result }) => result.series.some(({ errors }) => errors > 0))) {
    const caption = runs.map(describeErrors).join(' ');
    charts.push({ spec: makeErrorChart(runs), text: { title: 'Errors per second', caption, fold: 'sum' } });
  }
  return charts;
}

const LATENCY_KEYS = ['p50', 'p99', 'p999', 'max'] as const;
const NAMES = { p50: 'p50', p99: 'p99', p999: 'p99.9', max: 'maximum' } as const;

function describeLatency({ letter, result }: Run, key: (typeof LATENCY_KEYS)[number]): string {
  const points = measuredPoints(result.series).filter(({ corrected }) => corrected.max > 0);
  const worst = findHighest(points, (point) => point.corrected[key]);
  if (worst === null) return `${start(letter, 'no')} second was measured.`;
  const middle = findMedian(points.map((point) => point.corrected[key]));
  return `${of(letter)}${NAMES[key]} is ${formatMicros(middle)} in the median second and ${formatMicros(worst.corrected[key])} in the worst, at ${formatClock(worst.second)}.`;
}

function describeRate({ letter, result }: Run): string {
  const rates = measuredPoints(result.series).map(({ callsPerSecond }) => callsPerSecond);
  if (rates.length === 0) return `${start(letter, 'no')} second was measured.`;
  const { lowest, highest } = findRange(rates);
  return `${of(letter)}${formatNumber(result.callsPerSecond)} calls/s answered; lowest second ${formatNumber(lowest)}, highest ${formatNumber(highest)}.`;
}

function describeBacklog({ letter, result }: Run): string {
  const points = measuredPoints(result.series);
  const waiting = findHighest(points, (point) => point.waiting);
  const inFlight = findHighest(points, (point) => point.inFlight);
  if (waiting === null || inFlight === null) return `${start(letter, 'no')} second was measured.`;
  const most = `at most ${formatNumber(inFlight.inFlight)} in flight`;
  return waiting.waiting === 0
    ? `${start(letter, 'no')} call had to wait for a free slot; ${most}.`
    : `${start(letter, 'at')} most ${formatNumber(waiting.waiting)} waiting, at ${formatClock(waiting.second)}; ${most}.`;
}

function describeErrors({ letter, result }: Run): string {
  const worst = findHighest(result.series, ({ errors }) => errors);
  if (worst === null || worst.errors === 0) return `${start(letter, 'none')}.`;
  return `${start(letter, 'most')} in one second: ${formatNumber(worst.errors)}, at ${formatClock(worst.second)}.`;
}

/** Memory, CPU and sockets of the watched process. */
export function makeWatchedCharts(runs: readonly Run[]): Chart[] {
  const texts: Readonly<Record<string, FigureText>> = {
    rss: { title: 'Resident memory', caption: describeWatched(runs, 'rss'), fold: 'highest' },
    cpu: { title: 'Cores in use', caption: describeWatched(runs, 'cpu'), fold: 'mean' },
    sockets: { title: 'Sockets', caption: describeWatched(runs, 'sockets'), fold: 'highest' },
  };
  return makeProcessCharts(runs).flatMap((spec) => {
    const text = texts[spec.id];
    return text === undefined ? [] : [{ spec, text }];
  });
}

function describeWatched(runs: readonly Run[], what: 'rss' | 'cpu' | 'sockets'): string {
  const parts = runs.flatMap(({ letter, result: { watched, measuredMs } }) => {
    if (watched === null) return [];
    if (what === 'rss') {
      const growth = formatChange(findChange(watched.rssStartBytes, watched.rssEndBytes));
      return `${of(letter)}${formatBytes(watched.rssStartBytes)} at the start, ${formatBytes(watched.rssEndBytes)} at the end (${growth}), at most ${formatBytes(watched.rssMaxBytes)}.`;
    }
    if (what === 'sockets') {
      if (watched.socketsStart === null || watched.socketsEnd === null)
        return `${of(letter)}they could not be counted.`;
      return `${of(letter)}${formatNumber(watched.socketsStart)} at the start, ${formatNumber(watched.socketsEnd)} at the end.`;
    }
    return `${of(letter)}${formatNumber(watched.cpuSeconds / Math.max(0.001, measuredMs / 1000))} on average, ${formatMicros(watched.cpuMicrosPerCall)} of CPU per call.`;
  });
  return parts.join(' ');
}

function measuredPoints(series: readonly SeriesPoint[]): readonly SeriesPoint[] {
  return series.filter(({ measured }) => measured);
}

/** The point with the highest value, the first of equals; null without points. */
function findHighest(points: readonly SeriesPoint[], read: (point: SeriesPoint) => number): SeriesPoint | null {
  let highest: SeriesPoint | null = null;
  for (const point of points) if (highest === null || read(point) > read(highest)) highest = point;
  return highest;
}

function findMedian(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[values.length >> 1] ?? 0;
}

function of(letter: Run['letter']): string {
  return letter === '' ? '' : `${letter}: `;
}

/** The first word of a sentence about a run: after its letter, or with a capital. */
function start(letter: Run['letter'], word: string): string {
  return letter === '' ? `${word.charAt(0).toUpperCase()}${word.slice(1)}` : `${letter}: ${word}`;
}
