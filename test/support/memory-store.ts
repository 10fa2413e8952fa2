import {
  type PutOptions,
  type RawRecord,
  type ReadResult,
  StateStoreError,
  type StoreDriver,
} from '../../src/state-store/driver.ts';
import { RECORD_TYPES, type RecordType, stampModified } from '../../src/state-store/records.ts';
import { Gate } from './wait.ts';

const TYPES = Object.keys(RECORD_TYPES) as RecordType[];
/** Changes of these are told by a store that watches. */
const WATCHED: readonly RecordType[] = ['MountTable', 'DisabledNameservice'];

export interface MemoryStoreOptions {
  /** As ZooKeeper: versions, dates of the store's own, news. Else as the file driver. */
  readonly isVersioned?: boolean;
  /** Clock of the store's dates. */
  readonly wallMs?: () => number;
}

/** A State Store in this process for any number of routers, each with a driver of its own. */
export class MemoryStore {
  readonly isVersioned: boolean;
  readonly wallMs: () => number;
  readonly #types = new Map(TYPES.map((type) => [type, new Map<string, RawRecord>()]));
  readonly #drivers = new Set<MemoryDriver>();

  constructor({ isVersioned = true, wallMs = Date.now }: MemoryStoreOptions = {}) {
    this.isVersioned = isVersioned;
    this.wallMs = wallMs;
  }

  driver(): MemoryDriver {
    const driver = new MemoryDriver(this);
    this.#drivers.add(driver);
    return driver;
  }

  records(type: RecordType): Map<string, RawRecord> {
    return this.#types.get(type) as Map<string, RawRecord>;
  }

  names(type: RecordType): string[] {
    return [...this.records(type).keys()].sort();
  }

  /** Bytes of a record, as some other program writes them. */
  write(type: RecordType, name: string, bytes: Buffer): void {
    const before = this.records(type).get(name);
    const nowMs = this.isVersioned ? this.wallMs() : null;
    this.records(type).set(name, {
      name,
      place: `memory/${type}/${name}`,
      bytes: Buffer.from(bytes),
      createdMs: before?.createdMs ?? nowMs,
      modifiedMs: nowMs,
      version: this.isVersioned && before !== undefined ? before.version + 1 : 0,
    });
    this.#tell(type);
  }

  erase(type: RecordType, name: string): boolean {
    const isErased = this.records(type).delete(name);
    if (isErased) this.#tell(type);
    return isErased;
  }

  #tell(type: RecordType): void {
    if (!this.isVersioned || !WATCHED.includes(type)) return;
    for (const driver of this.#drivers) queueMicrotask(() => driver.tell(type));
  }
}

/** One router's way to a MemoryStore, which tests may cut or stop. */
export class MemoryDriver implements StoreDriver {
  readonly isVersioned: boolean;
  readonly #store: MemoryStore;
  /** While shut, reads and writes do not end. */
  readonly reads = new Gate();
  readonly writes = new Gate();
  /** What the next reads, writes and starts fail with; null: nothing. */
  failure: string | null = null;
  /** By type. */
  readonly readCounts: Record<RecordType, number> = {
    MembershipState: 0,
    MountTable: 0,
    RouterState: 0,
    DisabledNameservice: 0,
  };
  /** News are lost while it is false. */
  tellsNews = true;
  starts = 0;
  ready = false;
  isClosed = false;
  onChange: (type: RecordType) => void = () => {};

  constructor(store: MemoryStore) {
    this.isVersioned = store.isVersioned;
    this.#store = store;
  }

  tell(type: RecordType): void {
    if (this.tellsNews) this.onChange(type);
  }

  async start(): Promise<void> {
    this.starts++;
    this.#check();
    this.ready = true;
  }

  /** What was there when it was asked, however late the answer is. */
  async readAll(type: RecordType): Promise<ReadResult> {
    this.readCounts[type]++;
    this.#check();
    const records = [...this.#store.records(type).values()];
    await this.reads.wait();
    this.#check();
    return { records, problems: [] };
  }

  async put(type: RecordType, name: string, bytes: Buffer, options: PutOptions): Promise<boolean> {
    await this.writes.wait();
    this.#check();
    const { update, errorIfExists, version } = options;
    const before = this.#store.records(type).get(name);
    if (this.isVersioned) {
      if (version !== undefined && before?.version !== version) return false;
      if (!update && errorIfExists && before !== undefined) return false;
      this.#store.write(type, name, bytes);
      return true;
    }
    if (before !== undefined && !update) return !errorIfExists;
    this.#store.write(type, name, before === undefined ? bytes : stampModified(type, bytes, this.#store.wallMs()));
    return true;
  }

  async remove(type: RecordType, name: string): Promise<boolean> {
    await this.writes.wait();
    this.#check();
    return this.#store.erase(type, name);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.ready = false;
  }

  #check(): void {
    if (this.failure !== null) throw new StateStoreError(this.failure);
  }
}
