/** A real router between load and stubs: the setup is what the point says, and what is measured is there. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { stopAll } from '../harness/children.ts';
import { readAllowedCores } from '../harness/process-meter.ts';
import { ROUTER_SOURCES } from '../harness/proxies.ts';
import { type Bench, measurePoint, startSetup, stopSetup } from './measure.ts';
import { BASE, type Point } from './points.ts';

const SCRIPT = fileURLToPath(new URL('./bench.ts', import.meta.url));

describe('measuring', () => {
  it.each(['ring', 'inline'] as const)(
    'drives a point through a router (%s) with every nameservice in use',
    async (handoff) => {
      const directory = mkdtempSync(join(tmpdir(), 'scale-'));
      const cores = String(readAllowedCores()[0]);
      const bench: Bench = {
        handoff,
        routerMain: ROUTER_SOURCES,
        routerCores: cores,
        loadCores: readAllowedCores().join(','),
        seconds: 1,
        directory,
        env: process.env,
      };
      const point: Point = { ...BASE, nameservices: 3, mounts: 10, connections: 12, users: 2, replyBytes: 3_000 };
      try {
        const running = await startSetup(bench, point);
        const sample = await measurePoint(bench, running, point, 0);
        expect(sample.driven.firstError).toBe('');
        expect(sample.driven.errors).toBe(0);
        expect(sample.driven.callsPerSecond).toBeGreaterThan(0);
        expect(sample.namenodeBusy).toBeGreaterThan(0);
        expect(sample.callsTogether).toBeGreaterThanOrEqual(1);
        expect(sample.callsTogether).toBeLessThanOrEqual(12);
        expect(sample.cpuMicrosPerCall).toBeGreaterThan(0);
        // Each user has connections of its own to each nameservice.
        expect(sample.namenodeConnections).toBeGreaterThanOrEqual(6);
        const { acceptor, worker, other } = sample.shares;
        expect(acceptor + worker + other).toBeCloseTo(1, 6);
        expect(acceptor).toBeGreaterThan(0);
        expect(worker > 0).toBe(handoff === 'ring');
        const open = await measurePoint(bench, running, point, 500);
        expect(open.driven.errors).toBe(0);
        expect(open.ratePerSecond).toBe(500);
        expect(open.driven.callsPerSecond).toBeLessThanOrEqual(501);
        await stopSetup(running);
      } finally {
        await stopAll();
        rmSync(directory, { recursive: true, force: true });
      }
    },
  );
});

describe('bench:scale', () => {
  it.each([
    [['--only', 'nothing'], /--only nothing: one or more of connections, connections16, mounts/],
    [['--handoff', 'none'], /--handoff none: one or more of ring, inline/],
    [['--rounds', '0'], /--rounds 0: a number from 1/],
    [['--frob'], /frob/],
  ])('refuses %j', (args, message) => {
    const { status, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/ {4}at /);
    expect(status).toBe(2);
  });
});
