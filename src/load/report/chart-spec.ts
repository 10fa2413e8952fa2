/** What the page gives to its script: one chart, ready to be drawn. The script knows nothing of load results. */

export type Unit = 'micros' | 'perSecond' | 'count' | 'bytes' | 'cores';

/** Latencies counted from two moments; charts show one of them at a time. */
export type Basis = 'corrected' | 'service';

export interface ChartLine {
  readonly label: string;
  /** Colour: the custom property `--line-<colour>` of the style sheet; 0 is the grey one. */
  readonly colour: number;
  readonly dashed: boolean;
  /** Shown only while the page shows this basis; null: always. */
  readonly basis: Basis | null;
  /** A value for each x of the chart; null: none. */
  readonly values: readonly (number | null)[];
}

export interface ChartSpec {
  /** Id of the figure; `<id>-plot` is where it is drawn. */
  readonly id: string;
  /** Time: x is seconds since the start of the load. Percentile: x is 1 / (1 - p), on a log scale. */
  readonly kind: 'time' | 'percentile';
  readonly unit: Unit;
  /** Log scale at first; the page has a switch for those. */
  readonly log: boolean;
  readonly tall: boolean;
  /** Ascending. */
  readonly x: readonly number[];
  readonly lines: readonly ChartLine[];
  /** Ranges of x that were not measured. */
  readonly shaded: readonly (readonly [number, number])[];
}
