import { formatClock, formatPercentile, formatValue } from './format.js';

/** @typedef {import('../chart-spec.ts').ChartSpec} ChartSpec */

/** Round steps of a time axis, in seconds. */
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400];

/** Steps of 1, 2 and 5, of whole things only. */
const COUNT_STEPS = Array.from({ length: 36 }, (_, step) => [1, 2, 5].map((digit) => digit * 10 ** step)).flat();

/**
 * Value of a custom property of the style sheet, which differs between light and dark.
 * @param {string} name
 * @returns {string}
 */
export function readColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/**
 * Powers of ten within the range, with 2 and 5 between them where there is room.
 * @param {number} from
 * @param {number} to
 * @returns {number[]}
 */
export function splitLog(from, to) {
  const decades = Math.log10(to / from);
  const steps = decades < 0.6 ? [1, 1.2, 1.5, 2, 3, 4, 5, 7] : decades < 1.5 ? [1, 2, 5] : decades < 2.5 ? [1, 3] : [1];
  const splits = [];
  for (let power = 10 ** Math.floor(Math.log10(from)); power <= to; power *= 10) {
    for (const step of steps) {
      const value = Number((power * step).toPrecision(3));
      if (value >= from && value <= to) splits.push(value);
    }
  }
  return splits;
}

/**
 * 0 %, 50 %, 75 %, 90 % and then each further nine.
 * @param {number} from
 * @param {number} to
 * @returns {number[]}
 */
function splitPercentiles(from, to) {
  const marks = [1, 2, 4];
  for (let inverse = 10; inverse <= to * 1.0001; inverse *= 10) marks.push(inverse);
  return marks.filter((mark) => mark >= from * 0.9999 && mark <= to * 1.0001);
}

/** Room that the name of a percentile needs. */
const PERCENTILE_PX = 52;

/**
 * Leaves out, from the right, the names for which there is no room.
 * @param {uPlot} chart
 * @param {number[]} splits
 * @returns {(number | null)[]}
 */
function dropCrowded(chart, splits) {
  let next = Number.POSITIVE_INFINITY;
  return splits
    .toReversed()
    .map((split) => {
      const at = chart.valToPos(split, 'x');
      if (next - at < PERCENTILE_PX) return null;
      next = at;
      return split;
    })
    .reverse();
}

/**
 * @param {ChartSpec} spec
 * @param {boolean} log whether y has a log scale
 * @returns {uPlot.Scales}
 */
export function makeScales(spec, log) {
  const first = spec.x[0] ?? 0;
  const last = spec.x.at(-1) ?? 1;
  return {
    x: {
      time: false,
      distr: spec.kind === 'percentile' ? 3 : 1,
      // A chart of a single moment still needs a width.
      range: (_chart, from, to) => (to > from ? [from, to] : [first, Math.max(last, first + 1)]),
    },
    y: log
      ? { distr: 3, range: (_chart, from, to) => [Math.max(0.5, (from || 1) / 1.3), (to || 10) * 1.3] }
      : { distr: 1, range: (_chart, _from, to) => [0, (to || 1) * 1.08] },
  };
}

/**
 * @param {ChartSpec} spec
 * @param {boolean} log
 * @returns {uPlot.Axis[]}
 */
export function makeAxes(spec, log) {
  const look = {
    stroke: readColour('text-mild'),
    grid: { stroke: readColour('grid'), width: 1 },
    ticks: { stroke: readColour('grid'), width: 1, size: 4 },
    font: '12px system-ui, sans-serif',
    gap: 4,
  };
  /** @type {uPlot.Axis} */
  const y = { ...look, size: 68, values: (_chart, splits) => splits.map((value) => formatTick(spec, value)) };
  if (spec.unit === 'count') y.incrs = COUNT_STEPS;
  if (log) {
    y.splits = (_chart, _axis, from, to) => splitLog(from, to);
    y.filter = (_chart, splits) => splits;
  }
  if (spec.kind === 'percentile') {
    return [
      {
        ...look,
        size: 30,
        splits: (_chart, _axis, from, to) => splitPercentiles(from, to),
        filter: dropCrowded,
        values: (_chart, splits) => splits.map((split) => (split === null ? null : formatPercentile(split))),
      },
      y,
    ];
  }
  const x = { ...look, size: 30, space: 60, incrs: TIME_STEPS };
  return [{ ...x, values: (_chart, splits) => splits.map(formatClock) }, y];
}

/**
 * Round numbers need no digits of precision: 1 ms, not 1.00 ms.
 * @param {ChartSpec} spec
 * @param {number} value
 * @returns {string}
 */
function formatTick(spec, value) {
  return formatValue(spec.unit, value)
    .replace(/(\.\d*?)0+(?= |$)/, '$1')
    .replace(/\.(?= |$)/, '');
}
