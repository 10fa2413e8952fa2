/**
 * The load, a process of its own: real HDFS frames (getFileInfo, 160 bytes) over N connections, in a closed loop of D calls in flight each or
 * in an open loop at R calls a second over all of them.
 *
 *   node loader.ts --port P --clients N --depth D --seconds S [--warmup S] [--cpu-of PID]
 *   node loader.ts --port P --clients N --rate R  --seconds S …
 *   node loader.ts --port P --clients N --depth D --calls N/client [--mark N] [--stay]
 *
 * Prints one JSON object a line: {"event":"mark","calls":…} each N replies, and at the end {"event":"result",…} (see LoadResult). With --stay
 * it then keeps its connections open until it is told to end. Exit 1 when a call failed.
 *
 * Open loop: the calls of one millisecond are due together at its start and go out in one batch. Latency counts from the moment when a call
 * was due, whether the loader or the other end was late.
 */

import { randomBytes } from 'node:crypto';
import { LatencyBuckets } from '../../src/load/thread/latency-buckets.ts';
import { readArguments, readNumber, readWhole, refuse } from './arguments.ts';
import { Load, LoadClient } from './load-client.ts';
import { readCpuSeconds, readDescriptorLimit } from './process-meter.ts';

export interface LoadResult {
  readonly event: 'result';
  /** Replies within the measured time, and that time. */
  readonly calls: number;
  readonly seconds: number;
  readonly callsPerSecond: number;
  /** Latency in µs: from the write (closed loop) or from the due time (open loop). */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  /** Open loop only: from the write. The rest of p50 is the wait for the loader's own timer. */
  readonly sentP50: number;
  readonly sentP99: number;
  readonly errors: number;
  readonly firstError: string;
  /** CPU seconds within the measured time of the process named by --cpu-of (0 without it), and of the loader. */
  readonly cpuSeconds: number;
  readonly loaderCpuSeconds: number;
}

/** Slots of a client in the open loop: calls that may be unanswered before the other end counts as overrun. */
const OPEN_LOOP_SLOTS = 1024;
const TICK_MS = 1;
/** Connections being opened at once. */
const MAX_CONNECTING = 64;
/** Without one reply or connection for this long the run is given up. */
const STALL_MS = 10_000;
/** Descriptors that Node itself needs. */
const OWN_DESCRIPTORS = 64;
const MAX_CLIENTS = 60_000;
const MAX_DEPTH = 4096;

const values = readArguments({
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '' },
  clients: { type: 'string' },
  depth: { type: 'string' },
  rate: { type: 'string' },
  seconds: { type: 'string' },
  warmup: { type: 'string' },
  calls: { type: 'string' },
  mark: { type: 'string' },
  user: { type: 'string', default: 'bench' },
  'cpu-of': { type: 'string' },
  stay: { type: 'boolean', default: false },
});
const port = readWhole(values, 'port', 1, 65535, 0);
const clientCount = readWhole(values, 'clients', 1, MAX_CLIENTS, 64);
const depth = readWhole(values, 'depth', 1, MAX_DEPTH, 1);
const ratePerSecond = readNumber(values, 'rate', 0, 10_000_000, 0);
const seconds = readNumber(values, 'seconds', 0.01, 86_400, 4);
const warmupSeconds = readNumber(values, 'warmup', 0, 3600, 1);
const callsPerClient = readWhole(values, 'calls', 0, 1e9, 0);
const markEach = readWhole(values, 'mark', 0, 1e9, 0);
const watchedPid = readWhole(values, 'cpu-of', 0, 1 << 30, 0);
const openLoop = ratePerSecond > 0;
if (openLoop && callsPerClient > 0) refuse('--rate and --calls do not go together: an open loop runs by time');
if (clientCount + OWN_DESCRIPTORS > readDescriptorLimit()) {
  refuse(
    `--clients ${clientCount}: the limit of open files is ${readDescriptorLimit()}; raise it (ulimit -n) or use several loaders`,
  );
}

const load = new Load();
const clients: LoadClient[] = [];
let connected = 0;
let progressAt = performance.now();

process.on('disconnect', () => process.exit(0));
connectNext();
const stallCheck = setInterval(endWhenStalled, STALL_MS / 10);
load.onReplies = () => {
  // Until all are connected: a connection that fails makes the load another one.
  if (load.errors > 0 && !load.stopped) report(0, 0, 0, process.cpuUsage());
};
if (callsPerClient > 0) {
  const startedAt = performance.now();
  load.sinceSent = new LatencyBuckets();
  const cpuAtStart = readWatched();
  let nextMark = markEach > 0 ? markEach : Number.POSITIVE_INFINITY;
  load.onReplies = () => {
    progressAt = performance.now();
    while (load.replies >= nextMark) {
      print({ event: 'mark', calls: nextMark });
      nextMark += markEach;
    }
    if (load.replies < callsPerClient * clientCount && load.errors === 0) return;
    load.onReplies = () => {};
    report(load.replies, (performance.now() - startedAt) / 1000, readWatched() - cpuAtStart, process.cpuUsage());
  };
}

/** Opens the next connection, as long as some are missing; each that is there opens the one MAX_CONNECTING after it. */
function connectNext(): void {
  while (clients.length < clientCount && clients.length - connected < MAX_CONNECTING) {
    const client: LoadClient = new LoadClient(
      load,
      {
        host: String(values['host']),
        port,
        user: String(values['user']),
        clientId: randomBytes(16),
        path: pathOf(clients.length),
        slots: openLoop ? OPEN_LOOP_SLOTS : depth,
        closedLoop: !openLoop,
        calls: callsPerClient > 0 ? callsPerClient : Number.POSITIVE_INFINITY,
      },
      () => {
        connected++;
        progressAt = performance.now();
        if (!openLoop) client.start();
        if (connected === clientCount) onAllConnected();
        else connectNext();
      },
    );
    clients.push(client);
  }
}

function onAllConnected(): void {
  if (callsPerClient > 0) return;
  load.onReplies = () => {
    progressAt = performance.now();
  };
  if (openLoop) startTicking();
  setTimeout(measure, warmupSeconds * 1000);
}

function startTicking(): void {
  const startMs = performance.now();
  const callsPerTick = (ratePerSecond * TICK_MS) / 1000;
  let tick = 0;
  let issued = 0;
  setInterval(() => {
    if (load.stopped) return;
    const now = performance.now();
    for (let dueMs = startMs + tick * TICK_MS; dueMs <= now; dueMs = startMs + tick * TICK_MS) {
      tick++;
      for (const dueCalls = Math.floor(tick * callsPerTick); issued < dueCalls; issued++) {
        (clients[issued % clientCount] as LoadClient).startCall(dueMs);
      }
    }
  }, TICK_MS);
}

function measure(): void {
  load.sinceSent = new LatencyBuckets();
  load.sinceDue = openLoop ? new LatencyBuckets() : undefined;
  const ownAtStart = process.cpuUsage();
  const cpuAtStart = readWatched();
  const repliesAtStart = load.replies;
  const startMs = performance.now();
  setTimeout(() => {
    const elapsedSeconds = (performance.now() - startMs) / 1000;
    const cpuSeconds = readWatched() - cpuAtStart;
    report(load.replies - repliesAtStart, elapsedSeconds, cpuSeconds, process.cpuUsage(ownAtStart));
  }, seconds * 1000);
}

function report(calls: number, elapsedSeconds: number, cpuSeconds: number, own: NodeJS.CpuUsage): void {
  load.stopped = true;
  clearInterval(stallCheck);
  if (calls === 0 && load.errors === 0) load.fail('no reply came within the measured time');
  const sent = load.sinceSent ?? new LatencyBuckets();
  const due = load.sinceDue ?? sent;
  const result: LoadResult = {
    event: 'result',
    calls,
    seconds: elapsedSeconds,
    callsPerSecond: elapsedSeconds > 0 ? calls / elapsedSeconds : 0,
    p50: due.quantileMicros(0.5),
    p99: due.quantileMicros(0.99),
    p999: due.quantileMicros(0.999),
    sentP50: sent.quantileMicros(0.5),
    sentP99: sent.quantileMicros(0.99),
    errors: load.errors,
    firstError: load.firstError,
    cpuSeconds,
    loaderCpuSeconds: (own.user + own.system) / 1e6,
  };
  print(result);
  if (values['stay'] === true) return;
  for (const client of clients) client.end();
  process.exitCode = load.errors > 0 ? 1 : 0;
  // The ticks and a parent's channel would keep the process; the sockets are gone.
  setImmediate(() => process.exit());
}

function endWhenStalled(): void {
  if (performance.now() - progressAt < STALL_MS) return;
  load.fail(`nothing came for ${STALL_MS} ms (${connected} of ${clientCount} connected, ${load.replies} replies)`);
  report(0, STALL_MS / 1000, 0, process.cpuUsage());
}

/** A path of such a length that the whole call takes 160 bytes; a million clients have paths of their own. */
function pathOf(client: number): string {
  return `/mnt/warehouse/orders/year=2026/month=11/part-m-${String(client).padStart(7, '0')}.orc`;
}

function readWatched(): number {
  return watchedPid === 0 ? 0 : readCpuSeconds(watchedPid);
}

function print(line: unknown): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
