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
const SAMPLE_EVERY_MS = 1000;
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

/** The rest takes the longer, the more descriptors and threads there are. */
export interface ProcessSample extends ProcessUsage {
  readonly descriptors: number;
  readonly sockets: number;
  readonly voluntarySwitches: number;
  readonly involuntarySwitches: number;
}

/** Samples a process each second between begin and end. One that ends meanwhile keeps its last sample. */
export class ProcessWatch implements Disposable {
  readonly timers: NodeJS.Timeout[] = [];
  readonly #pid: number;
  readonly #command: string;
  readonly #samples: [number, number, number, number][] = [];
  #first: ProcessSample | null = null;
  #last: ProcessSample | null = null;
  #rssMaxBytes = 0;
  #beganAtMs = 0;
  #hasEnded = false;
  #isOver = false;

  constructor(pid: number) {
    this.#pid = pid;
    this.#command = readCommand(pid);
  }

  begin(): void {
    if (this.#first !== null || this.#isOver) return;
    this.#beganAtMs = performance.now();
    this.#sample();
    this.timers.push(setInterval(() => this.#sample(), SAMPLE_EVERY_MS));
  }

  end(): void {
    if (this.#isOver) return;
    this.#sample();
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
      socketsEnd: last.sockets,
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

  #sample(): void {
    if (this.#isOver || this.#hasEnded) return;
    const sample = readProcess(this.#pid);
    if (sample === null || (this.#first !== null && sample.startTicks !== this.#first.startTicks)) {
      this.#hasEnded = true;
      return;
    }
    this.#first ??= sample;
    this.#last = sample;
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
  const usage = readUsage(pid);
  if (usage === null) return null;
  try {
    return { ...usage, ...countDescriptors(pid), ...sumSwitches(pid) };
  } catch {
    return null;
  }
}

/** Null as above. */
export function readUsage(pid: number): ProcessUsage | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const rss = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
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

/** Those of another user's process cannot be seen: zeros. */
function countDescriptors(pid: number): Pick<ProcessSample, 'descriptors' | 'sockets'> {
  let names: string[];
  try {
    names = readdirSync(`/proc/${pid}/fd`);
  } catch {
    return { descriptors: 0, sockets: 0 };
  }
  let sockets = 0;
  for (const name of names) {
    try {
      if (readlinkSync(`/proc/${pid}/fd/${name}`).startsWith('socket:')) sockets++;
    } catch {
      // Closed since the listing.
    }
  }
  return { descriptors: names.length, sockets };
}

/** /proc/PID/status has the switches of the first thread only. */
function sumSwitches(pid: number): Pick<ProcessSample, 'voluntarySwitches' | 'involuntarySwitches'> {
  let voluntarySwitches = 0;
  let involuntarySwitches = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      const status = readFileSync(`/proc/${pid}/task/${task}/status`, 'latin1');
      voluntarySwitches += Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1] ?? 0);
      involuntarySwitches += Number(/^nonvoluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1] ?? 0);
    } catch {
      // The thread has ended since the listing.
    }
  }
  return { voluntarySwitches, involuntarySwitches };
}

/** Command line with blanks between its arguments, '' when it cannot be read. */
function readCommand(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim().slice(0, 1000);
  } catch {
    return '';
  }
}
