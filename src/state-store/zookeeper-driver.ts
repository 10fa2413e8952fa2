/**
 * The znodes of Hadoop's ZooKeeper driver (StateStoreZooKeeperImpl):
 *
 *   <parent>/<record type>/<escaped key>     persistent; base64 of the protobuf bytes; ctime and mtime are the record's dates
 *
 * A node is created together with its data, so that no reader meets an empty one. What cannot be read is reported and kept. Mount entries
 * and disabled nameservices are watched: a record is read again only when its watch has fired.
 */
import { formatAddress } from '../config/address.ts';
import type { ZooKeeperSettings } from '../config/zookeeper.ts';
import {
  MAX_RECORDS,
  type PutOptions,
  type RawRecord,
  type ReadResult,
  reasonOf,
  StateStoreError,
  type StoreDriver,
  type StoreProblem,
} from './driver.ts';
import { unusableNameReason } from './record-names.ts';
import { RECORD_TYPES, type RecordType } from './records.ts';
import { ErrorCode, isCode, OPEN_ACL, ZooKeeperError } from './zookeeper/protocol.ts';
import { Session } from './zookeeper/session.ts';

/** Changes of these are told; membership and routers are polled, they change all the time. */
const WATCHED: readonly RecordType[] = ['MountTable', 'DisabledNameservice'];
/** Nodes asked for at the same time. */
const READS_AT_ONCE = 256;
/** Longest reading of all records of a type. */
const READ_ALL_WITHIN_MS = 120_000;
/** Everything is read again after this time even if no watch has fired. */
const FULL_READ_EVERY_MS = 300_000;
/** Between an event and the call of `onChange`. */
const COALESCE_MS = 20;
/** Attempts of a write that others undo in between: created, removed, created … */
const MAX_ATTEMPTS = 5;

/** What was last read of one watched type. */
interface Known {
  readonly names: readonly string[];
  readonly records: Map<string, RawRecord | StoreProblem>;
  /** Names of nodes that nothing watches: they have changed, or could not be watched. */
  readonly unwatched: Set<string>;
  /** When everything was last read. */
  readonly readAtMs: number;
}

export class ZooKeeperDriver implements StoreDriver {
  readonly isVersioned = true;
  readonly #store: ZooKeeperSettings;
  readonly #session: Session;
  readonly #onRemark: (text: string) => void;
  readonly #root: string;
  readonly #known = new Map<RecordType, Known>();
  /** Sessions that have ended, and all watches with each of them. */
  #expired = 0;
  readonly #readings = new Map<RecordType, { current: Promise<ReadResult>; next: Promise<ReadResult> | null }>();
  readonly #changed = new Set<RecordType>();
  #changeTimer: NodeJS.Timeout | null = null;
  #waiting: (() => void)[] = [];
  #isClosed = false;
  onChange: (type: RecordType) => void = () => {};

  /** `onRemark` gets what is worth a line in the log: connected, lost, expired. */
  constructor(store: ZooKeeperSettings, onRemark: (text: string) => void = () => {}) {
    this.#store = store;
    this.#onRemark = onRemark;
    this.#root = `${store.chroot}${store.parentPath === '/' ? '' : store.parentPath}`;
    this.#session = new Session(store, {
      onConnected: (isNew) => this.#onConnected(isNew),
      onWatch: ({ path }) => this.#onWatch(path),
      onExpired: () => {
        this.#expired++;
        this.#known.clear();
      },
      onRemark: (text) => onRemark(`State Store in ZooKeeper: ${text}`),
    });
  }

  get ready(): boolean {
    return this.#session.isConnected;
  }

  async start(): Promise<void> {
    this.#session.start();
    if (!this.ready) await this.#connected();
    await this.#guard(this.#root, () => this.#makeNodes());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#changeTimer !== null) clearTimeout(this.#changeTimer);
    for (const wake of this.#waiting.splice(0)) wake();
    await this.#session.close();
  }

  /** Who asks while a reading is under way waits for the next one: what it has just changed must be in. */
  async readAll(type: RecordType): Promise<ReadResult> {
    const reading = this.#readings.get(type);
    if (reading === undefined) return await this.#startReading(type);
    reading.next ??= reading.current.then(
      () => this.#startReading(type),
      () => this.#startReading(type),
    );
    return await reading.next;
  }

  async put(type: RecordType, name: string, bytes: Buffer, options: PutOptions): Promise<boolean> {
    const path = this.#pathOf(type, name);
    const data = Buffer.from(bytes.toString('base64'), 'latin1');
    return await this.#guard(path, async () => {
      const { version } = options;
      if (version !== undefined) return await this.#replaceVersion(path, data, version);
      if (!options.update && options.errorIfExists) return await this.#create(path, data);
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        if (await this.#replace(path, data)) return true;
        if (await this.#create(path, data)) return true;
      }
      throw new Error(`removed and created again ${MAX_ATTEMPTS} times meanwhile`);
    });
  }

  async remove(type: RecordType, name: string): Promise<boolean> {
    const path = this.#pathOf(type, name);
    return await this.#guard(path, async () => {
      try {
        await this.#retryLost(() => this.#session.delete(path));
        return true;
      } catch (error) {
        if (isCode(error, ErrorCode.NO_NODE)) return false;
        throw error;
      }
    });
  }

  #startReading(type: RecordType): Promise<ReadResult> {
    const current = this.#guard(this.#typePath(type), () => this.#read(type)).finally(() => {
      const reading = this.#readings.get(type);
      if (reading?.current === current && reading.next === null) this.#readings.delete(type);
    });
    this.#readings.set(type, { current, next: null });
    return current;
  }

  async #read(type: RecordType): Promise<ReadResult> {
    const isWatched = WATCHED.includes(type);
    const path = this.#typePath(type);
    // Events of watches arrive before the answer: what is still watched afterwards is unchanged.
    await this.#session.sync(path);
    const nowMs = performance.now();
    const expired = this.#expired;
    const before = this.#known.get(type) ?? null;
    const isRecent = before !== null && nowMs - before.readAtMs <= FULL_READ_EVERY_MS;
    let known: Known;
    let wanted: readonly string[];
    if (isRecent && this.#session.watchesChildren(path)) {
      known = before;
      wanted = [...before.unwatched];
    } else {
      // The names are watched anew: should this reading fail, those of before count no more.
      this.#known.delete(type);
      const names = await this.#listNames(path, isWatched);
      if (names.length > MAX_RECORDS) throw new Error(`${names.length} records, at most ${MAX_RECORDS} are read`);
      known = { names, records: new Map(), unwatched: new Set(), readAtMs: isRecent ? before.readAtMs : nowMs };
      for (const name of names) {
        const record = isRecent ? before.records.get(name) : undefined;
        if (record !== undefined && this.#isWatched(path, name)) known.records.set(name, record);
        else known.unwatched.add(name);
      }
      wanted = [...known.unwatched];
    }
    const read = new Map<string, RawRecord | StoreProblem>();
    await this.#readNodes(path, wanted, isWatched, read, nowMs + READ_ALL_WITHIN_MS);
    for (const name of wanted) {
      const record = read.get(name);
      if (record === undefined) known.records.delete(name);
      else known.records.set(name, record);
      if (this.#isWatched(path, name)) known.unwatched.delete(name);
      else known.unwatched.add(name);
    }
    if (isWatched && known !== before) {
      // Events of the meantime went nowhere.
      for (const name of known.names) if (!this.#isWatched(path, name)) known.unwatched.add(name);
      if (expired === this.#expired) this.#known.set(type, known);
    }
    return sortOut(known.names, known.records);
  }

  #isWatched(path: string, name: string): boolean {
    return this.#session.watchesData(`${path}/${name}`);
  }

  async #listNames(path: string, watch: boolean): Promise<string[]> {
    try {
      return (await this.#session.getChildren(path, watch)).sort();
    } catch (error) {
      if (!isCode(error, ErrorCode.NO_NODE)) throw error;
    }
    await this.#makeNodes();
    return (await this.#session.getChildren(path, watch)).sort();
  }

  async #readNodes(
    path: string,
    names: readonly string[],
    watch: boolean,
    into: Map<string, RawRecord | StoreProblem>,
    deadlineMs: number,
  ): Promise<void> {
    let next = 0;
    let isFailed = false;
    const readNext = async (): Promise<void> => {
      while (next < names.length && !isFailed) {
        const name = names[next++] as string;
        if (performance.now() > deadlineMs) throw new Error(`reading takes longer than ${READ_ALL_WITHIN_MS} ms`);
        try {
          const node = await this.#readNode(`${path}/${name}`, name, watch);
          if (node !== null) into.set(name, node);
        } catch (error) {
          isFailed = true;
          throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(READS_AT_ONCE, names.length) }, readNext));
  }

  /** Null when the node has been removed since it was listed. */
  async #readNode(place: string, name: string, watch: boolean): Promise<RawRecord | StoreProblem | null> {
    try {
      return await this.#session.getData<RawRecord | StoreProblem>(place, watch, ({ data, stat }) => {
        if (data.length === 0) return { name, place, reason: `the node is empty; ${REMOVE_IT}` };
        const bytes = Buffer.from(data.toString('latin1'), 'base64');
        if (bytes.length === 0) return { name, place, reason: `no base64 in the node; ${REMOVE_IT}` };
        const { ctimeMs, mtimeMs, version } = stat;
        return { name, place, bytes, createdMs: ctimeMs, modifiedMs: mtimeMs, version };
      });
    } catch (error) {
      if (isCode(error, ErrorCode.NO_NODE)) return null;
      if (isCode(error, ErrorCode.NO_AUTH)) return { name, place, reason: `no permission; ${PERMIT}` };
      throw error;
    }
  }

  /** False when there is a node already. */
  async #create(path: string, data: Buffer): Promise<boolean> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      try {
        await this.#session.create(path, data, OPEN_ACL);
        return true;
      } catch (error) {
        if (isCode(error, ErrorCode.NODE_EXISTS)) {
          // Ours, when a create before this one succeeded without an answer.
          return attempt > 0 && (await this.#holds(path, data));
        }
        if (isCode(error, ErrorCode.NO_NODE)) await this.#makeNodes();
        else if (!isCode(error, ErrorCode.CONNECTION_LOSS) || this.#isClosed) throw error;
      }
    }
    throw new ZooKeeperError(ErrorCode.CONNECTION_LOSS, this.#session.lastReason);
  }

  /** False when there is no node. */
  async #replace(path: string, data: Buffer): Promise<boolean> {
    try {
      await this.#retryLost(() => this.#session.setData(path, data));
      return true;
    } catch (error) {
      if (isCode(error, ErrorCode.NO_NODE)) return false;
      throw error;
    }
  }

  /** False when the node has another version or is not there. */
  async #replaceVersion(path: string, data: Buffer, version: number): Promise<boolean> {
    let isRepeated = false;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      try {
        await this.#session.setData(path, data, version);
        return true;
      } catch (error) {
        if (isCode(error, ErrorCode.NO_NODE)) return false;
        if (isCode(error, ErrorCode.BAD_VERSION)) return isRepeated && (await this.#holds(path, data, version + 1));
        if (!isCode(error, ErrorCode.CONNECTION_LOSS) || this.#isClosed) throw error;
        isRepeated = true;
      }
    }
    throw new ZooKeeperError(ErrorCode.CONNECTION_LOSS, this.#session.lastReason);
  }

  async #holds(path: string, data: Buffer, version: number | null = null): Promise<boolean> {
    try {
      return await this.#session.getData(path, false, (node) => {
        return node.data.equals(data) && (version === null || node.stat.version === version);
      });
    } catch (error) {
      if (isCode(error, ErrorCode.NO_NODE)) return false;
      throw error;
    }
  }

  /** For writes that may be done twice. */
  async #retryLost<T>(write: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await write();
      } catch (error) {
        if (!isCode(error, ErrorCode.CONNECTION_LOSS) || attempt === MAX_ATTEMPTS || this.#isClosed) throw error;
      }
    }
  }

  /** The parent path and the nodes of the record types, each with the configured rights where it is not there yet. */
  async #makeNodes(): Promise<void> {
    const parts = this.#root.split('/').slice(1).filter(Boolean);
    for (let i = 1; i <= parts.length; i++) await this.#makeNode(`/${parts.slice(0, i).join('/')}`);
    for (const type of Object.keys(RECORD_TYPES) as RecordType[]) await this.#makeNode(this.#typePath(type));
  }

  async #makeNode(path: string): Promise<void> {
    if ((await this.#session.exists(path)) !== null) return;
    try {
      await this.#retryLost(() => this.#session.create(path, null, this.#store.acl));
    } catch (error) {
      if (!isCode(error, ErrorCode.NODE_EXISTS)) throw error;
    }
  }

  async #connected(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#store.timeoutMs);
    this.#waiting.push(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting = this.#waiting.filter((wake) => wake !== resolve);
    if (this.ready) return;
    const reason = this.#isClosed ? 'closed' : this.#session.lastReason || 'no answer';
    throw this.#error(this.#root, new ZooKeeperError(ErrorCode.CONNECTION_LOSS, reason));
  }

  #onConnected(isNew: boolean): void {
    for (const wake of this.#waiting.splice(0)) wake();
    if (!isNew) return;
    for (const type of WATCHED) this.#tellChange(type);
  }

  #onWatch(path: string): void {
    const type = WATCHED.find((one) => path === this.#typePath(one) || path.startsWith(`${this.#typePath(one)}/`));
    if (type === undefined) return;
    const name = path.slice(this.#typePath(type).length + 1);
    if (name !== '') this.#known.get(type)?.unwatched.add(name);
    this.#tellChange(type);
  }

  #tellChange(type: RecordType): void {
    this.#changed.add(type);
    this.#changeTimer ??= setTimeout(() => {
      this.#changeTimer = null;
      const types = [...this.#changed];
      this.#changed.clear();
      for (const one of types) {
        try {
          this.onChange(one);
        } catch (error) {
          this.#onRemark(`State Store in ZooKeeper: a change of ${one} could not be told: ${reasonOf(error)}`);
        }
      }
    }, COALESCE_MS);
  }

  #typePath(type: RecordType): string {
    return `${this.#root}/${type}`;
  }

  #pathOf(type: RecordType, name: string): string {
    const reason = unusableNameReason(name);
    if (reason !== null) throw new StateStoreError(`State Store record '${name}': ${reason}; choose another`);
    return `${this.#typePath(type)}/${name}`;
  }

  async #guard<T>(path: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      throw this.#error(path, error);
    }
  }

  #error(path: string, error: unknown): StateStoreError {
    if (error instanceof StateStoreError) return error;
    const servers = this.#store.servers.map(({ host, port }) => formatAddress(host, port)).join(',');
    const text = `State Store in ZooKeeper at ${servers}, ${path}: ${reasonOf(error)}; ${remedyFor(error)}`;
    return new StateStoreError(text, error instanceof Error ? { cause: error } : {});
  }
}

const REMOVE_IT = 'remove it or write the record again; a Java router deletes it';
const PERMIT = 'give the identity of hadoop.zk.auth the rights there, or correct hadoop.zk.auth';

/** What was read, in the order of the names. */
function sortOut(names: readonly string[], read: ReadonlyMap<string, RawRecord | StoreProblem>): ReadResult {
  const records: RawRecord[] = [];
  const problems: StoreProblem[] = [];
  for (const name of names) {
    const one = read.get(name);
    if (one === undefined) continue;
    if ('reason' in one) problems.push(one);
    else records.push(one);
  }
  return { records, problems };
}

function remedyFor(error: unknown): string {
  const code = error instanceof ZooKeeperError ? error.code : 0;
  if (code === ErrorCode.NO_AUTH) return PERMIT;
  if (code === ErrorCode.AUTH_FAILED) return 'correct hadoop.zk.auth';
  if (code === ErrorCode.MARSHALLING) return 'make the record smaller';
  if (code === ErrorCode.BAD_ARGUMENTS || code === ErrorCode.NOT_EMPTY) return 'choose another name';
  return 'see that the servers run and can be reached, or correct hadoop.zk.address';
}
