import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeFromCompressedBase64, HistogramLogReader } from 'hdr-histogram-js';
import { afterAll, describe, expect, it } from 'vitest';
import { encodeHistogram, IntervalLog, serviceFile, writeDistributions } from '../../src/load/histogram/hdr-files.ts';
import { countsOf } from './load-samples.ts';

const directory = mkdtempSync(join(tmpdir(), 'switchyard-hdr-'));
afterAll(() => rmSync(directory, { recursive: true }));

const COUNTS = countsOf([1, 900], [2, 90], [10, 9], [200_000, 1]);

describe('files of HdrHistogram', () => {
  it('hold all records in µs', () => {
    const histogram = decodeFromCompressedBase64(encodeHistogram(COUNTS));
    expect(histogram.totalCount).toBe(1000);
    expect(histogram.getValueAtPercentile(50) / 1000).toBeCloseTo(1, 1);
    expect(histogram.getValueAtPercentile(99.9) / 1000).toBeCloseTo(10, 0);
    expect(histogram.maxValue / 1e6).toBeCloseTo(200, -1);
  });

  it('of nothing can be read too', () => {
    expect(decodeFromCompressedBase64(encodeHistogram(countsOf())).totalCount).toBe(0);
  });

  it('are distributions in ms, service times in a file beside', () => {
    const file = join(directory, 'a.b.hgrm');
    expect(serviceFile(file)).toBe(join(directory, 'a.b.service.hgrm'));
    writeDistributions(file, { corrected: encodeHistogram(COUNTS), service: encodeHistogram(countsOf([3, 5])) });
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    // The form that HdrHistogram's plotter parses: value, percentile, total count, 1/(1-percentile).
    expect(lines[0]).toMatch(/^\s*Value\s+Percentile\s+TotalCount\s+1\/\(1-Percentile\)$/);
    const rows = lines.filter((line) => /^\s*[0-9]/.test(line)).map((line) => line.trim().split(/\s+/).map(Number));
    expect(rows[0]?.[0]).toBeCloseTo(1, 1);
    expect(rows.at(-1)?.slice(1, 3)).toEqual([1, 1000]);
    expect(rows.at(-1)?.[0]).toBeGreaterThan(198_000);
    expect(lines.some((line) => /^#\[Mean\s+=/.test(line))).toBe(true);
    expect(readFileSync(serviceFile(file), 'utf8')).toMatch(/Total count\s+=\s+5/);
  });

  it('are an interval log with a tag for either latency', () => {
    const file = join(directory, 'a.hlog');
    {
      using log = new IntervalLog(file);
      log.begin(Date.UTC(2030, 0, 1));
      log.add(5, { corrected: countsOf([8, 10]), service: countsOf([1, 10]) });
      log.add(6, { corrected: countsOf([4, 20]), service: countsOf([2, 20]) });
    }
    const text = readFileSync(file, 'utf8');
    expect(text).toMatch(/^#\[Histogram log format version 1\.3\]\n/);
    const reader = new HistogramLogReader(text);
    const seen: [string, number, number][] = [];
    for (let next = reader.nextIntervalHistogram(); next !== null; next = reader.nextIntervalHistogram()) {
      seen.push([next.tag, next.totalCount, Math.round(next.maxValue / 1000)]);
    }
    expect(seen).toEqual([
      ['corrected', 10, 8],
      ['service', 10, 1],
      ['corrected', 20, 4],
      ['service', 20, 2],
    ]);
    const [, line = ''] = /^(Tag=service,6\.000,1\.000,.*)$/m.exec(text) ?? [];
    expect(Number(line.split(',')[3])).toBeCloseTo(2, 1);
  });
});
