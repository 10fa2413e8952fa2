import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ProcessWatch, readProcess } from '../../src/load/run/watch.ts';

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
