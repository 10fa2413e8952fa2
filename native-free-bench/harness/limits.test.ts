/** When a row says something about its peer, how its figures are printed, and that a run takes all its files with it. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import type { Driven } from './drive.ts';
import { findLimit, findShortfall, type LimitConditions, type Metered } from './limits.ts';
import { readRssBytes, sumBusySeconds } from './process-meter.ts';
import { printBeside } from './table.ts';

interface Made extends Partial<Omit<Metered, 'driven'>> {
  readonly peerBusy?: number;
  readonly loaderBusy?: number;
  readonly loaderWasTheLimit?: boolean;
  readonly callsPerSecond?: number;
}

function metered(made: Made): Metered {
  const { peerBusy = 1, loaderBusy = 0.3, loaderWasTheLimit = false, callsPerSecond = 1000 } = made;
  const driven = { seconds: 4, cpuSeconds: peerBusy * 4, loaderBusy, loaderWasTheLimit, callsPerSecond } as Driven;
  return { driven, namenodeBusy: made.namenodeBusy ?? 0.2, othersBusy: made.othersBusy ?? 0 };
}

const CLOSED: LimitConditions = { ratePerSecond: 0, toolCores: 1, peerCores: 1 };
const OPEN: LimitConditions = { ...CLOSED, ratePerSecond: 1000 };

describe('limit of a closed loop', () => {
  const limitOf = (...rounds: Made[]): string => findLimit(rounds.map(metered), CLOSED);

  it('is the peer alone only when the tools had time left', () => {
    expect(limitOf({})).toBe('');
    expect(limitOf({ loaderBusy: 0.6, namenodeBusy: 0.34 })).toBe('');
    expect(limitOf({ loaderBusy: 0.6, namenodeBusy: 0.36 })).toBe(
      'peer and tools were both full: load and NameNode were busy 96 %',
    );
    expect(limitOf({ loaderWasTheLimit: true })).toMatch(/^peer and tools were both full: the loader calls itself/);
  });

  it('is named when the peer was not full', () => {
    expect(limitOf({ peerBusy: 0.5 })).toBe('neither end was saturated: load and NameNode were busy 50 %');
    expect(limitOf({ peerBusy: 0.5, loaderBusy: 0.75 })).toMatch(/^the tools were the limit: .* 95 %$/);
    expect(limitOf({ peerBusy: 0.5, loaderWasTheLimit: true })).toBe('the loader was the limit');
  });

  it('is what held in half of the rounds or more', () => {
    const full = { loaderBusy: 0.8 };
    expect(limitOf(full, {}, {})).toBe('');
    expect(limitOf(full, {})).toMatch(/both full/);
    expect(limitOf({ othersBusy: 0.3 }, {})).toMatch(/^disturbed/);
  });

  it('counts all cores of a peer and of the tools', () => {
    const two = { ...CLOSED, toolCores: 2, peerCores: 2 };
    expect(findLimit([metered({ peerBusy: 1.5 })], two)).toMatch(/^neither/);
    expect(findLimit([metered({ peerBusy: 1.9, loaderBusy: 0.9 })], two)).toBe('');
  });
});

describe('limit of a fixed rate', () => {
  it('is none however idle the peer is', () => {
    expect(findLimit([metered({ peerBusy: 0.1 })], OPEN)).toBe('');
    expect(findLimit([metered({ peerBusy: 0.1, loaderBusy: 0.75 })], OPEN)).toMatch(/^the tools were the limit/);
    expect(findLimit([metered({ loaderWasTheLimit: true })], OPEN)).toBe('the loader was the limit');
  });

  it('is the tools when even the direct connection does not keep it', () => {
    const direct = { ...OPEN, peerCores: 0 };
    expect(findLimit([metered({ callsPerSecond: 900 })], direct)).toMatch(/no peer in between, and .* 90\.0 %/);
    expect(findLimit([metered({})], direct)).toBe('');
  });

  it('is told apart from a rate that was not achieved', () => {
    const rounds = [metered({ callsPerSecond: 979 })];
    expect(findLimit(rounds, OPEN)).toBe('');
    expect(findShortfall(rounds, 1000)).toBe('saturated, 97.9 % of the asked rate');
    expect(findShortfall([metered({ callsPerSecond: 980 })], 1000)).toBe('');
    expect(findShortfall(rounds, 0)).toBe('');
  });
});

describe('process meter', () => {
  it('counts interrupts and stolen time of one core, neither idle time nor guests', () => {
    const text = 'cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 100 20 3 5000 700 40 50 6 80 10\ncpu10 1 0 0 0 0 0 0 0 0 0\nintr 1\n';
    expect(sumBusySeconds(text, 1)).toBeCloseTo(2.19);
    expect(sumBusySeconds(text, 10)).toBeCloseTo(0.01);
    expect(() => sumBusySeconds(text, 2)).toThrow('core 2 is not in /proc/stat');
  });

  it('names a process that is gone', () => {
    const { pid } = spawnSync(process.execPath, ['-e', '0']);
    expect(() => readRssBytes(pid)).toThrow(`process ${pid} cannot be measured: it has ended`);
    expect(readRssBytes(process.pid)).toBeGreaterThan(1 << 20);
  });
});

describe('figures', () => {
  it('have the digits that tell them from their limit', () => {
    expect(printBeside(1.304, 1.3, 2)).toBe('1.304');
    expect(printBeside(1.3, 1.3, 2)).toBe('1.30');
    expect(printBeside(1.29, 1.3, 2)).toBe('1.29');
    expect(printBeside(150.2, 150, 0)).toBe('150.2');
    expect(printBeside(1.300000000000001, 1.3, 2)).toMatch(/^1\.30*$/);
  });
});

describe('directory of a run', () => {
  /** A run with a child that keeps writing into the directory. */
  const RUN = `
    import { makeRunDirectory } from ${JSON.stringify(new URL('./run-directory.ts', import.meta.url).href)};
    import { Child } from ${JSON.stringify(new URL('./children.ts', import.meta.url).href)};
    const { path, env } = makeRunDirectory('test');
    const script = "const fs = require('node:fs'); const os = require('node:os'); const at = os.tmpdir() + '/a/b';" +
      "console.log(JSON.stringify({ at }));" +
      "for (;;) try { fs.mkdirSync(at, { recursive: true }); fs.writeFileSync(at + '/file', ''); } catch {}";
    const child = new Child({ name: 'writer', command: process.execPath, args: ['-e', script], env });
    const { at } = await child.waitFor((line) => line.at !== undefined, 20_000);
    console.log(JSON.stringify({ path, at }));
  `;

  it.each(['SIGINT', 'SIGTERM'] as const)('goes with the run on %s, with what its children write', async (signal) => {
    const parent = mkdtempSync(join(tmpdir(), 'run-directory-test-'));
    const run = spawn(process.execPath, ['--input-type=module', '-e', RUN], {
      env: { ...process.env, TMPDIR: parent },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const ended = once(run, 'exit');
      const [line] = (await once(createInterface({ input: run.stdout }), 'line')) as [string];
      const { path, at } = JSON.parse(line) as { path: string; at: string };
      expect(at.startsWith(`${path}/`)).toBe(true);
      expect(existsSync(path)).toBe(true);
      run.kill(signal);
      await ended;
      expect(readdirSync(parent)).toEqual([]);
    } finally {
      run.kill('SIGKILL');
      rmSync(parent, { recursive: true, force: true });
    }
  });
});
