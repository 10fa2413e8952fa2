import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { renderComparison, run } from '../../src/load/result/compare.ts';
import { checkResult, readResult } from '../../src/load/result/read-result.ts';
import { makeLoadResult } from '../support/load-result.ts';

let directory = '';
let before = '';
let after = '';

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'switchyard-compare-'));
  before = write('before.json', makeLoadResult({ errors: 12 }));
  after = write('after.json', makeLoadResult({ seed: 5, medianMicros: 1280, achievedShare: 0.93, connections: 32 }));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

function write(name: string, value: unknown): string {
  const file = join(directory, name);
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
  return file;
}

/** Runs the command; resolves with what it wrote to standard output. */
async function compare(args: string[]): Promise<string> {
  let written = '';
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written += String(text);
    return true;
  });
  try {
    expect(await run(args)).toBe(0);
  } finally {
    spy.mockRestore();
  }
  return written;
}

/** Cells of the line that begins with this name, within the part under `heading`. */
function cellsOf(lines: readonly string[], heading: string, name: string): string[] {
  const from = lines.findIndex((line) => line.startsWith(heading));
  const line = lines.slice(from).find((each) => each.startsWith(`  ${name}  `)) ?? '';
  return line
    .slice(name.length + 2)
    .trim()
    .split(/ {2,}/);
}

describe('load compare', () => {
  it('prints both results and their ratio', async () => {
    const lines = (await compare([before, after])).split('\n');
    expect(cellsOf(lines, 'rate', 'answered calls/s')).toEqual(['4,998', '4,650', '0.93']);
    expect(cellsOf(lines, 'latency, corrected', 'p50')).toEqual(['653 µs', '1.31 ms', '2.00']);
    expect(cellsOf(lines, 'latency, service', 'p50')).toEqual(['640 µs', '1.28 ms', '2.00']);
    expect(cellsOf(lines, 'by operation', 'getListing p99')).toEqual(['4.59 ms', '9.19 ms', '2.00']);
    expect(cellsOf(lines, 'by mount', '/user calls')).toEqual(['99,960', '93,000', '0.93']);
    expect(cellsOf(lines, 'errors by class', 'timeout')).toEqual(['1', '0', '0.00']);
    expect(cellsOf(lines, 'watched process', 'CPU per call')).toEqual(['19.4 µs', '19.4 µs', '1.00']);
  });

  it('warns when the plans differ and when a run says little', () => {
    const made = makeLoadResult({ connections: 32, achievedShare: 0.93, loaderReason: 'no CPU left' });
    const lines = [...renderComparison([makeLoadResult(), made], ['a', 'b'])];
    expect(lines.filter((line) => line.startsWith('warning: '))).toEqual([
      'warning: the plans differ in connections: A 64, B 32',
      'warning: B: The loader was the limit: no CPU left',
      expect.stringMatching(/^warning: B: Saturated: 4,650 of 5,000/),
    ]);
    const same = [...renderComparison([makeLoadResult(), makeLoadResult({ seed: 2 })], ['a', 'b'])];
    expect(same.filter((line) => line.startsWith('warning'))).toEqual([]);
  });

  it('compares a closed loop with an open one, and what only one has', () => {
    const closed = makeLoadResult({ closed: true, isWatched: false, mounts: ['/only'] });
    const lines = [...renderComparison([makeLoadResult(), closed], ['a', 'b'])];
    expect(cellsOf(lines, 'rate', 'asked calls/s')).toEqual(['5,000', '–', '–']);
    expect(cellsOf(lines, 'by mount', '/only calls')).toEqual(['–', '299,880', '–']);
    expect(cellsOf(lines, 'watched process', 'CPU per call')).toEqual(['19.4 µs', '–', '–']);
    expect(lines.join('\n')).not.toMatch(/NaN|Infinity|undefined/);
  });

  it('keeps control characters from the terminal', () => {
    const made = makeLoadResult({ errors: 2, errorClass: 'evil\u001b[2J', mounts: ['/m\u0007\r\nwarning: x'] });
    const text = [...renderComparison([made, made], ['a\u001b]0;x', 'b'])].join('\n');
    expect(text).not.toMatch(/[^\P{Cc}\n]/u);
    expect(text).not.toMatch(/^warning: x/m);
  });

  it('writes the HTML report, wherever the flag stands', async () => {
    const html = join(directory, 'report.html');
    const output = await compare([before, '--html', html, after]);
    expect(output).toContain(`HTML report: ${html}`);
    const page = readFileSync(html, 'utf8');
    expect(page).toContain('<h1>Load comparison</h1>');
    expect(page).toContain('before.json · ');
    expect(page).not.toContain(directory);
    await expect(run([before, after, '--html', join(directory, 'none', 'x.html')])).rejects.toThrow(
      /--html .*x\.html: cannot be written: ENOENT/,
    );
  });

  it('has no corrected latencies of a closed loop', () => {
    const closed = makeLoadResult({ closed: true });
    const both = [...renderComparison([closed, closed], ['a', 'b'])];
    expect(cellsOf(both, 'latency, corrected', 'p50')).toEqual(['–', '–', '–']);
    expect(cellsOf(both, 'latency, service', 'p50')).not.toContain('–');
    expect(cellsOf(both, 'by operation, service latency', 'getListing p99')).not.toContain('–');
    const mixed = [...renderComparison([closed, makeLoadResult()], ['a', 'b'])];
    expect(cellsOf(mixed, 'by operation, corrected latency', 'getListing p99')).toEqual(['–', '4.59 ms', '–']);
  });

  it('does not write over its results', async () => {
    const link = join(directory, 'link.html');
    symlinkSync(after, link);
    const text = readFileSync(after, 'utf8');
    await expect(run([before, after, '--html', link])).rejects.toThrow(/is one of the results/);
    await expect(run([before, after, '--html', '-'])).rejects.toThrow(/^--html -: .*name a file$/);
    expect(readFileSync(after, 'utf8')).toBe(text);
  });

  it.each([
    [['a.json'], 'two results are compared, 1 given'],
    [['a.json', 'b.json', 'c.json'], "unexpected argument 'c.json'"],
    [['a.json', 'b.json', '--htm', 'x'], 'unknown flag --htm; did you mean --html?'],
    [['a.json', 'b.json', '--html'], '--html needs a value'],
  ])('refuses %j', async (args, message) => {
    await expect(run(args)).rejects.toMatchObject({ name: 'UsageError', message: expect.stringContaining(message) });
  });
});

describe('reading a result', () => {
  const whole = makeLoadResult({ seconds: 3, errors: 2 });

  it('takes what the load tool writes', () => {
    expect(readResult(write('whole.json', whole))).toEqual(whole);
    const closed = makeLoadResult({ seconds: 3, closed: true, isWatched: false });
    expect(checkResult(JSON.parse(JSON.stringify(closed)), 'f')).toEqual(closed);
  });

  it('takes the one in what a search and a soak write', () => {
    expect(readResult(write('ceiling.json', { version: 1, kind: 'ceiling', best: whole }))).toEqual(whole);
    expect(readResult(write('soak.json', { version: 1, kind: 'soak', result: whole }))).toEqual(whole);
    const none = write('no-ceiling.json', { version: 1, kind: 'ceiling', best: null });
    expect(() => readResult(none)).toThrow(/no-ceiling\.json: .*no rate held/);
  });

  it.each([
    ['none.json', null, 'there is no such file'],
    ['text.json', 'not json', 'is not JSON'],
    ['list.json', '[1,2]', "is not a result of 'switchyard load --json FILE'"],
    ['other.json', '{"name":"x"}', 'is not a result'],
    ['version.json', JSON.stringify({ ...whole, version: 9 }), 'of version 9, this program reads version 1'],
    ['series.json', JSON.stringify({ ...whole, series: 5 }), 'series should be a list and is number'],
    ['rate.json', JSON.stringify({ ...whole, callsPerSecond: null }), 'callsPerSecond should be a number and is null'],
  ])('says what is wrong with %s', (name, text, message) => {
    const file = text === null ? join(directory, name) : write(name, text);
    expect(() => readResult(file)).toThrow(expect.objectContaining({ name: 'UsageError' }));
    expect(() => readResult(file)).toThrow(`${file}: `);
    expect(() => readResult(file)).toThrow(message);
  });

  it('misses every field that the report uses', () => {
    const unused = new Set(['histogram']);
    for (const key of Object.keys(whole).filter((name) => !unused.has(name))) {
      const { [key as keyof typeof whole]: _gone, ...rest } = whole;
      expect(() => checkResult(rest, 'f'), key).toThrow(/^f: is /);
    }
    for (const key of Object.keys(whole.plan)) {
      const { [key as keyof typeof whole.plan]: _gone, ...plan } = whole.plan;
      expect(() => checkResult({ ...whole, plan }, 'f'), key).toThrow(
        `f: is not a whole result: plan.${key} is missing`,
      );
    }
  });

  it('names the place of a wrong value', () => {
    const [first, ...rest] = whole.series;
    const series = [first, { ...rest[0], corrected: { p50: 1, p99: '2', p999: 3, max: 4 } }];
    expect(() => checkResult({ ...whole, series }, 'f')).toThrow(
      'series[1].corrected.p99 should be a number and is string',
    );
    const loop = { kind: 'spiral' };
    expect(() => checkResult({ ...whole, plan: { ...whole.plan, loop } }, 'f')).toThrow(
      'plan.loop.kind should be one of open, closed, replay and is string',
    );
    const curve = { ...whole.curve, service: [[1, 2, 3]] };
    expect(() => checkResult({ ...whole, curve }, 'f')).toThrow('curve.service[0] should be a list of 2 and is a list');
  });
});
