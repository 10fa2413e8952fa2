import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HistogramLogReader } from 'hdr-histogram-js';
import { describe, expect, it, vi } from 'vitest';
import { run as runCommand } from '../../src/commands/load.ts';
import { UsageError } from '../../src/commands/usage.ts';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { readPaths } from '../../src/load/plan/targets.ts';
import { describeFailure, measure, readReporting, reportResult } from '../../src/load/result/reporting.ts';
import type { SeriesPoint } from '../../src/load/result/result.ts';
import { Interrupt } from '../../src/load/run/interrupt.ts';
import { LoadError, withNamespace } from '../../src/load/run/run.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { EchoNameNode } from '../support/echo-namenode.ts';
import { makeLoadResult } from '../support/load-result.ts';
import { samplePlan } from './load-samples.ts';

const USER = 'hdfs';

describe('an interval log', () => {
  it('that cannot be written any more ends the run in order: with an error, and without directories left behind', async () => {
    await using simulator = await startSimulator({ nameservices: ['a'], namenodes: 1, superuser: USER });
    const { host, port } = simulator.nameservices[0]!.namenodes[0]!;
    using client = await HdfsClient.connect({ host, port, user: USER });
    await client.mkdirs('/given');
    const own = '/given/switchyard-load-00000001';
    const plan = samplePlan({
      ...{ host, port, users: [USER], warmupMs: 0, durationMs: 3_600_000, filesPerTarget: 2 },
      targets: [{ name: 'given', directory: '/given', own }],
    });
    // A file that can be opened and never be written to.
    const running = withNamespace(plan, () => measure(plan, { hlog: '/dev/full' }));
    await expect(running).rejects.toThrow(LoadError);
    await expect(running).rejects.toThrow(/^\/dev\/full could not be written: ENOSPC/);
    expect(await client.list('/given')).toEqual([]);
  });

  it('adds up to the calls of the result: without those of the warm-up, with what is over after the end', async () => {
    await using namenode = await EchoNameNode.start();
    const directory = mkdtempSync(join(tmpdir(), 'switchyard-hlog-'));
    try {
      const hlog = join(directory, 'a.hlog');
      const plan = samplePlan({
        ...{ host: '127.0.0.1', port: namenode.port, users: [USER], inFlight: 100, warmupMs: 1000, durationMs: 1000 },
        ...{ targets: [], paths: ['/'], mix: [{ operation: 'getFileInfo', weight: 1 }] },
        ...{ loop: { kind: 'open', callsPerSecond: 50, rampMs: 0 }, timeoutMs: 60_000 },
      } as const);
      // Calls of the warm-up are answered after the end, together with those of the measured time.
      namenode.hold();
      const onSecond = ({ second }: SeriesPoint): void => {
        if (second === 1) namenode.release();
      };
      const result = await measure(plan, { hlog }, { onSecond });
      expect(result.calls).toBe(50);
      const sums = { corrected: 0, service: 0 };
      const reader = new HistogramLogReader(readFileSync(hlog, 'utf8'));
      for (let next = reader.nextIntervalHistogram(); next !== null; next = reader.nextIntervalHistogram()) {
        sums[next.tag as keyof typeof sums] += next.totalCount;
      }
      expect(sums).toEqual({ corrected: 50, service: 50 });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('that is written has a line for each second and kind of latency', async () => {
    await using simulator = await startSimulator({ nameservices: ['a'], namenodes: 1, superuser: USER });
    const { host, port } = simulator.nameservices[0]!.namenodes[0]!;
    const directory = mkdtempSync(join(tmpdir(), 'switchyard-hlog-'));
    try {
      const hlog = join(directory, 'a.hlog');
      const plan = samplePlan({ host, port, users: [USER], warmupMs: 0, durationMs: 1000, targets: [], paths: ['/'] });
      await measure({ ...plan, mix: [{ operation: 'getFileInfo', weight: 1 }] }, { hlog });
      expect(readFileSync(hlog, 'utf8')).toMatch(/^Tag=corrected,[^\n]*\nTag=service,/m);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe('a run', () => {
  it('has failed when no call succeeded, when there were none, and when the server was gone', () => {
    const result = makeLoadResult({ seconds: 10 });
    expect(describeFailure({ ...result, successes: 1, errors: 999 })).toBe('');
    expect(describeFailure({ ...result, successes: 0, errors: 5 })).toBe('no call succeeded');
    expect(describeFailure({ ...result, successes: 0, errors: 0 })).toBe('nothing was measured');
    expect(describeFailure({ ...result, successes: 1, errors: 0, gaveUp: true })).toMatch(/server was gone/);
  });

  it('has what was expected of it in its JSON and its page', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'switchyard-expect-'));
    const write = vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
    try {
      const [json, html] = [join(directory, 'a.json'), join(directory, 'a.html')];
      const result = makeLoadResult({ seconds: 10, errors: 0 });
      const reporting = readReporting({ json, html, expect: 'errors<1%,rate>1000k' }, result.plan);
      expect(await reportResult(result, reporting)).toBe(1);
      expect(JSON.parse(readFileSync(json, 'utf8')).expectations).toEqual([
        { text: 'errors<1%', value: 0, held: true },
        { text: 'rate>1000k', value: result.callsPerSecond, held: false },
      ]);
      expect(/Expected: [^/]*/.exec(readFileSync(html, 'utf8'))?.[0]).toBe(
        'Expected: errors&#60;1% held · rate&#62;1000k missed<',
      );
    } finally {
      write.mockRestore();
      rmSync(directory, { recursive: true });
    }
  });

  it.each(['html', 'hgrm', 'hlog'])('does not write --%s to standard output', (flag) => {
    expect(() => readReporting({ [flag]: '-' }, makeLoadResult().plan)).toThrow(
      new UsageError(`--${flag} -: only --json can go to standard output; name a file`),
    );
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('is ended by %s', (name) => {
    const write = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
    try {
      using interrupt = new Interrupt();
      expect(interrupt.signal.aborted).toBe(false);
      process.emit(name, name);
      expect(interrupt.signal.aborted).toBe(true);
    } finally {
      write.mockRestore();
    }
  });

  it('whose names would run out is refused before anything is called', async () => {
    const args = ['--fs', 'hdfs://127.0.0.1:1', '--mounts', '/a', '--mix', 'mkdirs=1'];
    const long = runCommand([...args, '--rate', '20k', '--duration', '48h']);
    await expect(long).rejects.toThrow(UsageError);
    await expect(long).rejects.toThrow(/^--rate and --duration: it would make up to \d+ names/);
    await expect(runCommand([...args, '--closed', '--calls', '9000000000'])).rejects.toThrow(/^--calls: it would make/);
  });
});

describe('a file of paths', () => {
  it('that never ends is refused', () => {
    expect(() => readPaths('@/dev/zero')).toThrow(/longer than \d+ bytes; give fewer paths/);
  });
});
