import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Endpoint } from './support.ts';
import { ENDPOINT, Rig, Shell, startEndpoint } from './support.ts';

/** A shell loop runs on while its active NameNode fails over, stops, hangs: no command fails. */

const MOUNT = '/data0';
const ROUNDS_BEFORE = 3;
const ROUNDS_AFTER = 5;
/** The slowest command of a switch: well below the 120 s at which a client gives up. */
const LONGEST_COMMAND_MS = 60_000;
/** Longer than the time after which a silent NameNode is probed. */
const SLOW_CALL_MS = 60_000;

let rig: Rig;
let endpoint: Endpoint;
let shell: Shell;

beforeAll(async () => {
  rig = await Rig.start({ mounts: [`${MOUNT}=ns0:/target`, '/data1=ns1:/data1'] });
  await rig.makeTargets(['ns0:/target', 'ns1:/data1']);
  endpoint = await startEndpoint(rig);
  shell = await Shell.start(rig, endpoint.uri);
});

afterAll(async () => {
  await shell?.[Symbol.asyncDispose]();
  await endpoint?.[Symbol.asyncDispose]();
  await rig?.[Symbol.asyncDispose]();
});

interface LoopReport {
  commands: number;
  slowestMs: number;
  readonly failures: string[];
}

/** One round makes, writes, renames, reads and deletes: a lost, doubled or failed call shows in a later one. */
async function runRound(commands: Shell, dir: string, report: LoopReport): Promise<void> {
  for (const args of [
    ['-mkdir', dir],
    ['-put', `${rig.home}/rig.json`, `${dir}/a`],
    ['-mv', `${dir}/a`, `${dir}/b`],
    ['-cat', `${dir}/b`],
    ['-ls', dir],
    ['-rm', '-r', '-skipTrash', dir],
  ]) {
    const { code, err, ms } = await commands.run(args, { limitMs: 150_000 });
    report.commands++;
    report.slowestMs = Math.max(report.slowestMs, ms);
    if (code !== 0) report.failures.push(`${args.join(' ')}: ${err.trimEnd()}`);
  }
}

/** Runs rounds; after the third the disturbance begins, and the loop goes on until it has been over for some rounds. */
async function loopDuring(name: string, disturb: () => Promise<void>): Promise<LoopReport> {
  const report: LoopReport = { commands: 0, slowestMs: 0, failures: [] };
  let round = 0;
  const next = (): Promise<void> => runRound(shell, `${MOUNT}/${name}-${round++}`, report);
  while (round < ROUNDS_BEFORE) await next();
  let over = false;
  const disturbed = disturb().finally(() => {
    over = true;
  });
  while (!over) await next();
  await disturbed;
  for (let i = 0; i < ROUNDS_AFTER; i++) await next();
  console.log(`${name}: ${report.commands} commands, slowest ${report.slowestMs} ms`);
  return report;
}

function expectUndisturbed(report: LoopReport): void {
  expect(report.failures, endpoint.log).toEqual([]);
  expect(report.slowestMs).toBeLessThan(LONGEST_COMMAND_MS);
}

describe.skipIf(ENDPOINT !== 'switchyard')('a shell loop', () => {
  it('while the active fails over, and back', async () => {
    const report = await loopDuring('failover', async () => {
      await rig.ctl({ op: 'failover', ns: 'ns0', to: 'nn1' });
      await runRound(shell, `${MOUNT}/between`, { commands: 0, slowestMs: 0, failures: [] });
      await rig.ctl({ op: 'failover', ns: 'ns0', to: 'nn0' });
    });
    expectUndisturbed(report);
  });

  it('while the active stops, and the other takes over some seconds later', async () => {
    const report = await loopDuring('stop', async () => {
      await rig.ctl({ op: 'stop', ns: 'ns0', nn: 'nn0' });
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      await rig.ctl({ op: 'transition', ns: 'ns0', nn: 'nn1', to: 'active' });
    });
    expectUndisturbed(report);
    await rig.ctl({ op: 'start', ns: 'ns0', nn: 'nn0' });
    await rig.ctl({ op: 'failover', ns: 'ns0', to: 'nn0' });
  });

  it('while one nameservice is down, the other answers at once', async () => {
    await rig.ctl({ op: 'stop', ns: 'ns1', nn: 'nn0' });
    await rig.ctl({ op: 'stop', ns: 'ns1', nn: 'nn1' });
    await using other = await Shell.start(rig, endpoint.uri);
    const waiting = other.run(['-touchz', '/data1/late'], { limitMs: 150_000 });
    waiting.catch(() => {});
    const report: LoopReport = { commands: 0, slowestMs: 0, failures: [] };
    for (let i = 0; i < 3; i++) await runRound(shell, `${MOUNT}/isolated-${i}`, report);
    expect(report.failures).toEqual([]);
    expect(report.slowestMs).toBeLessThan(5_000);
    await rig.ctl({ op: 'start', ns: 'ns1', nn: 'nn0' });
    await rig.ctl({ op: 'start', ns: 'ns1', nn: 'nn1' });
    await rig.ctl({ op: 'transition', ns: 'ns1', nn: 'nn0', to: 'active' });
    // The command that met two dead NameNodes waited for a new active inside its budget.
    expect((await waiting).err).toBe('');
    await shell.ok(['-test', '-e', '/data1/late']);
  });

  // The write lock keeps the summary waiting, while the NameNode still answers what needs no lock: slow, not hung.
  it('a slow call is neither cut nor repeated, also while the other nameservice fails over', async () => {
    const counted = async (): Promise<number> => {
      const active = await rig.active('ns0');
      const metrics = await rig.ctl({ op: 'metrics', ns: 'ns0', nn: active.nn });
      return (metrics as { calls: Record<string, number> }).calls['getContentSummary'] ?? 0;
    };
    const { nn } = await rig.active('ns0');
    const before = await counted();
    await rig.ctl({ op: 'hang', ns: 'ns0', nn, mode: 'lock' });
    try {
      const summary = shell.run(['-count', MOUNT], { limitMs: 110_000 });
      summary.catch(() => {});
      await rig.ctl({ op: 'failover', ns: 'ns1', to: 'nn1' });
      await using other = await Shell.start(rig, endpoint.uri);
      const until = performance.now() + SLOW_CALL_MS;
      while (performance.now() < until) await other.ok(['-test', '-d', '/data1']);
      await rig.ctl({ op: 'failover', ns: 'ns1', to: 'nn0' });
      await rig.ctl({ op: 'resume', ns: 'ns0', nn, mode: 'lock' });
      const { code, err, ms } = await summary;
      expect(err).toBe('');
      expect(code).toBe(0);
      expect(ms).toBeGreaterThan(SLOW_CALL_MS - 1_000);
    } finally {
      await rig.ctl({ op: 'resume', ns: 'ns0', nn, mode: 'lock' });
    }
    expect(await counted()).toBe(before + 1);
  });

  it('while the active hangs, and the other takes over', async () => {
    const report = await loopDuring('hang', async () => {
      await rig.ctl({ op: 'hang', ns: 'ns0', nn: 'nn0' });
      await rig.ctl({ op: 'transition', ns: 'ns0', nn: 'nn0', to: 'standby' });
      await rig.ctl({ op: 'transition', ns: 'ns0', nn: 'nn1', to: 'active' });
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    });
    expectUndisturbed(report);
    await rig.ctl({ op: 'resume', ns: 'ns0', nn: 'nn0' });
  });
});
