import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { type parseFlags, UsageError } from '../../commands/usage.ts';
import { parseAddress } from '../../config/address.ts';
import { ValueError } from '../../config/config-error.ts';
import { readDescriptorLimit } from '../../control/descriptors.ts';
import { DEFAULT_MIX, parseDistribution, parseMix, READ_PATHS_MIX, refuseUnplaced } from './mix.ts';
import type { LoadPlan, Loop, Target } from './plan.ts';
import { parseTargets, readPaths } from './targets.ts';
import { parseCount, parseDuration, parseRate } from './values.ts';
import { roundWarmupMs } from './warmup.ts';

/** Flags that say what the load is: readPlan understands them all. */
export const PLAN_FLAGS = {
  fs: { type: 'string' },
  rate: { type: 'string' },
  closed: { type: 'boolean' },
  connections: { type: 'string' },
  'in-flight': { type: 'string' },
  user: { type: 'string' },
  users: { type: 'string' },
  mix: { type: 'string' },
  paths: { type: 'string' },
  'path-distribution': { type: 'string' },
  mounts: { type: 'string' },
  files: { type: 'string' },
  duration: { type: 'string' },
  calls: { type: 'string' },
  warmup: { type: 'string' },
  ramp: { type: 'string' },
  timeout: { type: 'string' },
  threads: { type: 'string' },
  'observer-reads': { type: 'boolean' },
  pid: { type: 'string' },
  seed: { type: 'string' },
  spin: { type: 'boolean' },
} as const;

/** Flags that say what becomes of the result. */
export const OUTPUT_FLAGS = {
  json: { type: 'string' },
  hgrm: { type: 'string' },
  hlog: { type: 'string' },
  html: { type: 'string' },
  expect: { type: 'string' },
} as const;

/** All flags of `load` itself; its subcommands add their own. */
export const LOAD_FLAGS = { ...PLAN_FLAGS, ...OUTPUT_FLAGS } as const;

export type PlanFlags = ReturnType<typeof parseFlags<typeof PLAN_FLAGS>>;

/** What a subcommand decides instead of the flags. */
export interface PlanGiven {
  /** Takes the place of --rate and --closed, which are then refused. */
  readonly loop?: Loop;
}

const MAX_CONNECTIONS = 60_000;
const MAX_IN_FLIGHT = 65_536;
/** Calls without a reply of all connections together. */
const MAX_SLOTS = 8_388_608;
const MAX_USERS = 100_000;
const MAX_THREADS = 64;
const MAX_CALLS = 10_000_000_000;
const MAX_FILES = 1_000_000;
const MAX_SEED = 0xffffffff;
export const MAX_DURATION_MS = 48 * 3_600_000;
const MAX_START_MS = 3_600_000;
const MIN_TIMEOUT_MS = 10;
/** Latencies beyond are not told apart. */
const MAX_TIMEOUT_MS = 200_000;
/** Descriptors of this process beside its connections. */
const OWN_DESCRIPTORS = 64;

const DEFAULT_CONNECTIONS = 64;
const DEFAULT_IN_FLIGHT = 1024;
const DEFAULT_FILES = 1000;
const DEFAULT_DURATION_MS = 60_000;
const DEFAULT_WARMUP_MS = 5_000;
const DEFAULT_TIMEOUT_MS = 10_000;

/** The checked plan of the flags. Throws UsageError for what cannot be run. */
export function readPlan(flags: PlanFlags, given: PlanGiven = {}): LoadPlan {
  const { host, port, directory } = readEndpoint(flags.fs);
  const loop = readLoop(flags, given.loop);
  if (flags.spin === true && loop.kind === 'closed') {
    throw new UsageError('--spin has no meaning with --closed: there calls are not due at a time, replies make them');
  }
  const owner = flags.user ?? defaultUser();
  const users = readUsers(owner, flags.users);
  const connections = parseCount('--connections', flags.connections, {
    otherwise: Math.max(DEFAULT_CONNECTIONS, users.length),
    max: MAX_CONNECTIONS,
  });
  refuseTooFewDescriptors(connections);
  if (users.length > connections) {
    throw new UsageError(
      `--users ${users.length}: a connection has one user, and there are ${connections}; give --connections ${users.length} or more`,
    );
  }
  const inFlight = readInFlight(flags['in-flight'], loop, connections);
  const threads = parseCount('--threads', flags.threads, { otherwise: 1, max: MAX_THREADS });
  if (threads > connections) {
    throw new UsageError(`--threads ${threads}: each needs a connection, and there are ${connections}`);
  }
  const { durationMs, calls } = readLength(flags, loop, threads);
  const targets = readTargets(flags.mounts, directory);
  const paths = flags.paths === undefined ? [] : readPaths(flags.paths);
  const filesPerTarget = readFiles(flags.files, targets.length);
  return {
    host,
    port,
    loop,
    connections,
    inFlight,
    users,
    owner,
    mix: readMix(flags.mix, loop, targets, paths),
    targets,
    paths,
    distribution: parseDistribution(flags['path-distribution']),
    filesPerTarget,
    warmupMs: readWarmup(flags.warmup, loop),
    durationMs,
    calls,
    timeoutMs: parseDuration('--timeout', flags.timeout, {
      otherwise: DEFAULT_TIMEOUT_MS,
      min: MIN_TIMEOUT_MS,
      max: MAX_TIMEOUT_MS,
    }),
    threads,
    observerReads: flags['observer-reads'] === true,
    watchedPid: readPid(flags.pid),
    seed: parseCount('--seed', flags.seed, { otherwise: 1, min: 0, max: MAX_SEED }),
    ...(flags.spin === true ? { spin: true } : {}),
  };
}

function readWarmup(text: string | undefined, loop: Loop): number {
  const otherwise = loop.kind === 'replay' ? 0 : DEFAULT_WARMUP_MS;
  const givenMs = parseDuration('--warmup', text, { otherwise, max: MAX_START_MS });
  return roundWarmupMs(givenMs, loop.kind === 'open' ? loop.rampMs : 0);
}

/** hdfs://HOST:PORT[/directory]; directory '' when there is none. */
function readEndpoint(fs: string | undefined): { host: string; port: number; directory: string } {
  if (fs === undefined) throw new UsageError('give --fs hdfs://HOST:PORT, the router or NameNode to call');
  const [, authority, path = ''] = /^hdfs:\/\/([^/]*)(\/.*)?$/i.exec(fs.trim()) ?? [];
  if (authority === undefined || authority === '') {
    throw new UsageError(`--fs ${fs}: write hdfs://HOST:PORT, the router or NameNode to call`);
  }
  const { host, port } = readAuthority(fs, authority);
  if (port === 0) throw new UsageError(`--fs ${fs}: the port is missing; write hdfs://HOST:PORT`);
  return { host, port, directory: path.replace(/\/+$/, '') };
}

function readAuthority(fs: string, authority: string): { host: string; port: number } {
  try {
    return parseAddress(authority, 0);
  } catch (error) {
    if (error instanceof ValueError) throw new UsageError(`--fs ${fs}: ${error.message}`);
    throw error;
  }
}

function readLoop(flags: PlanFlags, given: Loop | undefined): Loop {
  const { rate, closed, ramp } = flags;
  if (given !== undefined) {
    for (const name of ['rate', 'closed'] as const) {
      if (flags[name] !== undefined) throw new UsageError(`--${name} has no meaning here: leave it out`);
    }
    if (given.kind !== 'open' && ramp !== undefined) throw new UsageError('--ramp has no meaning here: leave it out');
    return given.kind === 'open' && ramp !== undefined ? { ...given, rampMs: readRamp(ramp) } : given;
  }
  if (closed === true) {
    if (rate !== undefined) throw new UsageError('--rate and --closed exclude each other: a closed loop has no rate');
    if (ramp !== undefined) throw new UsageError('--ramp needs --rate: a closed loop has no rate that could grow');
    return { kind: 'closed' };
  }
  if (rate === undefined) {
    throw new UsageError('give --rate R (calls per second), or --closed to call again as soon as a reply is there');
  }
  return { kind: 'open', callsPerSecond: parseRate('--rate', rate), rampMs: readRamp(ramp) };
}

function readRamp(ramp: string | undefined): number {
  return parseDuration('--ramp', ramp, { otherwise: 0, max: MAX_START_MS });
}

/** A user that NameNodes see; with --users N they are NAME-0 … NAME-(N-1). */
function readUsers(name: string, users: string | undefined): string[] {
  if (!/^[^\s:/@,]{1,64}$/.test(name)) {
    throw new UsageError(`--user ${name}: a user name has 1 to 64 characters, without blanks, ':', '/', '@' and ','`);
  }
  const count = parseCount('--users', users, { otherwise: 1, max: MAX_USERS });
  return count === 1 ? [name] : Array.from({ length: count }, (_, index) => `${name}-${index}`);
}

function defaultUser(): string {
  const given = process.env['HADOOP_USER_NAME'];
  if (given !== undefined && given !== '') return given;
  try {
    return userInfo().username;
  } catch {
    throw new UsageError('the user of this process has no name; give --user NAME');
  }
}

function refuseTooFewDescriptors(connections: number): void {
  const limit = readDescriptorLimit();
  const need = connections + OWN_DESCRIPTORS;
  if (limit === null || need <= limit) return;
  throw new UsageError(
    `--connections ${connections}: needs ${need} open files, the limit is ${limit}; raise it (ulimit -n ${need}) or ask for fewer`,
  );
}

function readInFlight(text: string | undefined, loop: Loop, connections: number): number {
  const most = Math.floor(MAX_SLOTS / connections);
  const otherwise = loop.kind === 'closed' ? 1 : Math.min(DEFAULT_IN_FLIGHT, most);
  const inFlight = parseCount('--in-flight', text, { otherwise, max: MAX_IN_FLIGHT });
  if (inFlight > most) {
    throw new UsageError(
      `--in-flight ${inFlight}: ${connections} connections may have ${MAX_SLOTS} calls in flight together, ${most} each`,
    );
  }
  return inFlight;
}

function readLength(
  { duration, calls }: PlanFlags,
  loop: Loop,
  threads: number,
): { durationMs: number | null; calls: number | null } {
  if (loop.kind === 'replay') {
    for (const [name, value] of Object.entries({ duration, calls })) {
      if (value !== undefined) throw new UsageError(`--${name} has no meaning here: a replay ends with its log`);
    }
    return { durationMs: null, calls: null };
  }
  if (calls === undefined) {
    const limits = { otherwise: DEFAULT_DURATION_MS, min: 1, max: MAX_DURATION_MS };
    return { durationMs: parseDuration('--duration', duration, limits), calls: null };
  }
  if (duration !== undefined) {
    throw new UsageError('--duration and --calls exclude each other: the run ends with the one or the other');
  }
  const counted = parseCount('--calls', calls, { otherwise: 0, max: MAX_CALLS });
  if (counted < threads) throw new UsageError(`--calls ${counted}: each of the ${threads} --threads needs one`);
  return { durationMs: null, calls: counted };
}

function readTargets(mounts: string | undefined, directory: string): Target[] {
  const texts = mounts === undefined ? [] : mounts.split(',');
  if (directory !== '') texts.unshift(directory);
  return parseTargets(texts, `switchyard-load-${randomBytes(4).toString('hex')}`);
}

function readFiles(text: string | undefined, targets: number): number {
  const most = Math.floor(MAX_FILES / Math.max(1, targets));
  const files = parseCount('--files', text, { otherwise: Math.min(DEFAULT_FILES, most), max: MAX_FILES });
  if (files > most) {
    throw new UsageError(`--files ${files}: ${targets} directories may have ${MAX_FILES} files together, ${most} each`);
  }
  return files;
}

function readMix(text: string | undefined, loop: Loop, targets: readonly Target[], paths: readonly string[]) {
  if (loop.kind === 'replay') {
    if (text !== undefined) throw new UsageError('--mix has no meaning here: a replay makes the calls of its log');
    return [];
  }
  const otherwise = targets.length === 0 ? READ_PATHS_MIX : DEFAULT_MIX;
  const mix = text === undefined ? otherwise : parseMix(text);
  refuseUnplaced(mix, targets, paths);
  return mix;
}

function readPid(text: string | undefined): number | null {
  if (text === undefined) return null;
  const pid = parseCount('--pid', text, { otherwise: 0, max: 2 ** 31 });
  if (!existsSync(`/proc/${pid}/stat`)) {
    throw new UsageError(`--pid ${pid}: no process of this machine has that number`);
  }
  return pid;
}
