import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { joinModules, readAssets } from '../../src/load/report/assets.ts';
import type { ChartSpec } from '../../src/load/report/chart-spec.ts';
import { renderReport } from '../../src/load/report/page.ts';
import type { LoadResult } from '../../src/load/result/result.ts';
import { makeLoadResult } from '../support/load-result.ts';

const HOSTILE = `</script></style>--><img src=x onerror=alert(1)>"'\`&<!--`;

/** Content of each element of this name, as it stands in the page. */
function contentsOf(page: string, element: string): string[] {
  return [...page.matchAll(new RegExp(`<${element}(?: [^>]*)?>([\\s\\S]*?)</${element}>`, 'g'))].map(
    (match) => match[1] ?? '',
  );
}

/** The page without what it brings of its own: script, style, comment. */
function markupOf(page: string): string {
  return page.replace(/<(script|style)[\s\S]*?<\/\1>/g, '').replace(/<!-- [\s\S]*?-->/g, '');
}

function chartsOf(page: string): ChartSpec[] {
  const data = /<script type="application\/json" id="charts">([\s\S]*?)<\/script>/.exec(page)?.[1] ?? '';
  return JSON.parse(data) as ChartSpec[];
}

/** The row of a table that begins with this name: its cells as text. */
function rowOf(page: string, name: string): string[] {
  const row = contentsOf(page, 'tr').find((cells) => contentsOf(cells, 'th')[0] === name) ?? '';
  return contentsOf(row, 'td');
}

/** The same value with `text` in place of every string in it. */
function replaceTexts(value: unknown, text: string, keep: readonly string[]): unknown {
  if (typeof value === 'string') return text;
  if (Array.isArray(value)) return value.map((item) => replaceTexts(item, text, keep));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, keep.includes(key) ? item : replaceTexts(item, text, keep)]),
  );
}

describe('the report of one run', () => {
  const result = makeLoadResult({ errors: 12 });
  const page = renderReport([result]);

  it('has every section', () => {
    const headings = contentsOf(page, 'h2');
    expect(headings).toEqual([
      'Summary',
      'Latency by percentile',
      'Over time',
      'By operation',
      'By mount',
      'Errors',
      'Watched process',
      'Loader',
      'Plan',
    ]);
  });

  it('shows corrected and service percentiles side by side, and the rates', () => {
    expect(rowOf(page, 'p99')).toEqual(['2.09 ms', '2.05 ms']);
    expect(rowOf(page, 'asked calls/s')).toEqual(['5,000']);
    expect(rowOf(page, 'answered calls/s')).toEqual(['4,998']);
    expect(rowOf(page, 'errors')).toEqual(['12']);
    expect(rowOf(page, 'getListing').slice(0, 4)).toEqual(['44,982', '0', '1.44 ms', '4.59 ms']);
    expect(rowOf(page, '<code>org.apache.hadoop.ipc.StandbyException</code>')[0]).toBe('11');
  });

  it('warns of a saturated run, a loader at its limit, a closed loop and failed calls', () => {
    const warningsOf = (made: LoadResult) => contentsOf(renderReport([made]), 'li').slice(1);
    expect(warningsOf(makeLoadResult())).toEqual([]);
    const bad = warningsOf(makeLoadResult({ achievedShare: 0.9, loaderReason: 'its event loop was late', errors: 5 }));
    expect(bad).toEqual([
      '<b>The loader was the limit.</b> its event loop was late',
      expect.stringContaining('<b>Saturated.</b> 4,500 of 5,000 calls/s asked (90 %)'),
      expect.stringContaining('<b>Calls failed.</b> 5 calls'),
    ]);
    expect(warningsOf(makeLoadResult({ closed: true }))).toEqual([expect.stringContaining('<b>Closed loop.</b>')]);
    const gone = makeLoadResult();
    const { watched } = gone;
    if (watched === null) throw new Error('the sample has no watched process');
    expect(warningsOf({ ...gone, endedEarly: true, watched: { ...watched, ended: true } })).toEqual([
      expect.stringContaining('<b>The watched process is gone.</b>'),
      expect.stringContaining('<b>Ended early.</b>'),
    ]);
  });

  it('gives each chart a title, a caption and its numbers as a table', () => {
    const figures = contentsOf(page, 'figure');
    expect(figures.length).toBe(chartsOf(page).length);
    for (const figure of figures) {
      expect(contentsOf(figure, 'h3')[0]).not.toBe('');
      expect(contentsOf(figure, 'figcaption')[0]?.length).toBeGreaterThan(10);
      expect(contentsOf(figure, 'td').filter((cell) => cell !== '–').length).toBeGreaterThan(3);
      expect(figure).toMatch(/role="group" tabindex="0" aria-labelledby="[a-z0-9-]+" aria-describedby=/);
    }
    const ids = [...markupOf(page).matchAll(/ id="([^"]+)"/g)].map((match) => match[1]);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, named] of markupOf(page).matchAll(/aria-(?:labelledby|describedby)="([^"]+)"/g)) {
      for (const id of named?.split(' ') ?? []) expect(ids).toContain(id);
    }
  });

  it('says how late the loader wrote what was due', () => {
    expect(rowOf(page, 'written after due, p50')).toEqual(['510 µs']);
    expect(rowOf(page, 'written after due, p99')).toEqual(['1.02 ms']);
    expect(rowOf(renderReport([makeLoadResult({ closed: true })]), 'written after due, p50')).toEqual([]);
  });

  it('leaves out what the run does not have', () => {
    const plain = renderReport([makeLoadResult({ isWatched: false })]);
    expect(contentsOf(plain, 'h2')).not.toContain('Watched process');
    expect(chartsOf(plain).map(({ id }) => id)).toEqual(['curve', 'latency', 'rate', 'backlog']);
    expect(plain).toContain('No call failed.');
  });

  it('can be made of a run without a single answer', () => {
    const zero = Object.fromEntries(Object.keys(result.latency.service).map((key) => [key, 0]));
    const latency = { corrected: zero, service: zero } as unknown as LoadResult['latency'];
    const empty = {
      ...makeLoadResult({ isWatched: false }),
      calls: 0,
      latency,
      operations: [],
      targets: [],
      series: [],
    };
    const made = renderReport([{ ...empty, curve: { corrected: [], service: [] } }]);
    expect(made).toContain('No call was answered');
    expect(markupOf(made)).not.toMatch(/NaN|Infinity|undefined/);
    expect(rowOf(made, 'p99')).toEqual(['–', '–']);
  });

  it('tells an hour in intervals', () => {
    const hour = renderReport([makeLoadResult({ seconds: 3600 })]);
    for (const figure of contentsOf(hour, 'figure')) expect(contentsOf(figure, 'tr').length).toBeLessThanOrEqual(32);
    expect(chartsOf(hour).find(({ id }) => id === 'latency')?.x.length).toBe(3605);
    expect(hour.length).toBeLessThan(1_500_000);
  });
});

describe('the report of two runs', () => {
  const before = makeLoadResult();
  const after = makeLoadResult({ medianMicros: 1280, seed: 2, connections: 32 });
  const page = renderReport([before, after], ['before.json', 'after.json']);

  it('draws both over each other and says the difference', () => {
    const charts = chartsOf(page);
    expect(charts.map(({ id }) => id)).toEqual([
      'curve',
      ...['latency-p50', 'latency-p99', 'latency-p999', 'latency-max'],
      ...['rate', 'backlog', 'rss', 'cpu', 'sockets'],
    ]);
    for (const { id, lines } of charts) {
      expect(new Set(lines.map(({ label }) => label[0])), id).toEqual(
        new Set(id === 'rate' ? ['A', 'B', 'a'] : ['A', 'B']),
      );
      expect(new Set(lines.map(({ colour, dashed, basis }) => `${colour} ${dashed} ${basis}`)).size).toBe(lines.length);
      for (const line of lines) expect(line.values.filter((value) => value !== null).length).toBeGreaterThan(30);
    }
    expect(rowOf(page, 'p50')).toEqual(['653 µs', '1.31 ms', '+100.0 %', '640 µs', '1.28 ms', '+100.0 %']);
    expect(page).toMatch(/<td class="change bad">\+100\.0 %<\/td>/);
  });

  it('names the files and what differs in the plans', () => {
    expect(page).toContain('before.json · hdfs://router.example.com:8888');
    expect(contentsOf(page, 'li')).toContain('<b>The plans differ.</b> connections: 64 in A, 32 in B.');
    expect(page).toMatch(/<tr class="differs"><th scope="row">connections<\/th><td>64<\/td><td>32<\/td>/);
  });

  it('shows what only one of them has', () => {
    const mixed = renderReport([
      makeLoadResult({ isWatched: false, mounts: ['/a'] }),
      makeLoadResult({ mounts: ['/b'] }),
    ]);
    expect(contentsOf(mixed, 'h2')).toContain('Watched process');
    expect(mixed).toMatch(/<th scope="row" rowspan="2">\/a<\/th>/);
    expect(mixed).toMatch(/<th scope="row" rowspan="2">\/b<\/th>/);
    expect(markupOf(mixed)).not.toMatch(/NaN|Infinity|undefined/);
  });

  it('is made of one result or two', () => {
    expect(() => renderReport([])).toThrow(RangeError);
    expect(() => renderReport([before, before, before])).toThrow('a report shows one run or two, not 3');
  });
});

describe('the page', () => {
  it('keeps every text of a result from becoming markup', () => {
    const kept = ['kind'];
    const result = replaceTexts(makeLoadResult({ errors: 3 }), HOSTILE, kept) as LoadResult;
    for (const page of [renderReport([result], [HOSTILE]), renderReport([result, result], [HOSTILE, HOSTILE])]) {
      expect(page).not.toContain('<img');
      expect(markupOf(page)).not.toMatch(/onerror=alert\(1\)>|<!--/);
      expect(page.match(/<\/script>/g)).toHaveLength(3);
      expect(page.match(/<\/style>/g)).toHaveLength(1);
      expect(page).toContain('&#60;img src=x onerror=alert(1)&#62;');
    }
  });

  it('asks for nothing from elsewhere and forbids it too', () => {
    const page = renderReport([makeLoadResult()]);
    expect(markupOf(page)).not.toMatch(/<(?:link|iframe|object|embed|base|img|audio|video)\b/);
    expect(markupOf(page)).not.toMatch(/ (?:src|href|action|style|on[a-z]+)=/);
    expect(page).not.toMatch(/url\(|@import|\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon/);
    const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(page)?.[1]?.replaceAll('&#39;', "'");
    const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    const scripts = [...page.matchAll(/<script>([\s\S]*?)<\/script>/g)].map((match) => hash(match[1] ?? ''));
    const [style = ''] = contentsOf(page, 'style');
    expect(scripts).toHaveLength(2);
    expect(policy).toBe(
      `default-src 'none'; script-src ${scripts.join(' ')}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`,
    );
  });

  it('carries the license of the chart library', () => {
    expect(renderReport([makeLoadResult()])).toContain('The MIT License (MIT)');
  });

  it('joins the modules of its script into one', () => {
    const joined = joinModules([
      'export function first() {\n  return 1;\n}\n',
      "import { first } from './first.js';\nimport {\n  second,\n  third,\n} from './more.js';\n\nexport const four = first();\n",
    ]);
    expect(joined).not.toMatch(/\b(?:import|export)\b/);
    expect(joined).toContain('const four = first();');
    expect(readAssets().script).not.toMatch(/^(?:import|export) /m);
  });
});
