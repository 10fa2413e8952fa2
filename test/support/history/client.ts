import { randomBytes } from 'node:crypto';
import { FederatedState } from '../../../src/load/thread/federated-state.ts';
import { SCAN_OK } from '../../../src/wire/call-scan.ts';
import { Status } from '../../../src/wire/reply-head.ts';
import { ReplyScan, scanReply } from '../../../src/wire/reply-scan.ts';
import { textOf } from '../../../src/wire/text.ts';
import { Connection, type ConnectionOwner, type Server } from './connection.ts';
import { type History, Kind } from './history.ts';
import { CLIENT_ID_BYTES, readStatus, SeenStatus, type SentState } from './requests.ts';

/**
 * How a client carries what it has seen:
 *
 * - `federated`: routerFederatedState, merged by maximum for each nameservice, as Java clients of routers do
 * - `direct`: the state id of one nameservice, as clients of NameNodes do
 * - `zero`: the state id 0, whatever it has seen: an observer takes that for "any state is new enough"
 * - `none`: nothing, as plain clients
 */
export type Carrier = 'federated' | 'direct' | 'zero' | 'none';

export interface ClientOptions {
  readonly history: History;
  /** Its number in the history. */
  readonly index: number;
  /** Where its routers are now; they may move when they start again. */
  readonly routers: readonly (() => Server)[];
  readonly pathOf: (file: number) => string;
  readonly carrier: Carrier;
  readonly user?: string;
  /** An operation is given up when this has passed since it was invoked. Default 60,000. */
  readonly giveUpMs?: number;
  /** A connection whose call waits longer is given up, and the call sent again. Default 15,000. */
  readonly answerMs?: number;
}

const DEFAULT_GIVE_UP_MS = 60_000;
const DEFAULT_ANSWER_MS = 15_000;
const LOOK_EVERY_MS = 250;
/** Before a call is sent again: doubles from the first to the last. */
const FIRST_PAUSE_MS = 5;
const LAST_PAUSE_MS = 320;
/** What clients send again, the first to the same router. */
const RETRIABLE = 'org.apache.hadoop.ipc.RetriableException';
const FAIL_OVER = ['org.apache.hadoop.ipc.StandbyException', 'org.apache.hadoop.ipc.ObserverRetryOnActiveException'];
const NO_STATE: SentState = { stateId: -1, federated: null };

interface Pending {
  readonly row: number;
  readonly kind: Kind;
  readonly callId: number;
  readonly path: string;
  readonly giveUpAtMs: number;
  readonly done: (succeeded: boolean) => void;
  retryCount: number;
  sentAtMs: number;
  /** Null while it pauses. */
  connection: Connection | null;
  timer: NodeJS.Timeout | null;
}

/** How often operations had to be sent again, and why some were given up. */
export interface Trouble {
  resent: number;
  /** The last reason for each operation that failed, with its number. */
  readonly reasons: Map<string, number>;
}

/**
 * An HDFS client that records what it does and sees. It may have many calls at once, and moves between routers as it is told to and as they
 * fail, with the same call ids, so that what was executed is not executed again.
 */
export class HistoryClient implements ConnectionOwner, Disposable {
  readonly clientId: Buffer;
  readonly user: string;
  readonly holder: string;
  readonly trouble: Trouble = { resent: 0, reasons: new Map() };
  readonly #options: ClientOptions;
  readonly #connections: (Connection | null)[];
  readonly #pending = new Map<number, Pending>();
  readonly #federated = new FederatedState();
  readonly #scan = new ReplyScan();
  readonly #seen = new SeenStatus();
  readonly #look: NodeJS.Timeout;
  #state: SentState = NO_STATE;
  #nextCallId = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.user = options.user ?? 'hdfs';
    this.holder = `DFSClient_history_${options.index}`;
    this.clientId = randomBytes(CLIENT_ID_BYTES);
    this.#connections = options.routers.map(() => null);
    this.#look = setInterval(() => this.#lookForSilence(), LOOK_EVERY_MS).unref();
    if (options.carrier === 'none') options.history.plainClients.add(options.index);
    if (options.carrier === 'direct' || options.carrier === 'zero') this.#state = { stateId: 0, federated: null };
  }

  /** Settles when the operation is over, with whether it succeeded; what came is in the history. */
  read(file: number, router: number): Promise<boolean> {
    return this.#start(Kind.READ, file, router);
  }

  write(file: number, router: number): Promise<boolean> {
    return this.#start(Kind.WRITE, file, router);
  }

  msync(router: number): Promise<boolean> {
    return this.#start(Kind.MSYNC, -1, router);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#look);
    for (const connection of this.#connections) connection?.close();
    for (const pending of [...this.#pending.values()]) this.#fail(pending, 0, 'the client was closed');
  }

  #start(kind: Kind, file: number, router: number): Promise<boolean> {
    const { history, index, pathOf, giveUpMs = DEFAULT_GIVE_UP_MS } = this.#options;
    const row = history.invoke(index, router, kind, file);
    const callId = this.#nextCallId++;
    return new Promise((done) => {
      const pending: Pending = {
        row,
        kind,
        callId,
        path: kind === Kind.MSYNC ? '' : pathOf(file),
        giveUpAtMs: performance.now() + giveUpMs,
        done,
        retryCount: 0,
        sentAtMs: 0,
        connection: null,
        timer: null,
      };
      this.#pending.set(callId, pending);
      this.#send(pending, router);
    });
  }

  #send(pending: Pending, router: number): void {
    let connection = this.#connections[router] ?? null;
    if (connection === null) {
      connection = new Connection(this, router, this.#options.routers[router]!());
      this.#connections[router] = connection;
    }
    pending.connection = connection;
    pending.sentAtMs = performance.now();
    connection.send(pending, this.#state);
  }

  onReply(connection: Connection, buffer: Buffer, start: number, end: number): void {
    const scan = this.#scan;
    if (scanReply(buffer, start, end, scan) !== SCAN_OK) {
      connection.lose('a reply that cannot be read');
      return;
    }
    // Before anybody can act on the answer.
    if (scan.status === Status.SUCCESS) this.#merge(buffer, scan);
    const pending = this.#pending.get(scan.callId);
    // The same call may have been answered on another connection.
    if (pending === undefined || pending.connection !== connection) return;
    if (scan.status === Status.SUCCESS) this.#succeed(pending, connection, buffer, scan.headerEnd, end);
    else {
      const className = textOf(buffer, scan.classStart, scan.classEnd);
      const message = textOf(buffer, scan.messageStart, scan.messageEnd).split('\n', 1)[0] ?? '';
      this.#retry(pending, className, `${className}: ${message}`);
    }
  }

  onLost(connection: Connection, why: string): void {
    if (this.#connections[connection.router] === connection) this.#connections[connection.router] = null;
    for (const pending of [...this.#pending.values()]) {
      if (pending.connection === connection) this.#retry(pending, FAIL_OVER[0]!, why);
    }
  }

  #merge(buffer: Buffer, scan: ReplyScan): void {
    const { carrier } = this.#options;
    if (carrier === 'federated' && scan.federatedStart !== 0) {
      this.#federated.merge(buffer, scan.federatedStart, scan.federatedEnd);
      // Once there was one, it is sent also when it is empty.
      if (this.#federated.changed || this.#state.federated === null) {
        this.#state = { stateId: -1, federated: this.#federated.encode() };
      }
    } else if (carrier === 'direct' && scan.hasStateId) {
      const stateId = scan.stateIdHigh * 2 ** 32 + (scan.stateIdLow >>> 0);
      if (stateId > this.#state.stateId) this.#state = { stateId, federated: null };
    }
  }

  #succeed(pending: Pending, connection: Connection, buffer: Buffer, start: number, end: number): void {
    const { row, kind } = pending;
    if (kind === Kind.MSYNC) {
      this.#options.history.succeed(row, connection.router);
    } else if (readStatus(buffer, start, end, this.#seen)) {
      this.#options.history.succeed(row, connection.router, this.#seen.version, this.#seen.write);
    } else {
      connection.lose('an answer that cannot be read');
      return;
    }
    this.#pending.delete(pending.callId);
    pending.done(true);
  }

  #retry(pending: Pending, className: string, why: string): void {
    const router = pending.connection!.router;
    const fails = !FAIL_OVER.includes(className) && className !== RETRIABLE;
    if (fails || performance.now() > pending.giveUpAtMs) {
      this.#fail(pending, router, why);
      return;
    }
    const next = className === RETRIABLE ? router : (router + 1) % this.#connections.length;
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** pending.retryCount, LAST_PAUSE_MS);
    pending.connection = null;
    pending.retryCount++;
    this.trouble.resent++;
    pending.timer = setTimeout(() => {
      pending.timer = null;
      this.#send(pending, next);
    }, pauseMs);
  }

  #fail(pending: Pending, router: number, why: string): void {
    if (pending.timer !== null) clearTimeout(pending.timer);
    this.#pending.delete(pending.callId);
    this.#options.history.fail(pending.row, router);
    this.trouble.reasons.set(why, (this.trouble.reasons.get(why) ?? 0) + 1);
    pending.done(false);
  }

  /** Calls that nobody answers: their connections are given up. */
  #lookForSilence(): void {
    const { answerMs = DEFAULT_ANSWER_MS } = this.#options;
    const latest = performance.now() - answerMs;
    for (const { connection, sentAtMs } of [...this.#pending.values()]) {
      if (connection?.isUsable && sentAtMs < latest) connection.lose(`no answer within ${answerMs} ms`);
    }
  }
}
