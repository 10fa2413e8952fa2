/** Child processes of a bench run: pinned to cores, read line by line, and all ended with the run however it ends. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A child that does not end on SIGTERM within this time is killed. */
const STOP_MS = 5_000;
/** The load keeps a child from answering at once. */
const ANSWER_MS = 10_000;
/** How much of a child's last words goes into an error. */
const TAIL_CHARS = 2_000;

/** The kernel ends the child when this process ends, even by SIGKILL. Like taskset it becomes the program that it is given. */
const BOUND = ['setpriv', '--pdeathsig', 'KILL', '--'];

export type Line = Readonly<Record<string, unknown>>;

export interface ChildOptions {
  /** How errors call it. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Core list as taskset takes it; undefined: anywhere. */
  readonly cores?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** A channel for messages: the child may ask and notices when this process is gone. */
  readonly channel?: boolean;
}

const running = new Set<Child>();
let guarded = false;

/** All threads of this process onto a core list as taskset takes it. */
export function pinThisProcess(cores: string): void {
  const { error, status } = spawnSync('taskset', ['--all-tasks', '--pid', '--cpu-list', cores, String(process.pid)]);
  if (error !== undefined || status !== 0)
    throw new Error(`taskset (Debian: util-linux) cannot pin this process: ${error?.message ?? `code ${status}`}`);
}

export class Child {
  readonly name: string;
  readonly process: ChildProcess;
  #tail = '';
  #ended = false;
  #listeners = new Set<(line: Line | Error) => void>();

  constructor(options: ChildOptions) {
    endChildrenWithThisProcess();
    this.name = options.name;
    const pinned = options.cores === undefined ? [] : ['taskset', '-c', options.cores];
    const [command, ...args] = [...BOUND, ...pinned, options.command, ...options.args] as [string, ...string[]];
    this.process = spawn(command, args, {
      stdio: options.channel === true ? ['ignore', 'pipe', 'pipe', 'ipc'] : ['ignore', 'pipe', 'pipe'],
      env: options.env ?? process.env,
      cwd: options.cwd,
    });
    running.add(this);
    this.process.stderr?.on('data', (chunk) => this.#keep(String(chunk)));
    if (this.process.stdout !== null) {
      createInterface({ input: this.process.stdout }).on('line', (text) => this.#onLine(text));
    }
    this.process.on('error', (error) => this.#onEnd(`${command} (Debian: util-linux) cannot be run: ${error.message}`));
    // 'close' comes when the output has been read too, so a last line is never taken for a missing one.
    this.process.on('close', (code, signal) => this.#onEnd(`it ended with ${signal ?? `code ${code}`}`));
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  /** The next JSON line on stdout for which `wanted` holds. Fails when the child ends first, or after `timeoutMs`. */
  waitFor(wanted: (line: Line) => boolean, timeoutMs: number): Promise<Line> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => settle(new Error(this.#describe(`nothing for ${timeoutMs} ms`))), timeoutMs);
      const settle = (line: Line | Error): void => {
        if (!(line instanceof Error) && !wanted(line)) return;
        clearTimeout(timer);
        this.#listeners.delete(settle);
        if (line instanceof Error) reject(line);
        else resolve(line);
      };
      this.#listeners.add(settle);
      if (this.#ended) settle(new Error(this.#describe('it has ended')));
    });
  }

  /** Sends a message over the channel and returns the answer. */
  async ask(message: string): Promise<unknown> {
    const answer = once(this.process, 'message', { signal: AbortSignal.timeout(ANSWER_MS) });
    this.process.send(message);
    try {
      const [value] = await answer;
      return value;
    } catch (error) {
      throw new Error(this.#describe(`no answer to '${message}' within ${ANSWER_MS} ms`), { cause: error });
    }
  }

  /** Its exit code and last words when it has ended by itself; fails when it does not within `limitMs`. */
  async finish(limitMs: number): Promise<{ code: number | null; words: string }> {
    if (!this.#ended) {
      try {
        await once(this.process, 'close', { signal: AbortSignal.timeout(Math.ceil(limitMs)) });
      } catch (error) {
        throw new Error(this.#describe(`it has not ended within ${limitMs} ms`), { cause: error });
      }
    }
    return { code: this.process.exitCode, words: this.#tail };
  }

  /** Stops all threads where they are: the process uses no processor until it is resumed. */
  pause(): void {
    this.process.kill('SIGSTOP');
  }

  resume(): void {
    this.process.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    if (this.#ended) return;
    const ended = once(this.process, 'close');
    this.process.kill('SIGTERM');
    // A paused process would take the signal only when it is resumed.
    this.resume();
    const timer = setTimeout(() => this.process.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(timer);
  }

  killNow(): void {
    if (!this.#ended) this.process.kill('SIGKILL');
  }

  #onLine(text: string): void {
    let line: Line;
    try {
      line = JSON.parse(text) as Line;
    } catch {
      this.#keep(`${text}\n`);
      return;
    }
    for (const listener of [...this.#listeners]) listener(line);
  }

  #onEnd(reason: string): void {
    this.#ended = true;
    running.delete(this);
    const error = new Error(this.#describe(reason));
    for (const listener of [...this.#listeners]) listener(error);
  }

  #keep(text: string): void {
    this.#tail = (this.#tail + text).slice(-TAIL_CHARS);
  }

  #describe(reason: string): string {
    return this.#tail === ''
      ? `${this.name}: ${reason}`
      : `${this.name}: ${reason}; its last words:\n${this.#tail.trimEnd()}`;
  }
}

/** Ends all children at once, paused ones too. */
export function killAll(): void {
  for (const child of running) child.killNow();
}

export async function stopAll(): Promise<void> {
  await Promise.allSettled([...running].map((child) => child.stop()));
}

function endChildrenWithThisProcess(): void {
  if (guarded) return;
  guarded = true;
  process.on('exit', killAll);
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.on(signal, () => process.exit(code));
  }
}
