import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { markdownTable } from '../harness/table.ts';
import { FLEETS, type Fleet, RULES, sizeFleet } from './fleet.ts';
import { AXES, HELD_OUT, MEMORY_HELD_OUT, MEMORY_POINTS, type MemoryPoint, type Point } from './points.ts';
import type { CapacityModel, MemoryResult, PointResult, ScaleResult } from './result.ts';
import { findGap, readScaleResult } from './result-file.ts';
import { printSensitivity, printSizing, renderSizingPage } from './sizing-page.ts';

const NO_ERROR = { points: 3, median: 0.05, largest: 0.1, signedMedian: 0.05, signedOfPoints: [0.05, -0.02, 0.1] };
const FREE = { call: 0, client: 0, namenode: 0, wake: 0, cold: 0, spread: 0, table: 0, reply: 0, large: 0 };
/** Each call costs 10 µs, whatever else. */
const MODEL: CapacityModel = {
  cpu: { acceptor: { ...FREE, call: 5 }, worker: { ...FREE, call: 4 }, other: { ...FREE, call: 1 } },
  cpuFitError: NO_ERROR,
  cpuHeldOutError: NO_ERROR,
  cpuMargin: 1,
  memory: { base: 100e6, connection: 10_000, inFlight: 1_000, mount: 100, thread: 20e6 },
  memoryFitError: NO_ERROR,
  memoryHeldOutError: NO_ERROR,
  callsPerNamenodeConnection: 50_000,
  namenodeConnectionLimit: '',
  together: 32,
  threadsPerPair: 2,
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
  version: 2,
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
  failures: [],
};

describe('sizeFleet', () => {
  it('adds up cores, routers, connections and memory', () => {
    // 3,000,000 · 10 µs = 30 cores, 60 at half load: 30 acceptors, 24 workers, 6 for the rest; 4 routers of 16 cores and a spare.
    expect(sizeFleet(MODEL, FLEET, RULES_OF_TEST)).toEqual({
      cpuMicrosPerCall: 10,
      callsPerAcceptorCore: 100_000,
      callsPerWorkerCore: 125_000,
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
    const model = { ...MODEL, cpu: { ...MODEL.cpu, acceptor: { ...FREE, call: 5, cold: 5 } } };
    const sizing = sizeFleet(model, FLEET, RULES_OF_TEST);
    const perAcceptor = FLEET.clients / sizing.acceptorCores;
    expect(sizing.cpuMicrosPerCall).toBeCloseTo(10 + 5 * Math.log10(perAcceptor / 64), 0);
  });

  it('divides pairs of user and nameservice among the workers of a router', () => {
    const model = { ...MODEL, cpu: { ...MODEL.cpu, worker: { ...FREE, call: 4, spread: 5 } } };
    const fleet = { ...FLEET, usersPerNameservice: 1_000 };
    const sizing = sizeFleet(model, fleet, RULES_OF_TEST);
    const pairs = (fleet.nameservices * fleet.usersPerNameservice) / sizing.workersPerRouter;
    expect(sizing.cpuMicrosPerCall).toBeCloseTo(10 + 5 * Math.log10(pairs / 64), 6);
  });

  it('multiplies all CPU by the margin', () => {
    const sizing = sizeFleet({ ...MODEL, cpuMargin: 2 }, FLEET, RULES_OF_TEST);
    expect(sizing).toMatchObject({ cpuMicrosPerCall: 20, acceptorCores: 60, workerCores: 48, otherCores: 12 });
    expect(sizing.callsPerAcceptorCore).toBe(50_000);
  });

  it('shares a wake-up among the calls that come at once', () => {
    const model = { ...MODEL, cpu: { ...MODEL.cpu, acceptor: { ...FREE, call: 5, wake: 64 } } };
    expect(sizeFleet(model, FLEET, RULES_OF_TEST).cpuMicrosPerCall).toBeCloseTo(12, 6);
    expect(sizeFleet(model, FLEET, RULES_OF_TEST, 8).cpuMicrosPerCall).toBeCloseTo(18, 6);
  });

  it('has no workers with the inline hand-off', () => {
    const model = { ...MODEL, cpu: { ...MODEL.cpu, worker: FREE }, threadsPerPair: 1 };
    const sizing = sizeFleet(model, FLEET, RULES_OF_TEST);
    expect(sizing).toMatchObject({ workerCores: 0, workersPerRouter: 0 });
    expect(
      sizing.bytesPerRouter -
        sizeFleet({ ...model, memory: { ...MODEL.memory, thread: 0 } }, FLEET, RULES_OF_TEST).bytesPerRouter,
    ).toBeCloseTo(sizing.acceptorsPerRouter * 20e6, -2);
    expect(printSizing(model, [FLEET], markdownTable)).toMatch(/calls\/s of a worker core \| - \|/);
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
    expect(page).toContain(printSensitivity(MODEL, FLEETS, markdownTable));
    expect(page).toContain('a processor, 2 cores, Linux 6.1, Node v24');
    expect(page).toContain('| `connection` | 10.0 KB |');
    expect(page).toContain('5 % (median of 3; largest 10 %; with sign +5 %)');
    expect(page).toContain('+5 %, -2 %, +10 %');
    expect(page).toContain('No margin');
    expect(renderSizingPage({ ...RESULT, model: { ...MODEL, cpuMargin: 1.25 } })).toContain('multiplied by 1.25');
    expect(page).not.toMatch(/NaN|undefined|Infinity/);
    expect(() => renderSizingPage({ ...RESULT, model: null, modelMissing: 'nothing measured' })).toThrow(
      /nothing measured/,
    );
  });
});

describe('what a page can be made from', () => {
  it('is a run in which everything was measured and no call failed', () => {
    const whole = makeWholeResult();
    expect(findGap(whole)).toBe('');
    expect(renderSizingPage(whole)).toContain('Where 64 were allowed, with\n4,096 calls in flight, 4 carried calls.');
    expect(findGap({ ...whole, heldOut: whole.heldOut.slice(1) })).toMatch(/heldOut/);
    expect(findGap({ ...whole, memory: [] })).toMatch(/memory/);
    expect(findGap({ ...whole, heldOut: whole.heldOut.map((held) => ({ ...held, errors: 1 })) })).toMatch(
      /calls failed/,
    );
    expect(findGap({ ...whole, model: null, modelMissing: 'none' })).toMatch(/no capacity model: none/);
  });

  it.each([
    [{ rounds: 1, seconds: 0.5 }, /1 rounds of 0.5 s are too short/],
    [{ failures: ['round 1, 64x1: too slow'] }, /1 loads could not be measured; the first: round 1, 64x1/],
    [{}, /axis connections is not there as a whole/],
  ])('is not %j', (changes, gap) => {
    expect(findGap({ ...RESULT, ...changes })).toMatch(gap);
  });
});

/** A run in which everything was measured. */
function makeWholeResult(): ScaleResult {
  const resultOf = (point: Point): PointResult => ({
    point,
    cpuMicrosPerCall: 10,
    ratio: 1,
    ratioOfRounds: [1, 1, 1],
    callsPerSecond: 60_000,
    p99Micros: 900,
    routerBusy: 0.95,
    loaderBusy: 0.5,
    stubBusy: 0.2,
    othersBusy: 0,
    limit: '',
    ratePerSecond: 0,
    callsTogether: 32,
    namenodeConnections: 4,
    shares: { acceptor: 0.5, worker: 0.4, other: 0.1 },
    errors: 0,
    firstError: '',
  });
  const memoryOf = (point: MemoryPoint): MemoryResult => ({ point, rssBytes: 1e8, predictedBytes: 1e8, error: 0 });
  return {
    ...RESULT,
    axes: AXES.map(({ name, meaning, reference, points }) => ({
      axis: name,
      meaning,
      reference,
      points: points.map(resultOf),
    })),
    heldOut: HELD_OUT.map((point) => ({ ...resultOf(point), predictedMicrosPerCall: 10, error: 0 })),
    memory: MEMORY_POINTS.map(memoryOf),
    memoryHeldOut: MEMORY_HELD_OUT.map(memoryOf),
  };
}

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

  it('does not write the page from a run with gaps', () => {
    const directory = mkdtempSync(join(tmpdir(), 'sizing-'));
    try {
      const file = join(directory, 'scale.json');
      writeFileSync(file, JSON.stringify({ ...RESULT, rounds: 1 }));
      const { status, stderr } = run('--model', file, '--write');
      expect(stderr).toMatch(/1 rounds of 2 s are too short.*npm run bench:scale/);
      expect(status).toBe(2);
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
