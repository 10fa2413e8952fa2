/**
 * What clients did and saw, one row an operation, in columns.
 *
 * A file is a register. A write creates it anew, over what was there (`create` with CREATE and OVERWRITE), a read is its status
 * (`getFileInfo`). What tells them apart comes back with each status:
 *
 *   version   the file's inode id. A NameNode hands ids out in the order of its transactions, so over all files of a nameservice a greater
 *             version is a later write; nobody has to be asked for that order, several clients may write one file, and the writer learns it
 *             from the answer.
 *   write     which write of this history made it: the block size, which the writer chose (BASE_BLOCK_BYTES + the operation's number).
 *
 * So a read says exactly what it saw, even a write whose answer was lost, and `create` is @AtMostOnce: sent again it is not executed again.
 *
 * Time is a count of events, at which each operation was invoked and returned. A client may have several operations at once; what one of them
 * must see is what the client had seen when it was invoked.
 */

export const Kind = { READ: 0, WRITE: 1, MSYNC: 2 } as const;
export type Kind = (typeof Kind)[keyof typeof Kind];

/**
 * OPEN: no answer (yet). FAILED: an exception, or no answer, at the end of all attempts; a write may have happened all the same, which only
 * reads can tell.
 */
export const Outcome = { OPEN: 0, SUCCESS: 1, FAILED: 2 } as const;

/** The least that NameNodes allow by default, `dfs.namenode.fs-limits.min-block-size`. */
export const BASE_BLOCK_BYTES: number = 1024 * 1024;
/** The file was not there. */
export const NO_VERSION = 0;
/** The write that made a version is not one of this history; of a version that is none, no write. */
export const NO_WRITE = -1;
const NOT_RETURNED = 0;
const FIRST_ROWS = 1024;

/** While two NameNodes of a nameservice act as the active one: the one that was fenced answers reads and msync as if nothing had happened. */
export interface Doubt {
  readonly nameservice: number;
  /** Events after which it begins and up to which it lasts. */
  readonly from: number;
  to: number;
  /**
   * The fenced one counts transactions that were never written: its state ids say that it knows what it does not know, and nobody can tell.
   * Else a client that has seen more finds out.
   */
  readonly countsUnwritten: boolean;
}

export interface HistoryShape {
  readonly nameservices: readonly string[];
  /** File f belongs to nameservice floor(f / filesPerNameservice). */
  readonly filesPerNameservice: number;
  readonly clients: number;
  /**
   * Clients with state see in a read what was written so long before their last operation, in milliseconds: the refresh period of the
   * routers and what it takes to answer. Left out: nothing is asked of them.
   */
  readonly freshMs?: number;
  /** Default performance.now. */
  readonly nowMs?: () => number;
}

export class History {
  readonly nameservices: readonly string[];
  readonly filesPerNameservice: number;
  readonly clients: number;
  readonly freshMs: number;
  length = 0;
  /** Events so far. */
  clock = 0;
  client = new Uint16Array(FIRST_ROWS);
  /** Through which it went at last. */
  router = new Uint8Array(FIRST_ROWS);
  /** Kind. */
  kind = new Uint8Array(FIRST_ROWS);
  /** -1 for msync. */
  file = new Int32Array(FIRST_ROWS);
  invokedAt = new Int32Array(FIRST_ROWS);
  returnedAt = new Int32Array(FIRST_ROWS);
  /** When it was invoked and when it returned. */
  invokedMs = new Float64Array(FIRST_ROWS);
  returnedMs = new Float64Array(FIRST_ROWS);
  /** Outcome. */
  outcome = new Uint8Array(FIRST_ROWS);
  /** Seen by a read, made by a write. */
  version = new Float64Array(FIRST_ROWS);
  /** Operation that made the version, NO_WRITE for none. */
  write = new Int32Array(FIRST_ROWS);
  /** Clients that send no state: each of their reads must see all that was written before. */
  readonly plainClients = new Set<number>();
  /** Nameservices that may have forgotten what nobody was told of: a fenced active had transactions that were never written. */
  readonly forgetful = new Set<number>();
  /** By their begin. */
  readonly doubts: Doubt[] = [];
  readonly #nowMs: () => number;

  constructor(shape: HistoryShape) {
    this.nameservices = shape.nameservices;
    this.filesPerNameservice = shape.filesPerNameservice;
    this.clients = shape.clients;
    this.freshMs = shape.freshMs ?? Number.POSITIVE_INFINITY;
    this.#nowMs = shape.nowMs ?? (() => performance.now());
  }

  get files(): number {
    return this.nameservices.length * this.filesPerNameservice;
  }

  nameserviceOf(file: number): number {
    return Math.floor(file / this.filesPerNameservice);
  }

  /** The number of a new operation. */
  invoke(client: number, router: number, kind: Kind, file: number): number {
    if (this.length === this.client.length) this.#grow();
    const row = this.length++;
    this.client[row] = client;
    this.router[row] = router;
    this.kind[row] = kind;
    this.file[row] = file;
    this.invokedAt[row] = ++this.clock;
    this.invokedMs[row] = this.#nowMs();
    this.returnedAt[row] = NOT_RETURNED;
    this.outcome[row] = Outcome.OPEN;
    this.version[row] = NO_VERSION;
    this.write[row] = NO_WRITE;
    return row;
  }

  /** `version` and `write` as the answer tells them; for msync neither. */
  succeed(row: number, router: number, version: number = NO_VERSION, write: number = NO_WRITE): void {
    this.#return(row, router, Outcome.SUCCESS);
    this.version[row] = version;
    this.write[row] = write;
  }

  fail(row: number, router: number): void {
    this.#return(row, router, Outcome.FAILED);
  }

  /** From now on two NameNodes act as active, until the function is called. */
  beginDoubt(nameservice: number, countsUnwritten: boolean): () => void {
    const doubt: Doubt = { nameservice, from: this.clock, to: Number.POSITIVE_INFINITY, countsUnwritten };
    this.doubts.push(doubt);
    return () => {
      doubt.to = this.clock;
    };
  }

  hasReturned(row: number): boolean {
    return this.returnedAt[row] !== NOT_RETURNED;
  }

  /** One operation as text, for the message of a failing test. */
  describe(row: number): string {
    const client = `client ${this.client[row]}${this.plainClients.has(this.client[row]!) ? ' (plain)' : ''}`;
    const at = `${this.invokedAt[row]}–${this.hasReturned(row) ? this.returnedAt[row] : '…'}`;
    const head = `#${row} [${at}] ${client}, router ${this.router[row]}:`;
    const file = this.file[row]!;
    if (this.kind[row] === Kind.MSYNC) return `${head} msync ${OUTCOME_NAMES[this.outcome[row]!]}`;
    const name = `${this.nameservices[this.nameserviceOf(file)]} file ${file}`;
    const version = this.version[row]!;
    const seen = version === NO_VERSION ? 'nothing' : `version ${version}`;
    const result = this.outcome[row] === Outcome.SUCCESS ? seen : OUTCOME_NAMES[this.outcome[row]!];
    if (this.kind[row] === Kind.WRITE) return `${head} writes ${name}: ${result}`;
    return `${head} reads ${name}: ${result}${this.write[row] === NO_WRITE ? '' : ` of #${this.write[row]}`}`;
  }

  #return(row: number, router: number, outcome: number): void {
    if (row < 0 || row >= this.length) throw new RangeError(`no operation ${row}: there are ${this.length}`);
    if (this.hasReturned(row)) throw new Error(`a second answer to ${this.describe(row)}`);
    this.router[row] = router;
    this.returnedAt[row] = ++this.clock;
    this.returnedMs[row] = this.#nowMs();
    this.outcome[row] = outcome;
  }

  #grow(): void {
    const rows = this.length * 2;
    this.client = grown(this.client, new Uint16Array(rows));
    this.router = grown(this.router, new Uint8Array(rows));
    this.kind = grown(this.kind, new Uint8Array(rows));
    this.file = grown(this.file, new Int32Array(rows));
    this.invokedAt = grown(this.invokedAt, new Int32Array(rows));
    this.returnedAt = grown(this.returnedAt, new Int32Array(rows));
    this.invokedMs = grown(this.invokedMs, new Float64Array(rows));
    this.returnedMs = grown(this.returnedMs, new Float64Array(rows));
    this.outcome = grown(this.outcome, new Uint8Array(rows));
    this.version = grown(this.version, new Float64Array(rows));
    this.write = grown(this.write, new Int32Array(rows));
  }
}

const OUTCOME_NAMES = ['no answer', 'success', 'failed'] as const;

function grown<Column extends { set(from: Column): void }>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}
