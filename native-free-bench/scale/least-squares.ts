/** Linear least squares with weights, for a few coefficients and some dozens of rows: normal equations, no library. */

export interface Observation {
  /** One number for each coefficient. */
  readonly features: readonly number[];
  readonly value: number;
  /** What an error is relative to, above 0; the value itself without it. */
  readonly scale?: number;
}

/** A pivot below this share of the largest says that two features grow together in all rows. */
const SMALLEST_PIVOT = 1e-10;

/**
 * The coefficients, none below 0, for which the sum of squared relative errors, ((features · coefficients - value) / scale)², is least. A
 * coefficient that would be negative is 0 and the others are fitted without it. Throws when the rows do not determine them.
 */
export function fitRelative(rows: readonly Observation[], names: readonly string[]): number[] {
  const unfit = rows.find((row) => !(scaleOf(row) > 0));
  if (unfit !== undefined)
    throw new Error(`a measured value of ${scaleOf(unfit)} has no relative error: it must be above 0`);
  let kept = names.map((_, index) => index);
  for (;;) {
    const solution = solveFor(rows, kept, names);
    const lowest = Math.min(...solution);
    if (!(lowest < 0)) {
      const all = new Array<number>(names.length).fill(0);
      for (const [at, index] of kept.entries()) all[index] = solution[at] as number;
      return all;
    }
    const dropped = solution.indexOf(lowest);
    kept = kept.filter((_, at) => at !== dropped);
  }
}

export function predict(features: readonly number[], coefficients: readonly number[]): number {
  return features.reduce((sum, feature, index) => sum + feature * (coefficients[index] as number), 0);
}

function scaleOf(row: Observation): number {
  return row.scale ?? row.value;
}

function solveFor(rows: readonly Observation[], kept: readonly number[], names: readonly string[]): number[] {
  if (rows.length < kept.length) {
    throw new Error(`${rows.length} measured points do not determine ${kept.length} coefficients: measure more axes`);
  }
  const matrix = kept.map(() => new Array<number>(kept.length + 1).fill(0));
  for (const row of rows) {
    const weighted = kept.map((index) => (row.features[index] as number) / scaleOf(row));
    const value = row.value / scaleOf(row);
    for (const [i, left] of weighted.entries()) {
      const line = matrix[i] as number[];
      for (const [j, right] of weighted.entries()) line[j] = (line[j] as number) + left * right;
      line[kept.length] = (line[kept.length] as number) + left * value;
    }
  }
  return solve(
    matrix,
    kept.map((index) => names[index] as string),
  );
}

/** Gauss-Jordan with the largest pivot of each column; features are scaled to a diagonal of 1, so that one bound suits all. */
function solve(matrix: number[][], names: readonly string[]): number[] {
  const size = matrix.length;
  const scale = matrix.map((line, i) => Math.sqrt(line[i] as number) || 1);
  for (const [i, line] of matrix.entries()) {
    for (let j = 0; j < size; j++) line[j] = (line[j] as number) / ((scale[i] as number) * (scale[j] as number));
    line[size] = (line[size] as number) / (scale[i] as number);
  }
  for (let column = 0; column < size; column++) {
    let best = column;
    for (let i = column + 1; i < size; i++) {
      if (Math.abs((matrix[i] as number[])[column] as number) > Math.abs((matrix[best] as number[])[column] as number))
        best = i;
    }
    const pivotLine = matrix[best] as number[];
    matrix[best] = matrix[column] as number[];
    matrix[column] = pivotLine;
    const pivot = pivotLine[column] as number;
    if (!(Math.abs(pivot) > SMALLEST_PIVOT)) {
      throw new Error(`the measured points do not tell '${names[column]}' from the other terms: measure its axis too`);
    }
    for (let j = column; j <= size; j++) pivotLine[j] = (pivotLine[j] as number) / pivot;
    for (const [i, line] of matrix.entries()) {
      const factor = line[column] as number;
      if (i === column || factor === 0) continue;
      for (let j = column; j <= size; j++) line[j] = (line[j] as number) - factor * (pivotLine[j] as number);
    }
  }
  return matrix.map((line, i) => (line[size] as number) / (scale[i] as number));
}
