/**
 * Bench of a mount table that changes while calls are served.
 *
 *   npm run bench:updates -- [--only forwarding,reach,memory] [--variants ring,inline] [--through store,admin] [--rounds N] [--seconds S]
 *     [--entries N] [--updates N] [--rate N] [--adds N] [--minutes M] [--quick] [--json FILE] [--markdown FILE]
 *
 * It reports and does not judge: exit 1 only when calls or updates failed. ../README.md says what each number means.
 */

import { writeFileSync } from 'node:fs';
import { readArguments, readNames, readNumber, readWhole } from '../harness/arguments.ts';
import { stopAll } from '../harness/children.ts';
import { type Driven, drive } from '../harness/drive.ts';
import { describeMachine, readMachine, splitCores, toJson } from '../harness/machine.ts';
import { readCpuSeconds, readRssBytes } from '../harness/process-meter.ts';
import { makeRunDirectory } from '../harness/run-directory.ts';
import { requireZooKeeper } from '../harness/running-zookeeper.ts';
import {
  type ForwardingFigures,
  type MemoryFigures,
  type Pair,
  type ReachFigures,
  summariseMemory,
  summarisePairs,
  summariseReach,
} from './figures.ts';
import { pathsBelow } from './mount-table.ts';
import { measureReach } from './reach.ts';
import { type Figures, hasFailures, markdownReport, printReport } from './report.ts';
import { type Handoff, type Router, type Setup, startMember, startSetup, Writer } from './setup.ts';

const PARTS = ['forwarding', 'reach', 'memory'] as const;
const VARIANTS = ['ring', 'inline'] as const;
/** Where updates are made: in ZooKeeper, as by another router, or through the admin port of the router that is measured. */
const WAYS = ['store', 'admin'] as const;
type Way = (typeof WAYS)[number];
const CONNECTIONS = 16;
const WARMUP_SECONDS = 0.5;
const LOOK_MS = 1_000;
const SECONDS_PER_MINUTE = 60;

const values = readArguments({
  only: { type: 'string' },
  variants: { type: 'string' },
  through: { type: 'string', default: 'store' },
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  entries: { type: 'string' },
  updates: { type: 'string' },
  rate: { type: 'string' },
  adds: { type: 'string' },
  minutes: { type: 'string' },
  quick: { type: 'boolean', default: false },
  json: { type: 'string' },
  markdown: { type: 'string' },
});
const quick = values['quick'] === true;
const parts = readNames(values, 'only', PARTS);
const variants = readNames(values, 'variants', VARIANTS);
const ways = readNames(values, 'through', WAYS);
const rounds = readWhole(values, 'rounds', 1, 1_000, quick ? 1 : 9);
const seconds = readNumber(values, 'seconds', 0.1, 3_600, quick ? 1 : 5);
const entries = readWhole(values, 'entries', 1, 100_000, 10_000);
const updates = readWhole(values, 'updates', 1, 10_000, 100);
const rate = readWhole(values, 'rate', 1, 100_000, 2_000);
const adds = readWhole(values, 'adds', 1, 100_000, quick ? 5 : 100);
const minutes = readNumber(values, 'minutes', 0.05, 1_440, quick ? 0.1 : 10);
requireZooKeeper();
const cores = splitCores();
const directory = makeRunDirectory('updates');
const machine = readMachine();

try {
  const conditions =
    `${describeMachine(machine)}; router on core ${cores.peerCores}, load, NameNode, ZooKeeper and writer on core ${cores.toolCores}; ` +
    `${entries} mount entries; ${rate} calls/s from ${CONNECTIONS} connections; ${updates} updates/s; median of ${rounds} interleaved pairs of ${seconds} s`;
  process.stdout.write(`${conditions}\n\n`);
  const setup = await startSetup(entries, cores, directory);
  const figures: Figures = {
    forwarding: parts.includes('forwarding') ? await measureForwarding(setup) : [],
    reach: parts.includes('reach') ? await measureReaches(setup) : [],
    memory: parts.includes('memory') ? await measureMemory(setup) : [],
  };
  process.stdout.write(`${printReport(figures)}\n`);
  if (typeof values['json'] === 'string') {
    writeFileSync(values['json'], toJson({ ...machine, rounds, seconds, entries, updates, rate, ...figures }));
  }
  if (typeof values['markdown'] === 'string') writeFileSync(values['markdown'], markdownReport(conditions, figures));
  process.exitCode = hasFailures(figures) ? 1 : 0;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopAll();
}

async function measureForwarding(setup: Setup): Promise<ForwardingFigures[]> {
  const figures: ForwardingFigures[] = [];
  for (const [variant, way] of variants.flatMap((each) => ways.map((one): [Handoff, Way] => [each, one]))) {
    const router = await startMember(setup, `forwarding-${variant}-${way}`, variant, cores.peerCores);
    const writer = await Writer.start(setup, updates, way === 'admin' ? router.adminPort : 0);
    const load = (): Promise<Driven> => driveRouter(router, seconds);
    const pairs: Pair[] = [];
    // What is compiled and taken for good in the first seconds is no round's.
    await writer.during(load);
    for (let round = 0; round < rounds; round++) {
      progress(`forwarding, ${variant}, updates through ${way}: pair ${round + 1} of ${rounds}`);
      // Each pair begins with the other one, so that what drifts meets both.
      const before = round % 2 === 0 ? await load() : null;
      const { result, written } = await writer.during(load);
      pairs.push({
        without: before ?? (await load()),
        with: result,
        updatesPerSecond: written.made / written.seconds,
        failedUpdates: written.failed,
      });
    }
    figures.push(summarisePairs(`${variant}, updates through ${way}`, pairs));
    await writer.stop();
    await router.child.stop();
  }
  return figures;
}

async function measureReaches(setup: Setup): Promise<ReachFigures[]> {
  const figures: ReachFigures[] = [];
  for (const variant of variants) {
    progress(`reach, ${variant}`);
    const one = await startMember(setup, `one-${variant}`, variant, cores.toolCores);
    const other = await startMember(setup, `other-${variant}`, variant, cores.peerCores);
    // The first of them meets code that was never run.
    await measureReach(one, other, 1);
    figures.push(summariseReach(variant, await measureReach(one, other, adds)));
    await one.child.stop();
    await other.child.stop();
  }
  return figures;
}

/** Resident size under updates, first without calls, then with them. */
async function measureMemory(setup: Setup): Promise<MemoryFigures[]> {
  const figures: MemoryFigures[] = [];
  for (const variant of variants) {
    const router = await startMember(setup, `memory-${variant}`, variant, cores.peerCores);
    const writer = await Writer.start(setup, updates, 0);
    for (const traffic of [false, true]) {
      const name = `${variant}, ${traffic ? `${rate} calls/s` : 'no calls'}`;
      progress(`memory, ${name}: ${minutes} minutes`);
      const bytes: number[] = [];
      const cpuSeconds = readCpuSeconds(router.pid);
      const looks = setInterval(() => bytes.push(readRssBytes(router.pid)), LOOK_MS);
      const { result, written } = await writer.during(() =>
        traffic ? driveRouter(router, minutes * SECONDS_PER_MINUTE) : pause(minutes * SECONDS_PER_MINUTE * 1_000),
      );
      clearInterval(looks);
      figures.push(
        summariseMemory(name, bytes, {
          minutes,
          cpuShare: (readCpuSeconds(router.pid) - cpuSeconds) / written.seconds,
          updatesPerSecond: written.made / written.seconds,
          failedUpdates: written.failed,
          errors: result?.errors ?? 0,
        }),
      );
    }
    await writer.stop();
    await router.child.stop();
  }
  return figures;
}

function driveRouter(router: Router, loadSeconds: number): Promise<Driven> {
  return drive({
    port: router.port,
    connections: CONNECTIONS,
    inFlight: 1,
    ratePerSecond: rate,
    users: 1,
    seconds: loadSeconds,
    warmupSeconds: WARMUP_SECONDS,
    paths: pathsBelow(entries),
    watchedPid: router.pid,
    cores: cores.toolCores,
    env: directory.env,
  });
}

async function pause(ms: number): Promise<null> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return null;
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}
