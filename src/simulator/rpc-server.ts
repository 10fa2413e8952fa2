/**
 * The RPC server of one simulated NameNode: listens, reads calls, queues them, lets the NameNode execute them and sends the answers.
 * Faults are made here: a server can stop, hang, be slow in one method, or lose answers.
 */
import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import type { ConnectionOwner, Identity } from '../control/rpc-server/connection.ts';
import { RpcConnection } from '../control/rpc-server/connection.ts';
import { messageOf, textOf, textsOf } from '../control/rpc-server/fields.ts';
import { JAVA, type JavaClass, RemoteException } from '../control/rpc-server/remote-exception.ts';
import { encodeError, encodeSuccess, headWithoutCall } from '../control/rpc-server/reply.ts';
import type { Plain } from '../wire/messages.ts';
import { MessageError } from '../wire/messages.ts';
import type { CallLog } from './call-log.ts';
import { CallQueue } from './call-queue.ts';
import type { IncomingCall, NameNode, Outcome } from './name-node.ts';
import { methodsOf, type ServedMethod } from './operations.ts';
import type { Caller } from './permission-check.ts';
import type { ServiceTime } from './service-time.ts';
import { sampleServiceMs } from './service-time.ts';

export const HOST = '127.0.0.1';

/** An observer that is further behind than this refuses coordinated calls instead of letting them wait. */
const MAX_BEHIND_TRANSACTIONS = 160_000n;

/** What happens to calls that find the queue full: reading stops, or the client is told so (and closed). */
export type Overflow = 'block' | 'busy' | 'disconnect';

export interface ServerSettings {
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
}

export class RpcServer implements ConnectionOwner<ServedMethod, Caller> {
  readonly namenode: NameNode;
  settings: ServerSettings;
  port = 0;
  readonly #log: CallLog;
  readonly #random: () => number;
  readonly #connections = new Set<Connection>();
  readonly #queue: CallQueue<QueuedCall, Outcome>;
  /** Connections that are not read until the queue has room, with the call that found none. */
  readonly #blocked: QueuedCall[] = [];
  /** Answers still to be lost, by method. */
  readonly #lost = new Map<string, number>();
  #server: Server | null = null;
  #hung: HangMode | null = null;
  #lagTimer: NodeJS.Timeout | null = null;

  constructor(namenode: NameNode, settings: ServerSettings, log: CallLog, random: () => number) {
    this.namenode = namenode;
    this.settings = settings;
    this.#log = log;
    this.#random = random;
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
    const refusal = this.#misaligned(call);
    if (refusal !== null) {
      const head = headWithoutCall(call.callId, this.stateId(), call.retryCount);
      connection.send(encodeError(head, { status: 'ERROR', detail: 'ERROR_RPC_SERVER', ...refusal }));
      return;
    }
    if (!this.#queue.take({ connection, call })) {
      this.#overflow({ connection, call });
    }
  }

  #overflow({ connection, call }: QueuedCall): void {
    const { overflow } = this.settings;
    if (overflow === 'block') {
      connection.pause();
      this.#blocked.push({ connection, call });
    } else if (overflow === 'busy') {
      const head = headWithoutCall(call.callId, this.stateId(), call.retryCount);
      connection.send(
        encodeError(head, {
          status: 'ERROR',
          detail: 'ERROR_RPC_SERVER',
          javaClass: JAVA.RETRIABLE,
          message: 'Server too busy',
        }),
      );
    } else {
      const message = 'Server too busy - disconnecting';
      connection.sendFatal(call.callId, 'ERROR_RPC_SERVER', JAVA.RETRIABLE, message, call.retryCount);
    }
  }

  /** Whether a coordinated call can be answered by an observer at all, judged while it is read. */
  #misaligned(call: IncomingCall): { javaClass: typeof JAVA.STANDBY | typeof JAVA.RETRIABLE; message: string } | null {
    if (!this.settings.stateIds || !call.method.coordinated || this.namenode.state !== 'observer') {
      return null;
    }
    if (call.stateId === null) {
      return {
        javaClass: JAVA.STANDBY,
        message:
          'Observer Node received request without stateId. This mostly likely is because client is not configured ' +
          'with ObserverReadProxyProvider',
      };
    }
    const server = BigInt(this.namenode.stateId(Date.now()));
    if (BigInt.asIntN(64, call.stateId - server) > MAX_BEHIND_TRANSACTIONS) {
      return {
        javaClass: JAVA.RETRIABLE,
        message: `Observer Node is too far behind: serverStateId = ${server} clientStateId = ${call.stateId}`,
      };
    }
    return null;
  }

  #start(queued: QueuedCall): { serviceMs: number; result: Outcome } | 'parked' {
    const nowMs = Date.now();
    const { call } = queued;
    if (this.#mustWait(call, nowMs)) {
      this.#watchLag();
      return 'parked';
    }
    const outcome = this.namenode.execute(call, nowMs);
    this.#logCall(call, outcome);
    const { methodServiceTime, serviceTime } = this.settings;
    const time = Object.hasOwn(methodServiceTime, call.method.name) ? methodServiceTime[call.method.name] : undefined;
    return { serviceMs: sampleServiceMs(time ?? serviceTime, this.#random), result: outcome };
  }

  /** A coordinated call waits at a NameNode that has not seen what its client has seen; the active has seen everything. */
  #mustWait(call: IncomingCall, nowMs: number): boolean {
    return (
      this.settings.stateIds &&
      call.method.coordinated &&
      call.stateId !== null &&
      this.namenode.state !== 'active' &&
      call.stateId > BigInt(this.namenode.stateId(nowMs))
    );
  }

  /** Edits become visible by age alone: calls that wait for them are looked at again. */
  #watchLag(): void {
    const { lagMs } = this.namenode.tailing;
    if (lagMs > 0 && this.#lagTimer === null) {
      this.#lagTimer = setTimeout(() => {
        this.#lagTimer = null;
        this.#queue.wake();
      }, lagMs);
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
      connection.destroy();
      return;
    }
    connection.send(encodeOutcome(call, outcome, this.stateId()));
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

  #logCall(call: IncomingCall, outcome: Outcome): void {
    const { method, request } = call;
    this.#log.add({
      nameservice: this.namenode.nameservice.id,
      namenode: this.namenode.id,
      user: call.caller.user,
      realUser: call.realUser,
      protocol: method.protocol,
      method: method.name,
      path: pathOf(request),
      path2: textOf(request, 'dst'),
      clientId: call.clientId.toString('hex'),
      callId: call.callId,
      retryCount: call.retryCount,
      callerContext: call.callerContext,
      callerSignature: call.callerSignature,
      stateId: call.stateId === null ? null : String(call.stateId),
      exception: outcome.exception?.javaClass ?? '',
      executed: outcome.executed,
      clientPort: call.clientPort,
    });
  }
}

/** Fields that hold the first path of a request, in different messages. */
const PATH_FIELDS = ['src', 'path', 'trg', 'filename', 'snapshotRoot', 'zone'] as const;

function pathOf(request: Plain): string {
  for (const field of PATH_FIELDS) {
    const path = textOf(request, field);
    if (path !== '') {
      return path;
    }
  }
  return textOf(messageOf(request, 'info') ?? {}, 'path') || (textsOf(request, 'paths')[0] ?? '');
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
