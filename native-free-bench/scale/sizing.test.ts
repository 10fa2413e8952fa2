import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { markdownTable } from '../harness/table.ts';
import { FLEETS, type Fleet, RULES, sizeFleet } from './fleet.ts';
import type { CapacityModel, ScaleResult } from './result.ts';
import { readScaleResult } from './result-file.ts';
import { printSizing, renderSizingPage } from './sizing-page.ts';

const NO_ERROR = { points: 3, median: 0.05, largest: 0.1 };
/** Each call costs 10 µs, whatever else. */
const MODEL: CapacityModel = {
  cpu: { call: 10, client: 0, namenode: 0, wake: 0, cold: 0, spread: 0, table: 0, reply: 0, large: 0 },
  cpuFitError: NO_ERROR,
  cpuHeldOutError: NO_ERROR,
  memory: { base: 100e6, connection: 10_000, inFlight: 1_000, mount: 100, thread: 20e6 },
  memoryFitError: NO_ERROR,
  memoryHeldOutError: NO_ERROR,
  callsPerNamenodeConnection: 50_000,
  shares: { acceptor: 0.5, worker: 0.4, other: 0.1 },
};
const FLEET: Fleet = {
  callsPerSecond: 3_000_000,
  clients: 100_000,
  nameservices: 10,
  usersPerNameservice: 20,
  mounts: 1_000,
  replyBytes: 1_000,
  namenodeMs: 2,
};
const RULES_OF_TEST = { ...RULES, busyShare: 0.5, coresPerRouter: 16, spareRouters: 1 };

const RESULT: ScaleResult = {
  version: 1,
  machine: { processor: 'a processor', cores: 2, kernel: '6.1', node: 'v24' },
  handoff: 'ring',
  rounds: 3,
  seconds: 2,
  axes: [],
  repeated: [1],
  heldOut: [],
  memory: [],
  memoryHeldOut: [],
  model: MODEL,
  modelMissing: '',
};

describe('sizeFleet', () => {
  it('adds up cores, routers, connections and memory', () => {
    // 3,000,000 · 10 µs = 30 cores, 60 at half load: 30 acceptors, 24 workers, 6 for the rest; 4 routers of 16 cores and a spare.
    expect(sizeFleet(MODEL, FLEET, RULES_OF_TEST)).toEqual({
      cpuMicrosPerCall: 10,
      acceptorCores: 30,
      workerCores: 24,
      otherCores: 6,
      routers: 5,
      acceptorsPerRouter: 8,
      workersPerRouter: 6,
      namenodeConnectionsNeeded: 6,
      namenodeConnectionsByUsers: 100,
      callsInFlight: 6_000,
      bytesPerRouter: 100e6 + 25_000 * 10_000 + 1_500 * 1_000 + 1_000 * 100 + 14 * 20e6,
      bytesTogether: 5 * (100e6 + 25_000 * 10_000 + 1_500 * 1_000 + 1_000 * 100 + 14 * 20e6),
    });
  });

  it('counts the connections of one acceptor, not of the fleet', () => {
    const model = { ...MODEL, cpu: { ...MODEL.cpu, cold: 5 } };
    const sizing = sizeFleet(model, FLEET, RULES_OF_TEST);
    const perAcceptor = FLEET.clients / sizing.acceptorCores;
    expect(sizing.cpuMicrosPerCall).toBeCloseTo(10 + 5 * Math.log10(perAcceptor / 64), 0);
  });

  it('divides pairs of user and nameservice among the workers of a router', () => {
    const model = { ...MODEL, cpu: { ...MODEL.cpu, spread: 5 } };
    const fleet = { ...FLEET, usersPerNameservice: 1_000 };
    const sizing = sizeFleet(model, fleet, RULES_OF_TEST);
    const pairs = (fleet.nameservices * fleet.usersPerNameservice) / sizing.workersPerRouter;
    expect(sizing.cpuMicrosPerCall).toBeCloseTo(10 + 5 * Math.log10(pairs / 64), 6);
  });

  it('has at least a router and a spare one, a core of each kind and a connection', () => {
    const sizing = sizeFleet(MODEL, { ...FLEET, callsPerSecond: 1 }, RULES_OF_TEST);
    expect(sizing).toMatchObject({ routers: 2, acceptorCores: 1, workerCores: 1, namenodeConnectionsNeeded: 1 });
  });
});

describe('tables', () => {
  it('have a column for each fleet', () => {
    const lines = printSizing(MODEL, FLEETS, markdownTable).split('\n');
    expect(lines[0]).toBe('| calls/s at the busiest time | 100,000 | 1,000,000 | 10,000,000 |');
    for (const line of lines) expect(line.split('|').length).toBe(6);
  });

  it('stand in the page with the machine, the formulas and the errors', () => {
    const page = renderSizingPage(RESULT);
    expect(page).toContain(printSizing(MODEL, FLEETS, markdownTable));
    expect(page).toContain('a processor, 2 cores, Linux 6.1, Node v24');
    expect(page).toContain('| `connection` | 10.0 KB |');
    expect(page).toContain('5 % (median of 3; largest 10 %)');
    expect(page).not.toMatch(/NaN|undefined|Infinity/);
    expect(() => renderSizingPage({ ...RESULT, model: null, modelMissing: 'nothing measured' })).toThrow(
      /nothing measured/,
    );
  });
});

describe('sizing command', () => {
  const script = fileURLToPath(new URL('./sizing.ts', import.meta.url));
  const run = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });

  it('prints the table of a model file for the fleet that is asked for', () => {
    const directory = mkdtempSync(join(tmpdir(), 'sizing-'));
    try {
      const file = join(directory, 'scale.json');
      writeFileSync(file, JSON.stringify(RESULT));
      expect(readScaleResult(file)).toEqual(RESULT);
      const { status, stdout, stderr } = run('--model', file, '--calls', '3000000', '--users', '20');
      expect(stderr).toBe('');
      expect(status).toBe(0);
      expect(stdout).toMatch(/calls\/s at the busiest time +3,000,000\n/);
      expect(stdout).toMatch(/acceptor cores +25\n/);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it.each([
    [['--model', 'no-such-file.json'], /no-such-file\.json: it cannot be read; make one with `npm run bench:scale/],
    [['--model', script], /it is not JSON/],
    [['--calls', 'many'], /--calls many: a number from 1 to/],
    [['--write', '--calls', '5'], /--calls does not go with --write/],
    [['--frob'], /frob/],
  ])('refuses %j', (args, message) => {
    const { status, stderr } = run(...args);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/ {4}at /);
    expect(status).toBe(2);
  });
});
