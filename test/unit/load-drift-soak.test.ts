import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderSoakPage } from '../../src/load/ceiling/page.ts';
import type { SeriesPoint } from '../../src/load/result/result.ts';
import type { LatencyCounts } from '../../src/load/run/seconds.ts';
import {
  formatChecked,
  formatDrifts,
  formatMinutes,
  formatWindow,
  type SoakReport,
} from '../../src/load/soak/print.ts';
import { chooseLookSeconds, runSoak } from '../../src/load/soak/run-soak.ts';
import { chooseWindows, measureDrifts, type SoakWindow } from '../../src/load/soak/windows.ts';
import { makeLoadResult } from '../support/load-result.ts';
import { countsOf } from './load-samples.ts';

function second(at: number, ms = 2): [SeriesPoint, LatencyCounts] {
  const none = { p50: 0, p99: 0, p999: 0, max: 0 };
  const point = { second: at, measured: true, callsPerSecond: 100, errors: 0, waiting: 0, inFlight: 0 };
  const counts = countsOf([ms, 100]);
  return [
    { ...point, corrected: none, service: none },
    { corrected: counts, service: counts },
  ];
}

function windowsOf(count: number, rssOf: (at: number) => number | null): SoakWindow[] {
  return Array.from({ length: count }, (_, at) => ({
    startSecond: at * 60,
    seconds: 60,
    calls: 6000,
    errors: 0,
    p99Micros: 2000,
    waiting: 0,
    rssBytes: rssOf(at),
    sockets: rssOf(at) === null ? null : 64,
    descriptors: rssOf(at) === null ? null : 80,
  }));
}

function reportOf(windows: readonly SoakWindow[], changes: Partial<SoakReport> = {}): SoakReport {
  return {
    atShare: 0.8,
    ceilingPerSecond: 6250,
    found: null,
    process: { kind: 'server', pid: 4711, ended: false },
    windowSeconds: 60,
    windows,
    drift: measureDrifts(windows),
    expectations: [],
    result: makeLoadResult({ seconds: 1800, callsPerSecond: 5000 }),
    ...changes,
  };
}

describe('the run of a soak', () => {
  it('tells each minute, also the last one that is not whole, and makes windows', async () => {
    const minutes: SoakWindow[] = [];
    const result = makeLoadResult();
    const run = await runSoak({
      durationMs: 150_000,
      pid: process.pid,
      onMinute: (window) => minutes.push(window),
      measure: async (onSecond) => {
        for (let at = 0; at < 150; at++) onSecond(...second(at));
        return result;
      },
    });
    expect(minutes.map(({ startSecond, seconds }) => [startSecond, seconds])).toEqual([
      [0, 60],
      [60, 60],
      [120, 30],
    ]);
    expect(run).toMatchObject({ windowSeconds: 5, processEnded: false });
    expect(run.result).toBe(result);
    expect(run.windows).toHaveLength(30);
    expect(run.windows.every(({ rssBytes }) => rssBytes !== null && rssBytes > 1e6)).toBe(true);
  });

  it('looks at the process in each window, and not too often', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1000, max: 48 * 3_600_000 }), (durationMs) => {
        const { seconds } = chooseWindows(durationMs);
        const every = chooseLookSeconds(seconds);
        expect(every).toBeLessThanOrEqual(seconds);
        expect(every).toBeGreaterThanOrEqual(5);
        expect(every).toBeLessThanOrEqual(30);
      }),
    );
    expect([chooseLookSeconds(5), chooseLookSeconds(60), chooseLookSeconds(600)]).toEqual([5, 10, 30]);
  });

  it('sees that the process has ended, and takes no numbers of anything else', async () => {
    const child = spawn('sleep', ['100'], { stdio: 'ignore' });
    await once(child, 'spawn');
    const { pid } = child;
    if (pid === undefined) throw new Error('no process');
    const run = await runSoak({
      durationMs: 10_000,
      pid,
      onMinute: () => {},
      measure: async (onSecond) => {
        for (let at = 0; at < 5; at++) onSecond(...second(at));
        child.kill('SIGKILL');
        await once(child, 'exit');
        for (let at = 5; at < 10; at++) onSecond(...second(at));
        return makeLoadResult();
      },
    });
    expect(run.processEnded).toBe(true);
    expect(run.windows.map(({ rssBytes }) => rssBytes !== null)).toEqual([true, false]);
  });
});

describe('what is said of a soak', () => {
  it('has drift of each number, with a trend where there is one', () => {
    const lines = formatDrifts(reportOf(windowsOf(30, (at) => 1e8 + at * 1e6)));
    expect(lines[0]).toBe('Drift over 30 windows of 60 s; memory, sockets and descriptors are those of process 4711');
    expect(lines[2]).toMatch(/p99 corrected +2\.00 ms +2\.00 ms +2\.00 ms +0 % +no trend/);
    expect(lines[3]).toMatch(
      /resident memory +114\.5 MB +103 MB +126 MB +\+22\.3 % +\+52\.4 %\/h \(95 %: .* p < 0\.001\)/,
    );
    expect(lines[4]).toMatch(/sockets +64 +64 +64 +0 % +no trend/);
    expect(lines).toHaveLength(6);
    expect(formatDrifts(reportOf(windowsOf(1, () => 1e8)))[0]).toMatch(/^Drift over one window of 60 s; /);
  });

  it('says whose numbers they are, and which are unknown', () => {
    const own = formatDrifts(
      reportOf(
        windowsOf(30, () => 1e8),
        { process: { kind: 'loader', pid: 1, ended: false } },
      ),
    );
    expect(own[0]).toContain('those of the server are unknown without --pid');
    const gone = formatDrifts(
      reportOf(
        windowsOf(30, () => null),
        { process: { kind: 'server', pid: 7, ended: true } },
      ),
    );
    expect(gone[0]).toContain('process 7, WHICH HAS ENDED');
    expect(gone[3]).toMatch(/resident memory +- +- +- +- +unknown$/);
  });

  it('has a line for a window', () => {
    const [, window] = windowsOf(2, () => 123_400_000);
    expect(formatWindow(window as SoakWindow, 1_800_000)).toBe(
      'soak 2 min of 30 min: 100/s, p99 2.00 ms, errors 0, memory 123.4 MB, sockets 64',
    );
    expect(formatWindow({ ...(window as SoakWindow), waiting: 100 }, 1_800_000)).toContain('p99 at least 2.00 ms');
    expect([1000, 119_000, 120_000, 150_000, 3_600_000].map(formatMinutes)).toEqual([
      '1 s',
      '119 s',
      '2 min',
      '2.5 min',
      '60 min',
    ]);
  });

  it('says what was expected', () => {
    const text = 'rss.drift<5%/h';
    expect(formatChecked({ text, held: false, value: '+9.0 %/h' })).toBe(`expect ${text}  MISSED: +9.0 %/h`);
    expect(formatChecked({ text, held: true, value: 'no trend' })).toBe(`expect ${text}  held: no trend`);
  });

  it('is a page with the drift above the report', () => {
    const page = renderSoakPage(reportOf(windowsOf(30, (at) => 1e8 + at * 1e6)));
    expect(page.indexOf('<h2 id="drift">')).toBeGreaterThan(0);
    expect(page.indexOf('<h2 id="drift">')).toBeLessThan(page.indexOf('<h2 id="summary">'));
    expect(page).toContain('Soak: 5,000/s, 80.0 % of 6,250/s, for 30 min');
    expect(page.match(/<th scope="row">29 min<\/th>/g)).toHaveLength(1);
  });
});
