import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitRelative, predict } from './least-squares.ts';

/** Rows of value = 3 + 2 a + 0.5 b, over values that do not grow together. */
const ROWS = [
  [1, 1, 0],
  [1, 0, 10],
  [1, 5, 2],
  [1, 20, 40],
  [1, 3, 100],
].map((features) => ({ features, value: predict(features, [3, 2, 0.5]) }));

describe('fitRelative', () => {
  it('finds the coefficients of a known function', () => {
    const found = fitRelative(ROWS, ['one', 'a', 'b']);
    for (const [index, coefficient] of [3, 2, 0.5].entries()) expect(found[index]).toBeCloseTo(coefficient, 8);
  });

  it('finds coefficients of very different size, for any known function', () => {
    const coefficient = fc.double({ min: 0, max: 1e5, noNaN: true });
    fc.assert(
      fc.property(coefficient, coefficient, fc.double({ min: 1e6, max: 1e9, noNaN: true }), (perItem, other, base) => {
        const wanted = [base, perItem, other];
        const rows = [
          [1, 1, 1],
          [1, 10_000, 0],
          [1, 0, 30_000],
          [1, 1_000, 24],
          [1, 50, 50],
        ].map((features) => ({ features, value: predict(features, wanted) }));
        const found = fitRelative(rows, ['base', 'perItem', 'other']);
        for (const row of rows) expect(predict(row.features, found) / row.value).toBeCloseTo(1, 6);
      }),
      { interruptAfterTimeLimit: 10_000 },
    );
  });

  it('weighs relative errors: a large value does not drown the small ones', () => {
    // No line meets all three; the middle one is off by the same share in either direction, whatever its size.
    const rows = [
      { features: [1], value: 1 },
      { features: [1], value: 1 },
      { features: [1], value: 1_000_000 },
    ];
    expect(fitRelative(rows, ['one'])[0]).toBeCloseTo(1, 5);
  });

  it('gives 0 instead of a negative coefficient and fits the others without it', () => {
    const rows = [1, 2, 4, 8].map((x) => ({ features: [1, x], value: 10 - x }));
    const [constant, slope] = fitRelative(rows, ['one', 'x']) as [number, number];
    expect(slope).toBe(0);
    // Least relative error of a constant: Σ 1/v over Σ 1/v².
    const sum = (power: number): number => rows.reduce((total, row) => total + row.value ** -power, 0);
    expect(constant).toBeCloseTo(sum(1) / sum(2), 8);
  });

  it('takes errors relative to the scale where there is one, and then values of 0 too', () => {
    const rows = [
      { features: [1], value: 0, scale: 1 },
      { features: [1], value: 3, scale: 2 },
    ];
    // (x / 1)² + ((x - 3) / 2)² is least at 0.6.
    expect(fitRelative(rows, ['one'])[0]).toBeCloseTo(0.6, 9);
    expect(fitRelative([{ features: [1], value: 0, scale: 1 }], ['one'])).toEqual([0]);
  });

  it('refuses values that have no relative error', () => {
    expect(() => fitRelative([...ROWS, { features: [1, 2, 3], value: 0 }], ['one', 'a', 'b'])).toThrow(/value of 0/);
  });

  it('says which term the rows do not determine', () => {
    const rows = [1, 2, 3, 4].map((x) => ({ features: [1, x, 2 * x], value: 1 + x }));
    expect(() => fitRelative(rows, ['one', 'left', 'right'])).toThrow(/'(left|right)'.*measure its axis/);
    expect(() => fitRelative(rows.slice(0, 2), ['one', 'left', 'right'])).toThrow(/2 measured points/);
  });
});
