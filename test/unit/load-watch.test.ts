import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { renderResult } from '../../src/load/result/print.ts';
import { checkResult } from '../../src/load/result/read-result.ts';
import { ProcessWatch, readProcess } from '../../src/load/run/watch.ts';
import { makeLoadResult } from '../support/load-result.ts';

/** A process that listens on two ports and prints a line when it does; it ends when its standard input closes. */
const CHILD = `
  const { createServer } = require('node:net');
  const servers = [createServer(), createServer()];
  let waiting = servers.length;
  for (const server of servers) server.listen(0, '127.0.0.1', () => { if (--waiting === 0) console.log('ready'); });
  process.stdin.on('end', () => process.exit(0)).resume();
`;

async function startChild(): Promise<{ child: ChildProcess; pid: number }> {
  const child = spawn(process.execPath, ['-e', CHILD], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout!, 'data');
  return { child, pid: child.pid as number };
}

async function endChild(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.stdin?.end();
  await ended;
}

/** Files as the kernel has them of a process with two sockets and a file; `canList` says whether this user may see its descriptors. */
function makeProc(pid: number, canList: boolean): { path: string; addSocket(): void } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'switchyard-proc-'));
  const own = join(path, String(pid));
  mkdirSync(join(own, 'task'), { recursive: true });
  writeFileSync(join(own, 'stat'), `${pid} (a b) S${' 7'.repeat(49)}`);
  writeFileSync(join(own, 'status'), 'Name:\ta\nVmRSS:\t    1000 kB\n');
  writeFileSync(join(own, 'cmdline'), 'a\0b\0');
  let next = 0;
  const link = (target: string) => symlinkSync(target, join(own, 'fd', String(next++)));
  if (canList) {
    mkdirSync(join(own, 'fd'));
    for (const target of ['/dev/null', 'socket:[1]', 'socket:[2]']) link(target);
  }
  return {
    path,
    addSocket: () => link('socket:[3]'),
    [Symbol.dispose]: () => rmSync(path, { recursive: true }),
  };
}

describe('a watched process whose descriptors', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('cannot be seen has none that are known, rather than 0', () => {
    using proc = makeProc(7, false);
    using watch = new ProcessWatch(7, proc.path);
    watch.begin();
    watch.end();
    const watched = watch.report(1);
    expect(watched).toMatchObject({
      command: 'a b',
      rssEndBytes: 1_024_000,
      ...{ descriptorsStart: null, descriptorsEnd: null, socketsStart: null, socketsEnd: null },
    });
    const result = { ...makeLoadResult(), watched };
    expect(checkResult(JSON.parse(JSON.stringify(result)), 'a.json').watched).toEqual(watched);
    expect(renderResult(result).join('\n')).toMatch(
      /sockets +could not be counted\n +descriptors +could not be counted/,
    );
  });

  it('are many is asked for its sockets at the start, each ten seconds and at the end', () => {
    vi.useFakeTimers();
    using proc = makeProc(7, true);
    using watch = new ProcessWatch(7, proc.path);
    watch.begin();
    vi.advanceTimersByTime(3000);
    proc.addSocket();
    vi.advanceTimersByTime(9000);
    proc.addSocket();
    watch.end();
    const watched = watch.report(1);
    expect(watched).toMatchObject({ descriptorsStart: 3, descriptorsEnd: 5, socketsStart: 2, socketsEnd: 4 });
    const sockets = watched?.samples.map((sample) => sample[2]);
    expect(sockets).toEqual([2, ...Array(9).fill(null), 3, null, null, 4]);
  });
});

describe('a watched process', () => {
  it('is described from /proc', async () => {
    const { child, pid } = await startChild();
    try {
      const sample = readProcess(pid);
      expect(sample?.rssBytes).toBeGreaterThan(5_000_000);
      expect(sample?.sockets).toBeGreaterThanOrEqual(2);
      expect(sample?.descriptors).toBeGreaterThan(sample?.sockets ?? 0);
      expect(sample?.threads).toBeGreaterThan(1);
      expect(sample?.voluntarySwitches).toBeGreaterThan(0);
      expect(sample?.cpuSeconds).toBeGreaterThan(0);
      using watch = new ProcessWatch(pid);
      watch.begin();
      watch.end();
      const watched = watch.report(10);
      expect(watched).toMatchObject({ pid, socketsStart: sample?.sockets, socketsEnd: sample?.sockets });
      expect(watched?.command).toContain('createServer');
      expect(watched?.samples.length).toBe(2);
      expect(watched?.samples[0]?.[3]).toBe(0);
      expect(watched?.rssMaxBytes).toBeGreaterThanOrEqual(watched?.rssEndBytes ?? 0);
      expect(watched?.cpuMicrosPerCall).toBeCloseTo(((watched?.cpuSeconds ?? 0) * 1e6) / 10, 6);
      expect(watched?.ended).toBeUndefined();
    } finally {
      await endChild(child);
    }
  });

  it('that ends meanwhile keeps its last numbers and says so', async () => {
    const { child, pid } = await startChild();
    using watch = new ProcessWatch(pid);
    watch.begin();
    await endChild(child);
    watch.end();
    const watched = watch.report(1);
    expect(watched).toMatchObject({ pid, ended: true });
    expect(watched?.rssEndBytes).toBe(watched?.rssStartBytes);
    expect(readProcess(pid)).toBeNull();
  });

  it('that had ended before is not reported', async () => {
    const { child, pid } = await startChild();
    await endChild(child);
    using watch = new ProcessWatch(pid);
    watch.begin();
    watch.end();
    expect(watch.report(1)).toBeNull();
  });

  it('has no CPU per call without calls', () => {
    using watch = new ProcessWatch(process.pid);
    watch.begin();
    watch.end();
    expect(watch.report(0)?.cpuMicrosPerCall).toBe(0);
  });
});
