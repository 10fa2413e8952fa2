import type { MountDefaults } from '../../mount/entry.ts';
import { type ReadResult, reasonOf, type StoreDriver } from '../../state-store/driver.ts';
import type { RecordType } from '../../state-store/records.ts';
import type { Log } from '../log.ts';
import { type Judge, RecordCache } from './record-cache.ts';
import type { StoreClock } from './store-clock.ts';
import { StoreUnavailableError, withDeadline } from './store-error.ts';
import type { StoreRecords } from './stored.ts';

/** A read that takes longer is given up. */
export const READ_DEADLINE_MS = 60_000;
/** Reads that were given up and have not ended; with that many no other is begun. */
export const MAX_ABANDONED_READS = 2;
/** What was read so lately is not read again, unless it must be. */
const FRESH_MS = 500;
/** Least time between two loads that the store's own news ask for: one takes time with many records, and other work has its turn, too. */
export const NEWS_PAUSE_MS = 200;
const MAX_NEWS_PAUSE_MS = 500;
/** Problems that the log names. */
const MAX_NAMED_PROBLEMS = 20;

/** What loads of one type need. */
export interface LoaderOptions<K extends RecordType> {
  readonly type: K;
  readonly driver: StoreDriver;
  readonly defaults: MountDefaults;
  /** Null: all records count, however old. */
  readonly judge: Judge<StoreRecords[K]> | null;
  /** A load has ended well; all its records were judged. */
  readonly onLoaded: () => void;
  readonly log: Log;
  readonly clock: StoreClock;
}

/** Loads the records of one type into their cache, one load at a time, and tells who listens when they have changed. */
export class TypeLoader<K extends RecordType> {
  readonly cache: RecordCache<K>;
  readonly #options: LoaderOptions<K>;
  readonly #listeners = new Set<() => void>();
  #running: Promise<boolean> | null = null;
  /** Begins when the running one has ended. */
  #next: Promise<boolean> | null = null;
  #news: NodeJS.Timeout | null = null;
  #begunMs = Number.NEGATIVE_INFINITY;
  #loadedMs = Number.NEGATIVE_INFINITY;
  /** The last load that ended well. */
  #tookMs = 0;
  #abandoned = 0;
  #isStopped = false;
  /** Why the last load failed, '' when it did not. */
  #reason = '';
  /** What the log last said about problems. */
  #named = '0 ';
  loads = 0;
  /** Time that they took, summed. */
  loadMs = 0;
  failedLoads = 0;
  abandonedReads = 0;

  constructor(options: LoaderOptions<K>) {
    this.#options = options;
    this.cache = new RecordCache(options.type, options.defaults);
  }

  /** Why there is nothing, or nothing new, in the cache; '' when there is. */
  get reason(): string {
    if (this.#reason !== '') return this.#reason;
    return this.cache.isLoaded ? '' : 'it has not been read yet';
  }

  /** `listener` is told when records have changed, and when they were loaded for the first time; call the result to end that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tellChange(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        this.#options.log.error({ reason: reasonOf(error) }, 'State Store: a listener failed');
      }
    }
  }

  /** Nothing is loaded any more. */
  stop(): void {
    this.#isStopped = true;
    if (this.#news !== null) clearTimeout(this.#news);
  }

  /**
   * Loads the type; false when it could not be loaded. `mustBeFresh`: with what is in the store now; else a load under way or just ended
   * will do.
   */
  load(mustBeFresh: boolean): Promise<boolean> {
    if (this.#isStopped) return Promise.resolve(false);
    if (this.#running === null) {
      if (!mustBeFresh && this.#options.clock.steadyMs() - this.#loadedMs < FRESH_MS) return Promise.resolve(true);
      this.#running = this.#load();
      return this.#running;
    }
    if (!mustBeFresh) return this.#running;
    this.#next ??= this.#running.then(() => {
      this.#next = null;
      return this.load(true);
    });
    return this.#next;
  }

  /** Records may have changed in the store: one load now, or soon when there was one just now. */
  loadSoon(): void {
    if (this.#isStopped || this.#news !== null) return;
    const sinceBegunMs = Math.min(MAX_NEWS_PAUSE_MS, Math.max(NEWS_PAUSE_MS, 2 * this.#tookMs));
    const pauseMs = Math.max(0, this.#begunMs + sinceBegunMs - this.#options.clock.steadyMs());
    this.#news = setTimeout(() => {
      this.#news = null;
      void this.load(true);
    }, pauseMs);
    this.#news.unref();
  }

  /** Never rejects. */
  async #load(): Promise<boolean> {
    const { type, judge, onLoaded, log, clock } = this.#options;
    this.#begunMs = clock.steadyMs();
    this.cache.beginRead();
    try {
      const { records, problems } = await this.#read();
      const isFirst = !this.cache.isLoaded;
      const { isChanged, isOvertaken } = this.cache.endRead(records, problems, judge);
      this.#running = null;
      this.#loadedMs = clock.steadyMs();
      this.#tookMs = this.#loadedMs - this.#begunMs;
      this.loads++;
      this.loadMs += this.#tookMs;
      if (this.#reason !== '') log.info({ type }, 'State Store: can be read again');
      this.#reason = '';
      this.#nameProblems();
      onLoaded();
      if (isOvertaken) this.loadSoon();
      if (isChanged || isFirst) this.tellChange();
      return true;
    } catch (error) {
      this.cache.abandonRead();
      this.#running = null;
      this.failedLoads++;
      const reason = reasonOf(error);
      if (reason !== this.#reason && !this.#isStopped) log.warn({ type, reason }, 'State Store: cannot be read');
      this.#reason = reason;
      return false;
    }
  }

  async #read(): Promise<ReadResult> {
    if (this.#abandoned >= MAX_ABANDONED_READS) {
      throw new StoreUnavailableError(`${this.#abandoned} reads that were begun before have not ended`);
    }
    const read = this.#options.driver.readAll(this.#options.type);
    let hasEnded = false;
    let isAbandoned = false;
    const onEnd = (): void => {
      hasEnded = true;
      if (isAbandoned) this.#abandoned--;
    };
    read.then(onEnd, onEnd);
    try {
      const what = `no answer within ${READ_DEADLINE_MS} ms; see whether the store is reachable`;
      return await withDeadline(read, READ_DEADLINE_MS, what);
    } catch (error) {
      if (!hasEnded) {
        isAbandoned = true;
        this.#abandoned++;
        this.abandonedReads++;
      }
      throw error;
    }
  }

  /** Each set of problems once. */
  #nameProblems(): void {
    const { type, log } = this.#options;
    const { problems } = this.cache;
    const lines = problems.slice(0, MAX_NAMED_PROBLEMS).map(({ place, reason }) => `${place}: ${reason}`);
    const named = `${problems.length} ${lines.join('\n')}`;
    if (named === this.#named) return;
    this.#named = named;
    for (const line of lines) log.warn({ type }, `State Store: ${line}`);
    const more = problems.length - lines.length;
    if (more > 0) log.warn({ type, more }, 'State Store: more records have problems');
  }
}
