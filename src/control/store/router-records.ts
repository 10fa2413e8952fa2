import { reasonOf } from '../../state-store/driver.ts';
import { escapeKey } from '../../state-store/record-names.ts';
import { encodeRouter, type RecordType, type RouterRecord, type RouterStatus } from '../../state-store/records.ts';
import type { Log } from '../log.ts';
import type { StateStore } from './state-store.ts';
import { withDeadline } from './store-error.ts';
import { dateModifiedOf } from './stored.ts';

/** Longest wait for the last record of a router that stops. */
const LAST_WRITE_MS = 2_000;
/** In the record for caches that are empty or not loaded. */
const NO_VERSION = -1;

/** What a router says about itself. */
export interface RouterIdentity {
  /** Router id, host:rpcPort. */
  readonly address: string;
  readonly version: string;
  readonly compileInfo: string;
  /** ms since 1970. */
  readonly startedMs: number;
  /** host:port of the admin port; '' without one. */
  readonly adminAddress: string;
}

/**
 * The records of routers: writes this router's own one, every `heartbeatMs` and at each change of its status, and reads the others'. A write
 * that fails is logged once; the record ages then, and the next heartbeat makes it good.
 */
export class RouterRecords {
  readonly #store: StateStore;
  readonly #identity: RouterIdentity;
  readonly #heartbeatMs: number;
  readonly #log: Log;
  #status: RouterStatus = 'INITIALIZING';
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<boolean> | null = null;
  #isStopped = false;
  #reason = '';
  #hasWritten = false;
  #hasNamesake = false;

  constructor(store: StateStore, identity: RouterIdentity, heartbeatMs: number, log: Log) {
    this.#store = store;
    this.#identity = identity;
    this.#heartbeatMs = heartbeatMs;
    this.#log = log;
  }

  get status(): RouterStatus {
    return this.#status;
  }

  /** The cached records of all routers, this one's too, by address. */
  all(): RouterRecord[] {
    const records = Array.from(this.#store.records('RouterState').values(), ({ record }) => record);
    return records.sort((a, b) => (a.address < b.address ? -1 : 1));
  }

  /** Routers other than this one that serve, as far as the store knows. */
  othersServing(): RouterRecord[] {
    return this.all().filter(({ address, status }) => address !== this.#identity.address && status === 'RUNNING');
  }

  /** Begins to write this router's record. */
  start(): void {
    void this.heartbeat();
    this.#timer = setInterval(() => void this.heartbeat(), this.#heartbeatMs);
    this.#timer.unref();
  }

  /** The status from now on; the record says so as soon as the store takes it. */
  setStatus(status: RouterStatus): void {
    if (status === this.#status || this.#isStopped) return;
    this.#status = status;
    if (this.#timer === null) return;
    // One under way may have been made with the status before.
    if (this.#writing === null) void this.heartbeat();
    else void this.#writing.then(() => this.heartbeat());
  }

  /** Writes this router's record; false when that failed. One that is under way is not followed by another. */
  heartbeat(): Promise<boolean> {
    if (this.#isStopped && this.#status !== 'SHUTDOWN') return Promise.resolve(false);
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  /** Writes SHUTDOWN, if the store takes it soon, and nothing any more. */
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    if (this.#timer === null) return;
    clearInterval(this.#timer);
    this.#status = 'SHUTDOWN';
    const last = async (): Promise<void> => {
      await this.#writing;
      await this.heartbeat();
    };
    try {
      await withDeadline(last(), LAST_WRITE_MS, 'the State Store does not answer');
    } catch (error) {
      this.#log.warn({ reason: reasonOf(error) }, 'State Store: the end of this router is not in its record');
    }
  }

  async #write(): Promise<boolean> {
    const { address } = this.#identity;
    this.#tellNamesake();
    try {
      const options = { update: true, errorIfExists: false };
      const written = await this.#store.put('RouterState', escapeKey(address), this.#encode(), options);
      if (!written) throw new Error('the State Store did not take the record');
      this.#reason = '';
      this.#hasWritten = true;
      return true;
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== this.#reason) this.#log.warn({ reason }, 'State Store: the record of this router was not written');
      this.#reason = reason;
      return false;
    }
  }

  /** Another router that overwrites the record: each of them would be taken for the other. Told once. */
  #tellNamesake(): void {
    const { address, startedMs } = this.#identity;
    if (this.#hasNamesake || !this.#hasWritten || !this.#store.isLoaded('RouterState')) return;
    const own = this.#store.records('RouterState').get(address)?.record;
    if (own === undefined || own.dateStarted === startedMs) return;
    this.#hasNamesake = true;
    this.#log.error(
      { router: address, adminAddress: own.adminAddress },
      'State Store: another router has the same host name and port as this one; give each its own (dfs.federation.router.rpc-address)',
    );
  }

  #encode(): Buffer {
    const { address, version, compileInfo, startedMs, adminAddress } = this.#identity;
    const nowMs = this.#store.clock.wallMs();
    return encodeRouter({
      dateCreated: nowMs,
      dateModified: nowMs,
      address,
      status: this.#status,
      membershipVersion: this.#newestDate('MembershipState'),
      mountTableVersion: this.#newestDate('MountTable'),
      version,
      compileInfo,
      dateStarted: startedMs,
      adminAddress,
    });
  }

  #newestDate(type: RecordType): number {
    let newestMs = NO_VERSION;
    if (!this.#store.isLoaded(type)) return newestMs;
    for (const stored of this.#store.records(type).values())
      newestMs = Math.max(newestMs, dateModifiedOf(type, stored));
    return newestMs;
  }
}
