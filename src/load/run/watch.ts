/** CPU, memory, descriptors and context switches of a process of this machine, from /proc, over the measured time. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Watched } from '../result/result.ts';

/** Clock ticks a second in which /proc/PID/stat counts: 100 for user space on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;
/** Places of these among the fields of /proc/PID/stat after the command name, which ends with the last ')'. */
const UTIME = 11;
const STIME = 12;
const NUM_THREADS = 17;
const START_TIME = 19;
/** Where the kernel tells of processes. */
const PROC_DIRECTORY = '/proc';
const SAMPLE_EVERY_MS = 1000;
/** Which descriptors are sockets takes a call for each: about 5 µs. */
const COUNT_SOCKETS_EVERY = 10;
/** Sockets of a process with more descriptors are not counted. */
const MAX_LINKS = 100_000;
/** Samples that a result keeps: more than two days. */
const MAX_SAMPLES = 200_000;

/** What /proc says of a process at one moment, as far as two short files hold it. */
export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly rssBytes: number;
  readonly threads: number;
  /** Since the start of the machine, in ticks: tells a process from a later one with the same number. */
  readonly startTicks: number;
}

/** The rest takes the longer, the more descriptors and threads there are. Null is what could not be counted. */
export interface ProcessSample extends ProcessUsage {
  readonly descriptors: number | null;
  readonly sockets: number | null;
  readonly voluntarySwitches: number;
  readonly involuntarySwitches: number;
}

/**
 * Samples a process each second between begin and end, its sockets less often. One that ends meanwhile keeps its last sample.
 */
export class ProcessWatch implements Disposable {
  readonly timers: NodeJS.Timeout[] = [];
  readonly #pid: number;
  readonly #procDirectory: string;
  readonly #command: string;
  readonly #samples: [number, number, number | null, number][] = [];
  #first: ProcessSample | null = null;
  #last: ProcessSample | null = null;
  #socketsLast: number | null = null;
  #sampled = 0;
  #rssMaxBytes = 0;
  #beganAtMs = 0;
  #hasEnded = false;
  #isOver = false;

  constructor(pid: number, procDirectory = PROC_DIRECTORY) {
    this.#pid = pid;
    this.#procDirectory = procDirectory;
    this.#command = readCommand(`${procDirectory}/${pid}`);
  }

  begin(): void {
    if (this.#first !== null || this.#isOver) return;
    this.#beganAtMs = performance.now();
    this.#sample();
    this.timers.push(setInterval(() => this.#sample(), SAMPLE_EVERY_MS));
  }

  end(): void {
    if (this.#isOver) return;
    this.#sample(true);
    this.#isOver = true;
  }

  /** What was seen; null when the process was never there in the measured time. */
  report(calls: number): Watched | null {
    const [first, last] = [this.#first, this.#last];
    if (first === null || last === null) return null;
    const cpuSeconds = last.cpuSeconds - first.cpuSeconds;
    return {
      pid: this.#pid,
      command: this.#command,
      cpuSeconds,
      cpuMicrosPerCall: calls === 0 ? 0 : (cpuSeconds * 1e6) / calls,
      rssStartBytes: first.rssBytes,
      rssEndBytes: last.rssBytes,
      rssMaxBytes: this.#rssMaxBytes,
      descriptorsStart: first.descriptors,
      descriptorsEnd: last.descriptors,
      socketsStart: first.sockets,
      socketsEnd: this.#socketsLast,
      // Those of a thread that ends go with it.
      voluntarySwitches: Math.max(0, last.voluntarySwitches - first.voluntarySwitches),
      involuntarySwitches: Math.max(0, last.involuntarySwitches - first.involuntarySwitches),
      threads: last.threads,
      ...(this.#hasEnded ? { ended: true } : {}),
      samples: this.#samples,
    };
  }

  [Symbol.dispose](): void {
    for (const timer of this.timers) clearTimeout(timer);
  }

  #sample(isLast = false): void {
    if (this.#isOver || this.#hasEnded) return;
    const countsSockets = isLast || this.#sampled++ % COUNT_SOCKETS_EVERY === 0;
    const sample = readSample(`${this.#procDirectory}/${this.#pid}`, countsSockets);
    if (sample === null || (this.#first !== null && sample.startTicks !== this.#first.startTicks)) {
      this.#hasEnded = true;
      return;
    }
    this.#first ??= sample;
    this.#last = sample;
    if (countsSockets) this.#socketsLast = sample.sockets;
    this.#rssMaxBytes = Math.max(this.#rssMaxBytes, sample.rssBytes);
    if (this.#samples.length >= MAX_SAMPLES) return;
    const second = (performance.now() - this.#beganAtMs) / 1000;
    this.#samples.push([
      Math.round(second * 1000) / 1000,
      sample.rssBytes,
      sample.sockets,
      sample.cpuSeconds - this.#first.cpuSeconds,
    ]);
  }
}

/** Null when there is no such process, or no more than what is left of one until its parent has asked for it. */
export function readProcess(pid: number): ProcessSample | null {
  return readSample(`${PROC_DIRECTORY}/${pid}`, true);
}

/** `directory` is that of the process. Its sockets are null where they are not to be counted. */
function readSample(directory: string, countsSockets: boolean): ProcessSample | null {
  const usage = readUsageIn(directory);
  if (usage === null) return null;
  try {
    const names = listDescriptors(directory);
    const sockets = names === null || !countsSockets ? null : countSockets(directory, names);
    return { ...usage, descriptors: names?.length ?? null, sockets, ...sumSwitches(directory) };
  } catch {
    return null;
  }
}

/** Null as above. */
export function readUsage(pid: number): ProcessUsage | null {
  return readUsageIn(`${PROC_DIRECTORY}/${pid}`);
}

function readUsageIn(directory: string): ProcessUsage | null {
  try {
    const stat = readFileSync(`${directory}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const rss = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`${directory}/status`, 'latin1'));
    if (rss === null) return null;
    return {
      cpuSeconds: (Number(fields[UTIME]) + Number(fields[STIME])) / TICKS_PER_SECOND,
      rssBytes: Number(rss[1]) * 1024,
      threads: Number(fields[NUM_THREADS]),
      startTicks: Number(fields[START_TIME]),
    };
  } catch {
    return null;
  }
}

/** Null for those of another user's process: they cannot be seen. */
function listDescriptors(directory: string): string[] | null {
  try {
    return readdirSync(`${directory}/fd`);
  } catch {
    return null;
  }
}

/** Null when there are too many to look at, or they may be listed and not looked at. */
function countSockets(directory: string, names: readonly string[]): number | null {
  if (names.length > MAX_LINKS) return null;
  let sockets = 0;
  for (const name of names) {
    try {
      if (readlinkSync(`${directory}/fd/${name}`).startsWith('socket:')) sockets++;
    } catch (error) {
      // Else it was closed since the listing.
      if ((error as NodeJS.ErrnoException).code === 'EACCES') return null;
    }
  }
  return sockets;
}

/** /proc/PID/status has the switches of the first thread only. */
function sumSwitches(directory: string): Pick<ProcessSample, 'voluntarySwitches' | 'involuntarySwitches'> {
  let voluntarySwitches = 0;
  let involuntarySwitches = 0;
  for (const task of readdirSync(`${directory}/task`)) {
    try {
      const status = readFileSync(`${directory}/task/${task}/status`, 'latin1');
      voluntarySwitches += Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1] ?? 0);
      involuntarySwitches += Number(/^nonvoluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1] ?? 0);
    } catch {
      // The thread has ended since the listing.
    }
  }
  return { voluntarySwitches, involuntarySwitches };
}

/** Command line with blanks between its arguments, '' when it cannot be read. */
function readCommand(directory: string): string {
  try {
    return readFileSync(`${directory}/cmdline`, 'utf8').replaceAll('\0', ' ').trim().slice(0, 1000);
  } catch {
    return '';
  }
}
