import { type MountEntry, unusableReason } from '../../mount/entry.ts';
import type { SharedBytes } from '../../shared/epochs.ts';
import type { Log } from '../log.ts';
import type { MountPublisher } from './mount-publisher.ts';

/** Tables built one after the other begin at least so far apart, however fast entries change: the newest wins. */
export const BUILD_PAUSE_MS = 200;
/** Longest wait of an administrator's call for all threads to be on the table with its change. */
export const EVERYWHERE_DEADLINE_MS = 5_000;
/** A table that could not be built is tried again after this time: what it failed of may be over, such as a lack of memory. */
export const BUILD_AGAIN_MS = 10_000;
/** Entries left out that one line of the log names. */
const MAX_NAMED_SKIPPED = 20;
/** Those who wait for a table at one time; more are told at once that it is not everywhere yet. */
const MAX_WAITERS = 4_096;

export interface LiveMountsOptions {
  readonly publisher: Pick<MountPublisher, 'build' | 'buffer' | 'epoch' | 'isEverywhere'>;
  /** Mounts of the command line; they take the place of stored ones of the same source path. */
  readonly given: readonly MountEntry[];
  /** Gives a new snapshot to every thread that resolves paths; each says so (`onAnnounced`) when it is on it. */
  readonly tell: (buffer: SharedBytes) => void;
  readonly log: Log;
  /** Steady clock, ms. */
  readonly nowMs?: () => number;
}

interface Waiter {
  /** Changes that must be in the table; see `#changes`. */
  readonly change: number;
  readonly resolve: (isEverywhere: boolean) => void;
}

/**
 * The mount table while the router runs: entries of the State Store → snapshot → threads. Changes that come while a table is built or
 * too soon after the last one are taken together. A table that cannot be built leaves the one before in place.
 *
 *   set ──▶ wanted ──build──▶ published ──all threads announce──▶ everywhere
 */
export class LiveMounts {
  readonly #options: LiveMountsOptions;
  readonly #nowMs: () => number;
  readonly #given: ReadonlySet<string>;
  #stored: () => readonly MountEntry[] = () => [];
  #entries: readonly MountEntry[];
  /** Changes asked for so far, in the newest table, and in the table that is everywhere. */
  #changes = 0;
  #published = 0;
  #publishedEpoch = 0;
  #running = false;
  #waitsForMemory = false;
  #lastBuildMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;
  /** The timer is that of a table that could not be built. */
  #triesAgain = false;
  #waiters: Waiter[] = [];
  #isStopped = false;
  #skipped = '';
  #failure = '';

  constructor(options: LiveMountsOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#given = new Set(options.given.map(({ sourcePath }) => sourcePath));
    this.#entries = options.given;
  }

  /** What the newest table was made from. */
  get entries(): readonly MountEntry[] {
    return this.#entries;
  }

  /** Why the newest entries are not in force, '' when they are or will be. */
  get failure(): string {
    return this.#failure;
  }

  /** The first table. Throws MountError's text when it cannot be built. */
  async start(stored: readonly MountEntry[]): Promise<void> {
    if (this.#changes === 0) this.#stored = () => stored;
    this.#entries = this.#merge();
    await this.#options.publisher.build(this.#entries);
    this.#publishedEpoch = this.#options.publisher.epoch;
    this.#lastBuildMs = this.#nowMs();
  }

  /** The State Store's entries have changed; they are looked at when the next table is built. */
  set(stored: () => readonly MountEntry[]): void {
    this.#stored = stored;
    this.#changes++;
    this.#schedule();
  }

  /**
   * Resolves when every thread is on a table with all that was `set` before; false when that takes longer than the deadline (null: there is
   * none), when the table cannot be built, or when the router stops.
   */
  everywhere(deadlineMs: number | null = EVERYWHERE_DEADLINE_MS): Promise<boolean> {
    if (this.#isSettled(this.#changes)) return Promise.resolve(true);
    if (this.#isStopped || (deadlineMs !== null && this.#waiters.length >= MAX_WAITERS)) return Promise.resolve(false);
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      if (deadlineMs !== null) {
        timer = setTimeout(() => {
          this.#waiters = this.#waiters.filter((each) => each !== waiter);
          resolve(false);
        }, deadlineMs).unref();
      }
      const waiter: Waiter = {
        change: this.#changes,
        resolve: (isEverywhere) => {
          clearTimeout(timer);
          resolve(isEverywhere);
        },
      };
      this.#waiters.push(waiter);
    });
  }

  /** A thread has announced an epoch, or has ended. */
  onAnnounced(): void {
    this.#tellWaiters();
    if (this.#waitsForMemory) {
      this.#waitsForMemory = false;
      this.#schedule();
    }
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const { resolve } of this.#waiters.splice(0)) resolve(false);
  }

  /** A change does not wait for the time at which a failed build is tried again. */
  #schedule(afterMs = BUILD_PAUSE_MS): void {
    if (this.#timer !== null && !this.#triesAgain) return;
    if (this.#running || this.#waitsForMemory || this.#isStopped) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#triesAgain = afterMs > BUILD_PAUSE_MS;
    const pauseMs = Math.max(0, this.#lastBuildMs + afterMs - this.#nowMs());
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#triesAgain = false;
      void this.#build();
    }, pauseMs);
    this.#timer.unref();
  }

  async #build(): Promise<void> {
    const { publisher, tell, log } = this.#options;
    const change = this.#changes;
    this.#running = true;
    this.#lastBuildMs = this.#nowMs();
    let isFailed = false;
    try {
      const entries = this.#merge();
      if (!(await publisher.build(entries))) {
        this.#waitsForMemory = true;
        return;
      }
      this.#failure = '';
      this.#entries = entries;
      this.#published = change;
      this.#publishedEpoch = publisher.epoch;
      if (publisher.buffer !== null && !this.#isStopped) tell(publisher.buffer);
      this.#tellWaiters();
    } catch (error) {
      if (this.#isStopped) return;
      isFailed = true;
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== this.#failure) log.error({ reason }, 'mount table: not built, the one before stays');
      this.#failure = reason;
      this.#refuseWaiters(change);
    } finally {
      this.#running = false;
      // What waits for memory goes on when a thread has moved.
      if (change < this.#changes) this.#schedule();
      else if (isFailed) this.#schedule(BUILD_AGAIN_MS);
    }
  }

  /** Entries that no call can be routed by are left out, and named in the log once. */
  #merge(): MountEntry[] {
    const { given, log } = this.#options;
    const skipped: string[] = [];
    const usable = this.#stored().filter((entry) => {
      if (this.#given.has(entry.sourcePath)) return false;
      const reason = unusableReason(entry);
      if (reason !== null) skipped.push(reason);
      return reason === null;
    });
    const said = skipped.join('; ');
    if (said !== this.#skipped && said !== '')
      log.warn(
        { count: skipped.length, skipped: skipped.slice(0, MAX_NAMED_SKIPPED) },
        'mount table: entries that cannot be used are left out',
      );
    this.#skipped = said;
    return [...usable, ...given];
  }

  #isSettled(change: number): boolean {
    return this.#published >= change && this.#options.publisher.isEverywhere(this.#publishedEpoch);
  }

  #tellWaiters(): void {
    if (this.#waiters.length === 0) return;
    const waiting = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiting) {
      if (this.#isSettled(waiter.change)) waiter.resolve(true);
      else this.#waiters.push(waiter);
    }
  }

  /** Those whose change was in a table that could not be built. */
  #refuseWaiters(change: number): void {
    const waiting = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiting) {
      if (waiter.change <= change) waiter.resolve(false);
      else this.#waiters.push(waiter);
    }
  }
}
