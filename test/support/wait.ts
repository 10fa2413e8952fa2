import type { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';

/** Longest time that a test waits for one thing; the test fails with the name of that thing when it passes. */
export const WAIT_MS = 10_000;

/** Between two looks at something that has no event (another process's file, a counter in shared memory). */
const LOOK_EVERY_MS = 10;

/** Settles as `promise` does, or rejects with `what` when it has not settled within `limitMs`. */
export async function within<T>(promise: PromiseLike<T>, what: string, limitMs: number = WAIT_MS): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not within ${limitMs} ms: ${what}`)), limitMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The arguments of the next `event`, or an error with `what` after `limitMs`. An `error` event is an event like others here. */
export async function nextEvent(
  emitter: EventEmitter,
  event: string,
  what: string,
  limitMs: number = WAIT_MS,
): Promise<unknown[]> {
  const { promise, resolve } = Promise.withResolvers<unknown[]>();
  const listener = (...args: unknown[]): void => resolve(args);
  emitter.once(event, listener);
  try {
    return await within(promise, what, limitMs);
  } finally {
    emitter.off(event, listener);
  }
}

/**
 * Looks until `check` gives something other than false, null or undefined, and returns it. Only for what has no event to wait for.
 */
export async function waitUntil<T>(
  check: () => T | Promise<T>,
  what: string,
  limitMs: number = WAIT_MS,
): Promise<Exclude<T, false | null | undefined>> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const value = await check();
    if (value !== false && value !== null && value !== undefined) return value as Exclude<T, false | null | undefined>;
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** Calls `onLine` for each whole line of `stream`, without its line feed; a last line without one is passed at the end. */
export function readLines(stream: Readable, onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
  stream.on('end', () => {
    if (rest !== '') onLine(rest);
  });
}

/** A gate: `wait()` passes while it is open and blocks while it is shut. */
export class Gate {
  #waiting: (() => void)[] = [];
  #shut = false;

  get isShut(): boolean {
    return this.#shut;
  }

  shut(): void {
    this.#shut = true;
  }

  open(): void {
    this.#shut = false;
    for (const resume of this.#waiting.splice(0)) resume();
  }

  async wait(): Promise<void> {
    while (this.#shut) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
