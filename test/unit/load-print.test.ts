import { describe, expect, it } from 'vitest';
import type { FinalReport, LoadPlan } from '../../src/load/plan/plan.ts';
import { collectResult } from '../../src/load/result/collect.ts';
import { formatMicros, formatRate, formatShare, plainText } from '../../src/load/result/format.ts';
import { renderResult } from '../../src/load/result/print.ts';
import type { LoadResult, SeriesPoint } from '../../src/load/result/result.ts';
import { Progress, renderPoint } from '../../src/load/run/progress.ts';
import { countsOf, sampleCell, sampleFinal, samplePlan } from './load-samples.ts';

function print(final: Partial<FinalReport>, plan: LoadPlan = samplePlan(), changes: Partial<LoadResult> = {}): string {
  const finals = [sampleFinal(final)];
  const given = { plan, finals, series: [], startedAt: new Date(0), cpuShare: 0.25, watch: null, endedEarly: false };
  return renderResult({ ...collectResult(given), ...changes }).join('\n');
}

describe('the printed result', () => {
  it('says what was asked and achieved, and both latencies side by side', () => {
    const cells = [
      sampleCell({ corrected: countsOf([2, 100]), service: countsOf([0.5, 100]) }),
      sampleCell({
        operation: 'mkdirs',
        target: 1,
        successes: 10,
        corrected: countsOf([30, 10]),
        service: countsOf([20, 10]),
      }),
    ];
    const text = print({ cells });
    expect(text).toContain(
      'hdfs://127.0.0.1:8020: 8 connections with at most 4 calls in flight each, 1 user, 1 loader thread',
    );
    expect(text).toContain('open loop, 1,000 calls/s asked');
    expect(text).toContain('measured for 10 s, after 1 s of warm-up');
    expect(text).toContain('achieved 1,000 calls/s, 100.0 % of the 1,000 asked');
    expect(text).toContain('110 calls over: 110 successes, 0 errors (0 %)');
    expect(text).toMatch(/^latency +p50 +p75 +p90 +p95 +p99 +p99\.9 +p99\.99 +max +mean$/m);
    expect(text).toMatch(/^corrected, since it was due +2\.00 ms .* 30\.\d ms +4\.5\d ms$/m);
    expect(text).toMatch(/^service, since it was sent +50\d µs .* 20\.\d ms +2\.\d\d ms$/m);
    expect(text).toMatch(/^by operation +calls +errors/m);
    expect(text).toMatch(/^getFileInfo +100 +0 +2\.00 ms/m);
    expect(text).toMatch(/^by mount +calls/m);
    expect(text).toMatch(/^logs +10 +0 +30\.\d ms/m);
    expect(text).toMatch(/^the loader itself: busiest thread 10\.0 % busy, 0\.25 cores used/m);
    for (const word of ['SATURATED', 'LIMIT', 'EARLY', 'CLOSED', 'sent late', 'errors by class'])
      expect(text).not.toContain(word);
  });

  it('warns of a rate that was not reached, and of calls that came late or never', () => {
    const text = print({ replies: 9000, lateForSlots: 1, lateForLoader: 500, unsent: 30, substituted: 4 });
    expect(text).toContain('90.0 % of the 1,000 asked');
    expect(text).toContain('SATURATED: less than 98.0 %');
    expect(text).toContain(
      '1 call sent late because no connection had a free slot (--in-flight) and room to write, or none was open',
    );
    expect(text).toContain('500 calls sent late because the loader was late');
    expect(text).toContain('30 calls due and not sent');
    expect(print({ nothingFound: 12 })).toMatch(/^12 calls found nothing$/m);
    expect(text).toContain('4 calls that found nothing of this run');
    expect(text).toContain('THE LOADER WAS THE LIMIT: it sent 5.0 % of the calls late');
  });

  it('says that a run gave up, and what is missing of one that was ended', () => {
    const plan = samplePlan({ durationMs: null, calls: 10_000 });
    const text = print({ replies: 9000, unsent: 1000, gaveUp: true }, plan);
    expect(text).toMatch(/^GAVE UP: no connection to the server/m);
    expect(text).toContain('1,000 calls not made;');
    expect(text).not.toContain('SATURATED');
    expect(print({ unanswered: 7 })).toContain('7 calls without a reply when the run was ended');
  });

  it('has the delay of sending, and what --spin means for it', () => {
    expect(print({})).toMatch(/calls written p50 (49|50)\d µs p99 1\.00 ms after they were due/);
    expect(print({ sendDelay: new Uint32Array(0) })).not.toContain('after they were due');
    expect(print({}, samplePlan({ spin: true }))).toContain('busy (--spin), ');
  });

  it('labels a closed loop, and shows its one kind of latency once', () => {
    const text = print({}, samplePlan({ loop: { kind: 'closed' } }));
    expect(text).toContain('CLOSED LOOP: latencies leave out the waiting of calls that were not made');
    expect(text).not.toContain('corrected, since');
    expect(text).toContain('achieved 1,000 calls/s\n');
  });

  it('shows errors by class without what a server could do to the terminal', () => {
    const errors = {
      'org.apache.hadoop.ipc.StandbyException': { count: 7, firstMessage: 'not \u001b[31mactive\nat x' },
      timeout: { count: 1, firstMessage: '' },
    };
    const text = print({ cells: [sampleCell({ errors })] });
    expect(text).toMatch(
      /^org\.apache\.hadoop\.ipc\.StandbyException +7\n {4}first: not {2}\[31mactive at x\ntimeout +1$/m,
    );
    expect(text).not.toContain('\u001b');
  });

  it('marks a run that was ended early, and a process that ended', () => {
    const watched = {
      ...{ pid: 7, command: 'java x', cpuSeconds: 2, cpuMicrosPerCall: 200, rssStartBytes: 1e8, rssEndBytes: 2e8 },
      ...{ rssMaxBytes: 3e8, descriptorsStart: 9, descriptorsEnd: 10, socketsStart: 3, socketsEnd: 4, threads: 2 },
      ...{ voluntarySwitches: 5000, involuntarySwitches: 6, samples: [], ended: true },
    };
    const text = print({}, samplePlan(), { endedEarly: true, watched });
    expect(text).toContain('ENDED EARLY');
    expect(text).toContain('process 7 (java x): HAS ENDED during the run');
    expect(text).toMatch(/CPU +2\.00 s, 200 µs a call/);
    expect(text).toMatch(/resident memory +100 MB to 200 MB, at most 300 MB/);
    expect(text).toMatch(/sockets +3 to 4/);
    expect(text).toMatch(/context switches +5,000 voluntary, 6 involuntary/);
  });

  it('of nothing says so', () => {
    expect(print({ cells: [], replies: 0, due: 0 })).toContain(
      'no call that was due in the measured time was answered',
    );
  });

  it('lists a bounded number of mounts', () => {
    const targets = Array.from({ length: 30 }, (_, index) => ({ name: `m${index}`, directory: `/m${index}`, own: '' }));
    const cells = targets.map((_, target) => sampleCell({ target }));
    const text = print({ cells }, samplePlan({ targets }));
    expect(text).toContain('… and 10 more mounts');
    expect(text).not.toContain('m20 ');
  });
});

describe('numbers for people', () => {
  it.each([
    [0, '0.00 µs'],
    [99.96, '100 µs'],
    [999, '999 µs'],
    [999.6, '1.00 ms'],
    [12_345, '12.3 ms'],
    [999_600, '1.00 s'],
    [214_000_000, '214 s'],
  ])('%d µs', (micros, text) => expect(formatMicros(micros)).toBe(text));

  it('are short', () => {
    expect([formatRate(4999.6), formatRate(1.25), formatRate(1_234_567)]).toEqual(['5,000', '1.3', '1,234,567']);
    expect([formatShare(0), formatShare(0.00001234), formatShare(0.999)]).toEqual(['0 %', '0.0012 %', '99.9 %']);
    expect(plainText('abcdef', 4)).toBe('abc…');
  });
});

describe('the progress line', () => {
  const tail = { p50: 200, p99: 1200, p999: 3000, max: 5000 };
  const point: SeriesPoint = {
    ...{ second: 4, measured: true, callsPerSecond: 4999, errors: 2, waiting: 10, inFlight: 64 },
    ...{ corrected: tail, service: tail },
  };

  it('has rate, p99, errors and what waits', () => {
    expect(renderPoint(point, 65, true)).toMatch(
      /^ *5\/65 s +4,999\/s +p99 1\.20 ms +errors 2 +waiting 10 +in flight 64$/,
    );
    expect(renderPoint({ ...point, measured: false }, null, false)).toMatch(/^ *5 s .*\(warm-up\)$/);
    expect(renderPoint({ ...point, measured: false }, null, true)).toMatch(/\(last replies\)$/);
    expect(renderPoint({ ...point, measured: false }, 3.5, true)).toMatch(/^4\/4 s .*\(last replies\)$/);
    const none = { p50: 0, p99: 0, p999: 0, max: 0 };
    expect(renderPoint({ ...point, corrected: none }, 65, true)).toContain('p99 –  ');
  });

  it('is one line after the other where there is no terminal', () => {
    let text = '';
    const progress = new Progress({ write: (more) => (text += more) }, 65);
    progress.show(point);
    progress.show(point);
    progress.end();
    expect(text.split('\n')).toHaveLength(3);
    expect(text).not.toContain('\r');
    expect(text).not.toContain('\u001b');
  });

  it('takes the place of the last one on a terminal, and never wraps', () => {
    let text = '';
    const progress = new Progress({ isTTY: true, columns: 20, write: (more) => (text += more) }, 65);
    progress.show(point);
    progress.show(point);
    progress.end();
    expect(text).not.toContain('\n');
    const lines = text.split('\r\u001b[K');
    expect(lines).toHaveLength(4);
    expect(lines[1]).toBe(lines[2]);
    expect(lines[1]).toHaveLength(19);
    expect(lines[3]).toBe('');
  });
});
