import net from 'node:net';
import type { AcceptorSide, ClientIdentity, WorkerLink } from '../handoff/link.ts';
import { ReplyFlag } from '../handoff/link.ts';
import { SharedBudget } from '../shared/byte-budget.ts';
import { type ClientCounts, CountOf } from '../shared/client-counts.ts';
import { Clock } from '../shared/clock.ts';
import type { ControlBlock } from '../shared/control-block.ts';
import { Counter, type Counters } from '../shared/counters.ts';
import type { ProtectionSettings, Settings } from '../shared/settings.ts';
import { ClientConnection, plainAddress } from './connection.ts';
import { SlabPool } from './outbox.ts';
import { MAX_OUTSTANDING, Outstanding } from './outstanding.ts';
import { CallReader } from './read-call.ts';
import { errorTo, shuttingDown, workerDied } from './refusal.ts';
import { Watch } from './watch.ts';

/** Client connections of one acceptor, whatever the configuration says. */
export const MAX_CONNECTIONS = 1 << 20;
const READ_BYTES = 64 * 1024;
const LISTEN_BACKLOG = 4096;
const SWEEP_MS = 1000;
/**
 * Handshakes completed in one turn of the event loop. Accepting is paced by the loop itself, which takes one connection a turn; but thousands that
 * were accepted may speak in the same turn, and no answer of another client leaves before its end.
 */
const CONTEXTS_PER_TURN = 32;
/** Silence after which TCP asks whether a client is still there. */
const KEEPALIVE_S = 300;
/** What slow clients get at most while memory is short. */
const SHORT_PATIENCE_MS = 10_000;
/** Connections whose outboxes fill before they are flushed within a turn: few enough that their slabs stay in the cache. */
const MAX_DIRTY = 64;
/** After the last answer of a drain: time in which calls that were on their way are refused, and time for clients to read and close. */
const LAST_CALLS_MS = 200;
const LAST_READS_MS = 100;
/** Lines for the log between two sweeps. */
const MAX_NOTES_PER_SWEEP = 5;

/** What the acceptor asks of the main thread, and tells it. */
export interface AcceptorHost {
  authorize(connection: number, generation: number, identity: ClientIdentity): void;
  note(text: string): void;
  /** After `drain`: every call handed over has been answered and has left. */
  drained(): void;
}

interface Worker {
  link: WorkerLink;
  /** Client connections per user, and all. */
  readonly users: Map<string, number>;
  connections: number;
  /** Connections that wait for room in its ring. */
  waiting: ClientConnection[];
}

/**
 * The acceptor thread: owns the client sockets and the table of outstanding calls. Reads calls (connection.ts) and hands them to workers;
 * writes what workers hand back.
 */
export class Acceptor implements AcceptorSide {
  readonly settings: Settings;
  readonly limits: ProtectionSettings;
  readonly clock = new Clock();
  readonly counters: Counters;
  readonly budget: SharedBudget;
  readonly outstanding = new Outstanding();
  readonly reader = new CallReader();
  readonly slabs = new SlabPool();
  /** All client sockets read into it: read and callback are one event, and what must be kept is copied before it ends. */
  readonly readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);
  /** Connections with replies that do not leave. */
  readonly stalled = new Set<ClientConnection>();
  /** Connections that are not read from. */
  paused = 0;
  draining = false;
  readonly #host: AcceptorHost;
  /** With holes for workers that were not there yet. */
  readonly #workers: (Worker | undefined)[] = [];
  readonly #connections: (ClientConnection | null)[] = [];
  readonly #freeIds: number[] = [];
  #generation = 0;
  #open = 0;
  #dirty: ClientConnection[] = [];
  #flushing: ClientConnection[] = [];
  #flushAsked = false;
  #waitingForSlot: ClientConnection[] = [];
  #server: net.Server | null = null;
  #sweep: NodeJS.Timeout | null = null;
  readonly #watch: Watch;
  readonly #counts: ClientCounts | null;
  /** Connection contexts read in this turn, and those that wait for a later one. */
  #contexts = 0;
  #waitingForTurn: ClientConnection[] = [];
  #drainedSaid = false;
  #notes = 0;

  /** `counts`: of all acceptors; needed when there are limits for addresses or users. */
  constructor(
    settings: Settings,
    block: ControlBlock,
    counters: Counters,
    host: AcceptorHost,
    counts: ClientCounts | null = null,
  ) {
    this.settings = settings;
    this.limits = settings.protection;
    this.#watch = new Watch(settings);
    this.#counts = counts;
    this.counters = counters;
    this.budget = new SharedBudget(block, counters, settings.memoryBytes);
    this.#host = host;
  }

  get openConnections(): number {
    return this.#open;
  }

  /** The connection at this place of the table, null when there is none. */
  connectionOf(id: number): ClientConnection | null {
    return this.#connections[id] ?? null;
  }

  /** Starts to listen; `listening` is told the port. May be asked again after it has failed. */
  listen(port: number, listening: (port: number) => void, failed: (error: Error) => void): void {
    const server = net.createServer({ noDelay: this.settings.tcpNoDelay });
    this.#server = server;
    server.on('error', failed);
    server.listen(
      { host: this.settings.rpcHost, port, backlog: LISTEN_BACKLOG, reusePort: this.settings.acceptors > 1 },
      () => {
        const handle = (server as unknown as { _handle: AcceptingHandle })._handle;
        // Accepted handles become sockets that read into our one buffer; net.Server has no public way to that.
        handle.onconnection = (status, accepted) => this.#onConnection(status, accepted);
        listening((server.address() as net.AddressInfo).port);
      },
    );
    this.#sweep ??= setInterval(() => this.#onSweep(), SWEEP_MS);
  }

  addWorker(index: number, link: WorkerLink): void {
    const before = this.#workers[index];
    this.#workers[index] = { link, users: new Map(), connections: 0, waiting: [] };
    if (before !== undefined) this.#replaceWorker(index, before);
  }

  /** The worker has died: its calls are answered, its connections wait for the next one (`addWorker`). */
  onWorkerDown(index: number): void {
    const worker = this.#workers[index];
    // It died before this acceptor had heard of it.
    if (worker === undefined) return;
    worker.link.close();
    for (const slot of this.outstanding.slotsOf(index)) {
      const connection = this.#connections[this.outstanding.connection[slot] as number] ?? null;
      if (connection !== null && connection.generation === this.outstanding.generation[slot]) {
        const answer = workerDied(this.outstanding.callId[slot] as number, this.outstanding.retryCount[slot] as number);
        connection.writeReply(answer, 0, answer.length, false);
        connection.callEnded();
      }
      this.outstanding.give(slot);
    }
    this.noteActivity();
  }

  /** The worker that gets a client's calls; null while there is none. */
  chooseWorker(identity: ClientIdentity): WorkerLink | null {
    let chosen: Worker | null = null;
    let least: Worker | null = null;
    for (const worker of this.#workers) {
      if (worker === undefined) continue;
      if (least === null || worker.connections < least.connections) least = worker;
      if (worker.users.has(identity.user) && (chosen === null || worker.connections < chosen.connections))
        chosen = worker;
    }
    if (least === null) return null;
    // The user's NameNode connections are there already, unless that worker clearly has more to do than another.
    const worker = chosen !== null && chosen.connections <= least.connections * 2 + 16 ? chosen : least;
    worker.connections++;
    worker.users.set(identity.user, (worker.users.get(identity.user) ?? 0) + 1);
    return worker.link;
  }

  askAuthorization(connection: ClientConnection, identity: ClientIdentity): void {
    this.#host.authorize(connection.id, connection.generation, identity);
  }

  onAuthorized(id: number, generation: number, refusal: string | null): void {
    const connection = this.connectionOf(id);
    if (connection === null || connection.generation !== generation) return;
    connection.onAuthorized(refusal);
    this.noteActivity();
  }

  drainAnswer(reader: CallReader): Buffer {
    return errorTo(reader.frame, reader.start, reader.scan, shuttingDown(this.settings.routerId));
  }

  // --- from the workers

  onReply(
    link: WorkerLink,
    connection: number,
    generation: number,
    slot: number,
    flags: number,
    buffer: Buffer,
    start: number,
    end: number,
    owned: boolean,
  ): void {
    const { outstanding } = this;
    if (!outstanding.isTakenBy(slot, connection, generation, link.worker)) {
      this.counters.add(Counter.strayReplies);
      return;
    }
    outstanding.give(slot);
    const client = this.#connections[connection] ?? null;
    if (client === null || client.generation !== generation) {
      this.counters.add(Counter.repliesDropped);
      return;
    }
    if (flags === ReplyFlag.NONE) this.counters.add(Counter.repliesDropped);
    else {
      this.counters.add(Counter.repliesWritten);
      this.counters.add(Counter.bytesSent, end - start);
      client.writeReply(buffer, start, end, owned);
      if (flags === ReplyFlag.CLOSE) client.closeWhenAnswered();
    }
    client.callEnded();
  }

  onSpace(link: WorkerLink): void {
    const worker = this.#workers[link.worker];
    if (worker === undefined || worker.link !== link) return;
    const waiting = worker.waiting;
    worker.waiting = [];
    for (let i = 0; i < waiting.length; i++) (waiting[i] as ClientConnection).onSpace();
  }

  onDrained(): void {
    this.#flush();
  }

  // --- from the connections

  /** Whether the connection's context may be read in this turn; else `onTurn` follows. */
  takesContext(connection: ClientConnection): boolean {
    if (this.#contexts < CONTEXTS_PER_TURN) {
      this.#contexts++;
      return true;
    }
    this.counters.add(Counter.contextsDelayed);
    this.#waitingForTurn.push(connection);
    return false;
  }

  /** Counts the connection for its user; false: the user has too many. */
  countUser(connection: ClientConnection, user: string): boolean {
    const { connectionsPerUser } = this.limits;
    if (this.#counts === null || connectionsPerUser === 0) return true;
    if (!this.#counts.add(CountOf.USER, user, connectionsPerUser)) {
      this.counters.add(Counter.usersRefused);
      return false;
    }
    connection.countsForUser = true;
    return true;
  }

  /** How long a client may take that holds memory and has `limitMs` usually. */
  patienceMs(limitMs: number): number {
    return this.budget.isShort ? Math.min(limitMs, SHORT_PATIENCE_MS) : limitMs;
  }

  noteActivity(): void {
    this.clock.tick();
    if (this.#flushAsked) return;
    this.#flushAsked = true;
    setImmediate(this.#flushLater);
  }

  markDirty(connection: ClientConnection): void {
    if (connection.dirty) return;
    connection.dirty = true;
    if (this.#dirty.push(connection) >= MAX_DIRTY) this.#flushOutboxes();
    if (!this.#flushAsked) this.noteActivity();
  }

  waitForSpace(connection: ClientConnection, link: WorkerLink): void {
    (this.#workers[link.worker] as Worker).waiting.push(connection);
  }

  waitForSlot(connection: ClientConnection): void {
    this.#waitingForSlot.push(connection);
  }

  /** A line for the log; only a few a second, the rest is counted. */
  note(text: string): void {
    if (++this.#notes <= MAX_NOTES_PER_SWEEP) this.#host.note(text);
  }

  /** It sends no more, but waits for answers: to the worker it is gone, and answers of what is in flight come back all the same. */
  onClientEnded(connection: ClientConnection): void {
    connection.link?.closeClient(connection.id, connection.generation);
    this.noteActivity();
  }

  onClientClosed(connection: ClientConnection): void {
    this.counters.add(Counter.clientsClosed);
    this.#open--;
    this.#connections[connection.id] = null;
    this.#freeIds.push(connection.id);
    const { link, identity } = connection;
    if (connection.countedAddress !== '') this.#counts?.remove(CountOf.ADDRESS, connection.countedAddress);
    if (connection.countsForUser) this.#counts?.remove(CountOf.USER, identity?.user ?? '');
    if (link === null || identity === null) return;
    link.closeClient(connection.id, connection.generation);
    this.#leaveWorker(link.worker, identity.user);
    this.noteActivity();
  }

  // --- stopping

  /**
   * No new connections, new calls are refused. When the last answer has left, what clients have sent meanwhile is refused too for a moment,
   * then the connections are ended, not cut: a reset could take an answer with it that its client has not read. `host.drained` follows.
   */
  drain(): void {
    if (this.draining) return;
    this.draining = true;
    this.#server?.close();
    this.#checkDrained();
  }

  close(): void {
    this.#server?.close();
    if (this.#sweep !== null) clearInterval(this.#sweep);
    for (const connection of this.#connections) connection?.socket.destroy();
    for (const worker of this.#workers) worker?.link.close();
  }

  readonly #flushLater = (): void => {
    this.#flushAsked = false;
    this.#contexts = 0;
    if (this.#waitingForTurn.length > 0) this.#readContexts();
    this.#flush();
  };

  #readContexts(): void {
    const ready = this.#waitingForTurn.splice(0, CONTEXTS_PER_TURN);
    for (let i = 0; i < ready.length; i++) (ready[i] as ClientConnection).onTurn();
    if (this.#waitingForTurn.length > 0) this.noteActivity();
  }

  /** End of the turn: bells for the workers, one write per client. */
  #flush(): void {
    for (let i = 0; i < this.#workers.length; i++) {
      const worker = this.#workers[i];
      if (worker !== undefined) worker.link.flush();
    }
    if (this.#dirty.length > 0) this.#flushOutboxes();
    if (this.#waitingForSlot.length > 0 && this.outstanding.count < MAX_OUTSTANDING / 2) {
      const waiting = this.#waitingForSlot;
      this.#waitingForSlot = [];
      for (let i = 0; i < waiting.length; i++) (waiting[i] as ClientConnection).onSpace();
    }
    if (this.draining) this.#checkDrained();
  }

  #flushOutboxes(): void {
    const dirty = this.#dirty;
    this.#dirty = this.#flushing;
    this.#flushing = dirty;
    for (let i = 0; i < dirty.length; i++) (dirty[i] as ClientConnection).flush();
    dirty.length = 0;
  }

  #onConnection(status: number, handle: AcceptedHandle | undefined): void {
    if (status !== 0 || handle === undefined) {
      // The connection stays in the backlog, or the kernel has dropped it: either way there is none to serve.
      this.counters.add(Counter.clientsRefused);
      this.note(`cannot accept a connection: error ${status}; is the limit of open files reached?`);
      return;
    }
    const limit =
      this.settings.maxConnections > 0 ? Math.min(this.settings.maxConnections, MAX_CONNECTIONS) : MAX_CONNECTIONS;
    if (this.#open >= limit || this.draining) {
      this.counters.add(Counter.clientsRefused);
      handle.close();
      return;
    }
    const address = this.#countAddress(handle);
    if (address === null) return;
    this.counters.add(Counter.clientsAccepted);
    this.clock.tick();
    if (this.settings.tcpNoDelay) handle.setNoDelay(true);
    handle.setKeepAlive(true, KEEPALIVE_S);
    const id = this.#freeIds.length > 0 ? (this.#freeIds.pop() as number) : this.#connections.length;
    this.#generation = (this.#generation + 1) & 0x7fffffff;
    this.#open++;
    const connection = new ClientConnection(this, id, this.#generation, handle);
    connection.countedAddress = address;
    this.#connections[id] = connection;
  }

  /** The client's address, counted; '' when addresses are not, null when it has too many connections: this one is closed. */
  #countAddress(handle: AcceptedHandle): string | null {
    const { connectionsPerAddress } = this.limits;
    if (this.#counts === null || connectionsPerAddress === 0) return '';
    const peer: { address?: string } = {};
    handle.getpeername(peer);
    const address = plainAddress(peer.address);
    // It is gone already.
    if (address === '') return '';
    if (this.#counts.add(CountOf.ADDRESS, address, connectionsPerAddress)) return address;
    this.counters.add(Counter.addressesRefused);
    this.note(
      `client ${address} refused: it has ${connectionsPerAddress} connections, the limit (switchyard.client.connections-per-address)`,
    );
    handle.close();
    return null;
  }

  #replaceWorker(index: number, before: Worker): void {
    const worker = this.#workers[index] as Worker;
    for (const connection of this.#connections) {
      if (connection === null || connection.link?.worker !== index) continue;
      const identity = connection.identity as ClientIdentity;
      connection.link = worker.link;
      worker.connections++;
      worker.users.set(identity.user, (worker.users.get(identity.user) ?? 0) + 1);
      worker.link.openClient(connection.id, connection.generation, identity);
    }
    for (const connection of before.waiting) connection.onSpace();
    this.noteActivity();
  }

  #leaveWorker(index: number, user: string): void {
    const worker = this.#workers[index];
    if (worker === undefined) return;
    worker.connections--;
    const left = (worker.users.get(user) ?? 1) - 1;
    if (left === 0) worker.users.delete(user);
    else worker.users.set(user, left);
  }

  #checkDrained(): void {
    if (this.#drainedSaid || this.outstanding.count > 0 || this.#dirty.length > 0) return;
    for (const connection of this.stalled) connection.checkStalled();
    if (this.stalled.size > 0) return;
    this.#drainedSaid = true;
    if (this.#open === 0) this.#host.drained();
    else setTimeout(() => this.#sayGoodbye(), LAST_CALLS_MS);
  }

  #sayGoodbye(): void {
    for (const connection of this.#connections) connection?.finish();
    setTimeout(() => this.#host.drained(), LAST_READS_MS);
  }

  #tellLevels(): void {
    const { counters } = this;
    let unreadBytes = 0;
    for (const connection of this.stalled) unreadBytes += connection.claimedBytes;
    counters.set(Counter.clientsOpen, this.#open);
    counters.set(Counter.clientsPaused, this.paused);
    counters.set(Counter.callsOutstanding, this.outstanding.count);
    counters.set(Counter.unreadKib, Math.ceil(unreadBytes / 1024));
  }

  #onSweep(): void {
    const now = this.clock.tick();
    if (this.#notes > MAX_NOTES_PER_SWEEP) this.#host.note(`${this.#notes - MAX_NOTES_PER_SWEEP} more of the like`);
    this.#notes = 0;
    for (const connection of this.stalled) connection.checkStalled();
    if (this.draining) this.#checkDrained();
    this.#watch.look(this.#connections, this.#open, now);
    this.#tellLevels();
  }
}

interface AcceptedHandle {
  close(): void;
  setNoDelay(on: boolean): void;
  setKeepAlive(on: boolean, delaySeconds: number): void;
  getpeername(into: { address?: string }): number;
}

interface AcceptingHandle {
  onconnection: (status: number, accepted: AcceptedHandle | undefined) => void;
}
