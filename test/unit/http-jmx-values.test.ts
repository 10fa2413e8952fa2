import { describe, expect, it } from 'vitest';
import { dateText, javaDateText } from '../../src/http/jmx/dates.ts';
import { Rates, type Sum } from '../../src/http/jmx/rates.ts';
import { float32, floating, JsonWriter, type Value, WrittenText } from '../../src/http/jmx/values.ts';

function written(value: Value): string {
  const writer = new JsonWriter();
  writer.addField('x', value, '');
  return Buffer.concat(writer.end()).toString();
}

describe('values of attributes', () => {
  it.each<[Value, string]>([
    [1, '1'],
    [2n ** 63n, '9223372036854775808'],
    [floating(1), '1.0'],
    [floating(-1), '-1.0'],
    [floating(0), '0.0'],
    [floating(60.833333333333336), '60.833333333333336'],
    [true, 'true'],
    [null, 'null'],
    ['a "b" \n', '"a \\"b\\" \\n"'],
    [[], '[ ]'],
    [[1, floating(2)], '[ 1, 2.0 ]'],
    [{}, '{ }'],
    [{ a: 1, b: { c: null } }, '{\n  "a" : 1,\n  "b" : {\n    "c" : null\n  }\n}'],
    [new WrittenText(Buffer.from('"{\\"a\\":1}"')), '"{\\"a\\":1}"'],
  ])('%s', (value, json) => {
    expect(written(value)).toBe(`"x" : ${json}`);
  });

  it.each([
    [69.24710845947266, 69.24711],
    [0.1, 0.1],
    [0, 0],
    [-1, -1],
    [100 / 3, 33.333332],
    [9.083612006e-6, 9.083612e-6],
  ])('%s is the float %s', (value, short) => {
    expect(float32(value)).toBe(short);
  });

  it('dates are those of Java in the local time zone', () => {
    expect(dateText(0)).toBe('-');
    expect(dateText(-1)).toBe('-');
    const ms = new Date(2026, 10, 3, 6, 9, 4).getTime();
    expect(dateText(ms)).toBe('2026/11/03 06:09:04');
    expect(javaDateText(ms)).toMatch(/^Tue Nov 03 06:09:04 \S+ 2026$/);
  });
});

describe('rates', () => {
  it('are those of the last period, and keep the average of the last one that had events', () => {
    const sums = new Map<string, Sum>([['a', { count: 10, ms: 1000 }]]);
    const rates = new Rates(() => sums, 3_600_000);
    // What was before the first period is in it.
    expect(rates.of('a')).toEqual({ count: 10, averageMs: 100 });
    sums.set('a', { count: 14, ms: 1020 });
    sums.set('b', { count: 1, ms: 3 });
    rates.endPeriod();
    expect([rates.of('a'), rates.of('b')]).toEqual([
      { count: 4, averageMs: 5 },
      { count: 1, averageMs: 3 },
    ]);
    rates.endPeriod();
    expect(rates.of('a')).toEqual({ count: 0, averageMs: 5 });
    expect(rates.of('c')).toEqual({ count: 0, averageMs: 0 });
    rates.stop();
  });
});
