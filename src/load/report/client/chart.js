import { formatClock, formatPercentile, formatValue } from './format.js';
import { makeLegend, offerLines } from './legend.js';
import { findAlone } from './points.js';
import { makeAxes, makeScales, readColour } from './scales.js';

/** @typedef {import('../chart-spec.ts').ChartSpec} ChartSpec */
/** @typedef {import('../chart-spec.ts').Basis} Basis */

/** @typedef {{ basis: Basis, scale: 'log' | 'linear' }} View what the switches of the page say */

const TALL_PX = 320;
const SHORT_PX = 200;

/** Diameter of a value that no line joins to another. */
const POINT_PX = 5;

/** How far a key zooms. */
const ZOOM = 0.6;

/** One figure of the page. It is drawn anew when the switches or the colours change; which lines are off and the zoom stay. */
export class Chart {
  /**
   * @param {ChartSpec} spec
   * @param {(chart: Chart, x: number, sentence: string) => void} onMove a key has put the cursor at x; the sentence says what is there
   */
  constructor(spec, onMove) {
    this.spec = spec;
    this.onMove = onMove;
    /** @type {View} */
    this.view = { basis: 'corrected', scale: 'log' };
    /** @type {boolean[]} lines that the user has switched off */
    this.off = spec.lines.map(() => false);
    /** @type {uPlot | null} */
    this.plot = null;
    const room = document.getElementById(`${spec.id}-plot`);
    if (room === null) throw new Error(`no room for the chart ${spec.id}`);
    this.room = room;
    this.legend = makeLegend(spec, (line) => this.toggle(line));
    room.before(this.legend.element);
    room.addEventListener('keydown', (event) => this.onKey(event));
  }

  /** @param {View} view */
  draw(view) {
    this.view = view;
    const zoom = this.zoom();
    this.plot?.destroy();
    const log = this.spec.unit === 'micros' ? view.scale === 'log' : this.spec.log;
    this.plot = new uPlot(this.options(log), this.data(), this.room);
    if (zoom !== null) this.plot.setScale('x', zoom);
    this.showLines();
  }

  /** @returns {uPlot.AlignedData} */
  data() {
    return /** @type {uPlot.AlignedData} */ ([this.spec.x, ...this.spec.lines.map((line) => line.values)]);
  }

  /**
   * @param {boolean} log
   * @returns {uPlot.Options}
   */
  options(log) {
    const { spec } = this;
    const alone = spec.lines.map(({ values }) => findAlone(values, spec.kind === 'percentile'));
    return {
      width: this.width(),
      height: spec.tall ? TALL_PX : SHORT_PX,
      legend: { show: false },
      padding: [8, 26, 0, 0],
      cursor: {
        points: { size: 7 },
        y: false,
        drag: { x: true, y: false },
        // All charts over time move together; their x may be different seconds, so places go by value.
        ...(spec.kind === 'time' ? { sync: { key: 'time', scales: ['x', null] } } : {}),
      },
      scales: makeScales(spec, log),
      axes: makeAxes(spec, log),
      series: [
        {},
        ...spec.lines.map((line, index) => ({
          label: line.label,
          stroke: readColour(`line-${line.colour}`),
          width: spec.x.length > 900 ? 1 : 1.6,
          ...(line.dashed ? { dash: [6, 4] } : {}),
          show: this.isShown(index),
          spanGaps: spec.kind === 'percentile',
          points: {
            show: false,
            size: POINT_PX,
            fill: readColour(`line-${line.colour}`),
            filter: () => alone[index] ?? null,
          },
        })),
      ],
      hooks: {
        drawClear: [(plot) => this.shade(plot)],
        setCursor: [(plot) => this.showValues(plot)],
      },
    };
  }

  /** Leaves what was not measured in another tone. @param {uPlot} plot */
  shade(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = readColour('shade');
    for (const [from, to] of this.spec.shaded) {
      const left = plot.valToPos(from, 'x', true);
      ctx.fillRect(left, bbox.top, plot.valToPos(to, 'x', true) - left, bbox.height);
    }
    ctx.restore();
  }

  /**
   * Values under the cursor. A line without a value there shows the next one: lines of two runs have their percentiles at other places.
   * @param {uPlot} plot
   */
  showValues(plot) {
    const at = plot.cursor.idx ?? null;
    if (at === null || (plot.cursor.left ?? -1) < 0) {
      this.legend.show('', []);
      return;
    }
    this.legend.show(
      this.describePlace(at),
      this.spec.lines.map((_line, index) => this.findValue(index, at)),
    );
  }

  /**
   * @param {number} line
   * @param {number} at
   * @returns {number | null}
   */
  findValue(line, at) {
    const values = this.spec.lines[line]?.values ?? [];
    if (this.spec.kind === 'time' || (values[at] ?? null) !== null) return at;
    const next = values.findIndex((value, index) => index > at && value !== null);
    return next < 0 ? null : next;
  }

  /** @param {number} at @returns {string} */
  describePlace(at) {
    const x = this.spec.x[at] ?? 0;
    return this.spec.kind === 'time' ? `at ${formatClock(x)}` : `at ${formatPercentile(x)}`;
  }

  /** @param {number} line @returns {boolean} */
  isOffered(line) {
    const basis = this.spec.lines[line]?.basis ?? null;
    return basis === null || basis === this.view.basis;
  }

  /** @param {number} line @returns {boolean} */
  isShown(line) {
    return this.isOffered(line) && this.off[line] !== true;
  }

  /** @param {number} line */
  toggle(line) {
    this.off[line] = this.off[line] !== true;
    this.showLines();
  }

  showLines() {
    const shown = this.spec.lines.map((_line, index) => this.isShown(index));
    shown.forEach((show, index) => {
      if (this.plot?.series[index + 1]?.show !== show) this.plot?.setSeries(index + 1, { show });
    });
    this.legend.update(shown);
    offerLines(
      this.legend,
      shown.map((_show, index) => this.isOffered(index)),
    );
  }

  /** The part of x that is shown; null: all of it. @returns {{ min: number, max: number } | null} */
  zoom() {
    const { min, max } = this.plot?.scales['x'] ?? {};
    if (min === undefined || max === undefined || min === null || max === null) return null;
    if (min <= (this.spec.x[0] ?? 0) && max >= (this.spec.x.at(-1) ?? 0)) return null;
    return { min, max };
  }

  showAll() {
    this.plot?.setScale('x', { min: this.spec.x[0] ?? 0, max: this.spec.x.at(-1) ?? 1 });
  }

  width() {
    return Math.max(240, this.room.clientWidth);
  }

  resize() {
    const { plot } = this;
    if (plot !== null && plot.width !== this.width()) plot.setSize({ width: this.width(), height: plot.height });
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { x } = this.spec;
    const at = this.plot?.cursor.idx ?? null;
    const step = event.shiftKey ? Math.max(1, Math.round(x.length / 20)) : 1;
    if (event.key === 'ArrowRight') this.moveTo(at === null ? 0 : at + step);
    else if (event.key === 'ArrowLeft') this.moveTo(at === null ? x.length - 1 : at - step);
    else if (event.key === 'Home') this.moveTo(0);
    else if (event.key === 'End') this.moveTo(x.length - 1);
    else if (event.key === '+' || event.key === '=') this.zoomBy(ZOOM);
    else if (event.key === '-') this.zoomBy(1 / ZOOM);
    else if (event.key === '0') this.showAll();
    else if (event.key === 'Escape') this.plot?.setCursor({ left: -10, top: -10 });
    else return;
    event.preventDefault();
  }

  /** @param {number} index */
  moveTo(index) {
    const { plot, spec } = this;
    const at = Math.max(0, Math.min(spec.x.length - 1, index));
    const x = spec.x[at];
    if (plot === null || x === undefined) return;
    const { min = x, max = x } = this.zoom() ?? {};
    if (x < min || x > max) this.showAll();
    this.pointAt(x);
    const values = spec.lines.flatMap((line, number) => {
      const found = this.isShown(number) ? this.findValue(number, at) : null;
      const value = found === null ? null : (line.values[found] ?? null);
      return value === null ? [] : [`${line.label} ${formatValue(spec.unit, value)}`];
    });
    this.onMove(this, x, `${this.describePlace(at)}: ${values.join(', ')}`);
  }

  /** Puts the cursor at a value of x. @param {number} x */
  pointAt(x) {
    const { plot } = this;
    if (plot !== null) plot.setCursor({ left: plot.valToPos(x, 'x'), top: plot.over.clientHeight / 2 });
  }

  /** Zooms about the cursor, or the middle. @param {number} factor */
  zoomBy(factor) {
    const { plot, spec } = this;
    const { min, max } = plot?.scales['x'] ?? {};
    if (plot === null || min === undefined || max === undefined || min === null || max === null) return;
    const first = spec.x[0] ?? 0;
    const last = spec.x.at(-1) ?? 1;
    const log = spec.kind === 'percentile';
    /** @param {number} value */
    const to = (value) => (log ? Math.log(value) : value);
    /** @param {number} value */
    const from = (value) => (log ? Math.exp(value) : value);
    const at = plot.cursor.idx ?? null;
    const middle = to(at === null ? from((to(min) + to(max)) / 2) : (spec.x[at] ?? min));
    plot.setScale('x', {
      min: Math.max(first, from(middle - (middle - to(min)) * factor)),
      max: Math.min(last, from(middle + (to(max) - middle) * factor)),
    });
  }
}
