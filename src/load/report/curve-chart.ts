/** Latency by percentile, drawn as HdrHistogram's plotter does: x is 1 / (1 - p) on a log scale, so that each nine takes the same room. */
import type { ChartLine, ChartSpec } from './chart-spec.ts';
import type { Run } from './runs.ts';

/** Right end of the scale for a run of so many calls that a double could not tell the percentile from 100. */
const MOST_INVERSE = 1e9;

type Curve = readonly (readonly [number, number])[];

/** Points [1 / (1 - p), µs] with ascending x. The maximum is drawn where one of `count` calls is. */
export function invertCurve(curve: Curve, count: number): [number, number][] {
  const last = Math.min(Math.max(count, 1), MOST_INVERSE);
  const points: [number, number][] = [];
  for (const [percentile, micros] of curve) {
    const inverse = percentile >= 100 ? last : Math.min(100 / (100 - percentile), last);
    const rounded = Number(inverse.toPrecision(6));
    const before = points.at(-1);
    if (before !== undefined && before[0] >= rounded) before[1] = Math.max(before[1], micros);
    else points.push([rounded, micros]);
  }
  return points;
}

export function makeCurveChart(runs: readonly Run[]): ChartSpec {
  const drawn = runs.flatMap((run, index) => {
    const { curve, latency } = run.result;
    const prefix = run.letter === '' ? '' : `${run.letter} `;
    // In a closed loop the two are one.
    const closed = run.result.plan.loop.kind === 'closed';
    const corrected = { label: `${prefix}${closed ? 'latency' : 'corrected'}`, colour: index + 1, dashed: false };
    const service = { label: `${prefix}service`, colour: runs.length === 1 ? 2 : index + 1, dashed: true };
    const lines = [{ ...corrected, points: invertCurve(curve.corrected, latency.corrected.count) }];
    if (!closed) {
      lines.push({ ...service, points: invertCurve(curve.service, latency.service.count) });
    }
    return lines;
  });
  const x = [...new Set(drawn.flatMap(({ points }) => points.map(([inverse]) => inverse)))].sort((a, b) => a - b);
  const lines = drawn.map(({ points, ...line }): ChartLine => {
    const byInverse = new Map(points);
    // A log scale has no zero; a call takes at least a microsecond.
    const values = x.map((inverse) => (byInverse.has(inverse) ? Math.max(1, byInverse.get(inverse) ?? 1) : null));
    return { ...line, basis: null, values };
  });
  return { id: 'curve', kind: 'percentile', unit: 'micros', log: true, tall: true, x, lines, shaded: [] };
}
