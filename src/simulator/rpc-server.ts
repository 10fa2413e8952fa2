/**
 * The RPC server of one simulated NameNode: listens, reads calls, queues them, lets the NameNode execute them and sends the answers.
 * Faults are made here: a server can stop, hang, be slow in one method, lose answers, or garble them.
 */
import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import type { ConnectionOwner, Identity } from '../control/rpc-server/connection.ts';
import { RpcConnection } from '../control/rpc-server/connection.ts';
import { JAVA, type JavaClass, RemoteException } from '../control/rpc-server/remote-exception.ts';
import { encodeError, encodeSuccess, headWithoutCall } from '../control/rpc-server/reply.ts';
import { MessageError } from '../wire/messages.ts';
import { align, type Refusal } from './alignment.ts';
import { AnswerDelivery, type DeliverySettings } from './answer-delivery.ts';
import type { CallLog } from './call-log.ts';
import { CallQueue } from './call-queue.ts';
import { loggedCall } from './logged-call.ts';
import type { IncomingCall, NameNode, Outcome } from './name-node.ts';
import { methodsOf, type ServedMethod } from './operations.ts';
import type { Caller } from './permission-check.ts';
import type { ServiceTime } from './service-time.ts';
import { sampleServiceMs, seededRandom, seedFor } from './service-time.ts';

export const HOST = '127.0.0.1';

/** What is no answer: a frame whose header nobody can read, and the words of another protocol, whose first ones read as a length. */
const GARBAGE = [
  Buffer.from('00000008ffffffffffffffff', 'hex'),
  Buffer.from('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'),
] as const;

/** What happens to calls that find the queue full: reading stops, or the client is told so (and closed). */
export type Overflow = 'block' | 'busy' | 'disconnect';

export interface ServerSettings extends DeliverySettings {
  readonly serviceTime: ServiceTime;
  /** Service times of single methods, in place of `serviceTime`. */
  readonly methodServiceTime: Readonly<Record<string, ServiceTime>>;
  readonly callsPerSecond: number;
  readonly handlers: number;
  readonly queueCapacity: number;
  readonly overflow: Overflow;
  readonly maxFrameBytes: number;
  /** State ids in every reply header, and coordinated calls that wait for them. */
  readonly stateIds: boolean;
  /** Real users that may act for others. */
  readonly proxyUsers: readonly string[];
}

/** `calls`: connections are accepted and calls read, none is answered. `process`: nothing is even read. */
export type HangMode = 'calls' | 'process';

type Connection = RpcConnection<ServedMethod, Caller>;

interface QueuedCall {
  readonly connection: Connection;
  readonly call: IncomingCall;
  /** Transaction that the NameNode must have seen before the call is executed; null: none. */
  readonly waitsFor: bigint | null;
}

export class RpcServer implements ConnectionOwner<ServedMethod, Caller> {
  readonly namenode: NameNode;
  settings: ServerSettings;
  port = 0;
  readonly #log: CallLog;
  readonly #random: () => number;
  readonly #connections = new Set<Connection>();
  readonly #queue: CallQueue<QueuedCall, Outcome>;
  readonly #delivery: AnswerDelivery;
  /** Connections that are not read until the queue has room, with the call that found none. */
  readonly #blocked: QueuedCall[] = [];
  /** Answers still to be lost, by method. */
  readonly #lost = new Map<string, number>();
  /** Answers are garbage, one kind after the other. */
  garbles = false;
  #garbled = 0;
  #server: Server | null = null;
  #hung: HangMode | null = null;
  #lagTimer: NodeJS.Timeout | null = null;

  constructor(namenode: NameNode, settings: ServerSettings, log: CallLog, random: () => number) {
    this.namenode = namenode;
    this.settings = settings;
    this.#log = log;
    this.#random = random;
    const { id, options } = namenode.nameservice;
    this.#delivery = new AnswerDelivery(settings, seededRandom(seedFor(options.seed, id, namenode.id, 'delivery')));
    this.#queue = new CallQueue(this.#queueOptions(), {
      start: (queued) => this.#start(queued),
      finish: (queued, outcome) => this.#answer(queued, outcome),
    });
    namenode.nameservice.watch(() => this.#queue.wake());
  }

  get running(): boolean {
    return this.#server !== null;
  }

  get hung(): HangMode | null {
    return this.#hung;
  }

  get connections(): number {
    return this.#connections.size;
  }

  get queued(): number {
    return this.#queue.length;
  }

  /** How often calls were put back because they have to wait for edits. */
  get requeued(): number {
    return this.#queue.requeued;
  }

  /** Port 0 at the first start: any free one; later starts take the same port again. */
  start(port: number): Promise<void> {
    const server = createServer((socket) => this.#accept(socket));
    this.#server = server;
    return new Promise((resolve, reject) => {
      server.once('error', (error) => {
        this.#server = null;
        reject(new Error(`cannot listen on ${HOST}:${port}: ${error.message}; choose another port`, { cause: error }));
      });
      server.listen({ host: HOST, port, backlog: 1024 }, () => {
        const address = server.address();
        this.port = typeof address === 'object' && address !== null ? address.port : port;
        resolve();
      });
    });
  }

  /** Closes all connections; calls that were executed stay executed, their answers are lost. */
  stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.#hung = null;
    this.#queue.clear();
    this.#delivery.clear();
    this.#blocked.length = 0;
    this.#stopLagTimer();
    for (const connection of this.#connections) {
      connection.destroy();
    }
    return new Promise((resolve) => {
      if (server === null) {
        resolve();
      } else {
        server.close(() => resolve());
      }
    });
  }

  hang(mode: HangMode): void {
    this.#hung = mode;
    this.#queue.hold();
    if (mode === 'process') {
      for (const connection of this.#connections) {
        connection.pause();
      }
    }
  }

  resume(): void {
    this.#hung = null;
    for (const connection of this.#connections) {
      connection.resume();
    }
    this.#queue.release();
  }

  configure(settings: ServerSettings): void {
    this.settings = settings;
    this.#queue.options = this.#queueOptions();
    this.#delivery.settings = settings;
    this.#queue.wake();
  }

  /** The next answers to `method` are not sent: the call is executed, then the connection is closed. */
  loseAnswers(method: string, times: number): void {
    this.#lost.set(method, times);
  }

  #queueOptions(): { handlers: number; capacity: number; callsPerSecond: number } {
    const { handlers, queueCapacity, callsPerSecond } = this.settings;
    return { handlers, capacity: queueCapacity, callsPerSecond };
  }

  #accept(socket: Socket): void {
    const connection = new RpcConnection(socket, this);
    this.#connections.add(connection);
    if (this.#hung === 'process') {
      connection.pause();
    }
  }

  // --- ConnectionOwner

  readonly offersTokens = true;
  readonly methodsOf = methodsOf;
  readonly errorText = withStack;

  get maxFrameBytes(): number {
    return this.settings.maxFrameBytes;
  }

  get maxLoginFrameBytes(): number {
    return this.settings.maxFrameBytes;
  }

  /** Bounded by the longest frame for each connection, as in a NameNode. */
  onHeldBytes(): boolean {
    return true;
  }

  stateId(): number | null {
    return this.settings.stateIds ? this.namenode.stateId(Date.now()) : null;
  }

  /** A context without a user is taken for the server's own user: so do real NameNodes. */
  login({ user, realUser }: Identity): Caller {
    if (realUser !== '' && !this.settings.proxyUsers.includes(realUser)) {
      throw new RemoteException(JAVA.AUTHORIZATION, `User: ${realUser} is not allowed to impersonate ${user}`);
    }
    const { nameservice } = this.namenode;
    const short = user === '' ? nameservice.options.superuser : (user.split(/[/@]/, 1)[0] ?? user);
    return { user: short, groups: nameservice.groupsOf(short), superuser: nameservice.isSuperuser(short) };
  }

  onClosed(connection: Connection): void {
    this.#connections.delete(connection);
  }

  admit(connection: Connection, call: IncomingCall): void {
    const isAligned = this.settings.stateIds && call.method.coordinated;
    const waitsFor = isAligned ? align(this.namenode.state, call.stateId, this.namenode.stateId(Date.now())) : null;
    if (waitsFor !== null && typeof waitsFor === 'object') {
      this.#refuse(connection, call, waitsFor);
      return;
    }
    const queued = { connection, call, waitsFor };
    if (!this.#queue.take(queued)) {
      this.#overflow(queued);
    }
  }

  #overflow(queued: QueuedCall): void {
    const { connection, call } = queued;
    const { overflow } = this.settings;
    if (overflow === 'block') {
      const evicted = this.#queue.evictParked();
      if (evicted === undefined) {
        connection.pause();
        this.#blocked.push(queued);
      } else {
        this.#refuseAgain(evicted);
        this.#queue.take(queued);
      }
    } else if (overflow === 'busy') {
      this.#refuse(connection, call, { javaClass: JAVA.RETRIABLE, message: 'Server too busy' });
    } else {
      const message = 'Server too busy - disconnecting';
      connection.sendFatal(call.callId, 'ERROR_RPC_SERVER', JAVA.RETRIABLE, message, call.retryCount);
    }
  }

  /** What is said while a call is read. */
  #refuse(connection: Connection, call: IncomingCall, { javaClass, message }: Refusal): void {
    const head = headWithoutCall(call.callId, this.stateId(), call.retryCount);
    const error = { status: 'ERROR', detail: 'ERROR_RPC_SERVER', javaClass, message } as const;
    this.#delivery.send(connection, encodeError(head, error));
  }

  /** A waiting call whose place in the full queue went to another one. The server does not close the connection over it. */
  #refuseAgain({ connection, call }: QueuedCall): void {
    const { callId, retryCount, clientId, method } = call;
    const message = withStack(`${JAVA.RETRIABLE}: Server too busy - disconnecting`, method.name);
    const error = { status: 'FATAL', detail: 'ERROR_RPC_SERVER', javaClass: JAVA.RETRIABLE, message } as const;
    this.#delivery.send(connection, encodeError({ callId, retryCount, clientId, stateId: this.stateId() }, error));
  }

  #start({ call, waitsFor }: QueuedCall): { serviceMs: number; result: Outcome } | 'parked' {
    const nowMs = Date.now();
    if (waitsFor !== null && waitsFor > this.namenode.stateId(nowMs)) {
      this.#watchLag(nowMs);
      return 'parked';
    }
    const outcome = this.namenode.execute(call, nowMs);
    this.#log.add(loggedCall(this.namenode, call, outcome));
    const { methodServiceTime, serviceTime } = this.settings;
    const time = Object.hasOwn(methodServiceTime, call.method.name) ? methodServiceTime[call.method.name] : undefined;
    return { serviceMs: sampleServiceMs(time ?? serviceTime, this.#random), result: outcome };
  }

  /** Edits become visible by age alone: calls that wait for them are looked at again. */
  #watchLag(nowMs: number): void {
    const waitMs = this.namenode.msUntilEdit(nowMs);
    if (waitMs !== Number.POSITIVE_INFINITY && this.#lagTimer === null) {
      this.#lagTimer = setTimeout(() => {
        this.#lagTimer = null;
        this.#queue.wake();
      }, waitMs);
    }
  }

  #stopLagTimer(): void {
    if (this.#lagTimer !== null) {
      clearTimeout(this.#lagTimer);
      this.#lagTimer = null;
    }
  }

  #answer({ connection, call }: QueuedCall, outcome: Outcome): void {
    this.#unblock();
    const lost = this.#lost.get(call.method.name) ?? 0;
    if (lost > 0) {
      this.#lost.set(call.method.name, lost - 1);
    }
    if (lost > 0 || outcome.isLost) {
      connection.destroy();
      return;
    }
    const answer = this.garbles
      ? (GARBAGE[this.#garbled++ % GARBAGE.length] as Buffer)
      : encodeOutcome(call, outcome, this.stateId());
    this.#delivery.send(connection, answer);
  }

  #unblock(): void {
    for (let next = this.#blocked[0]; next !== undefined; next = this.#blocked[0]) {
      if (!next.connection.closed && !this.#queue.take(next)) {
        return;
      }
      this.#blocked.shift();
      if (this.#hung !== 'process') {
        next.connection.resume();
      }
    }
  }
}

function encodeOutcome(call: IncomingCall, outcome: Outcome, stateId: number | null): Buffer {
  const { callId, retryCount, clientId, method } = call;
  const head = { callId, retryCount, clientId, stateId };
  const refuse = (detail: string, javaClass: JavaClass, message: string): Buffer =>
    encodeError(head, { status: 'ERROR', detail, javaClass, message: withStack(message, method.name) });
  if (outcome.exception !== null) {
    return refuse('ERROR_APPLICATION', outcome.exception.javaClass, outcome.exception.message);
  }
  try {
    return encodeSuccess(head, method.response, outcome.answer ?? {});
  } catch (error) {
    // An answer that its message cannot hold: the caller learns it, the NameNode goes on.
    if (error instanceof MessageError) {
      return refuse('ERROR_SERIALIZING_RESPONSE', JAVA.IO, error.message);
    }
    throw error;
  }
}

/** What handler exceptions look like in text: the message, then a stack. */
function withStack(message: string, method: string): string {
  return `${message}\n\tat switchyard.simulator.NameNode.${method}(NameNode)\n`;
}
