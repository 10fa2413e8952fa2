import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import type { Method } from '../../src/call/method.ts';
import { METHODS, methodIndex, protocolIndex } from '../../src/call/methods.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { encodeDelimited, messageType, readDelimited } from '../../src/wire/messages.ts';
import { nextEvent, WAIT_MS, within } from './wait.ts';

const HOST = '127.0.0.1';
const PREAMBLE_BYTES = 7;
const LENGTH_BYTES = 4;
const CONTEXT_CALL_ID = -3;
const PING_CALL_ID = -4;
const NO_CLIENT_ID = Buffer.alloc(0);
/** Every reply of a NameNode tells its last transaction. */
const STATE_ID = 4711;

export const STANDBY = 'org.apache.hadoop.ipc.StandbyException';
export const RETRIABLE = 'org.apache.hadoop.ipc.RetriableException';
export const OBSERVER_RETRY = 'org.apache.hadoop.ipc.ObserverRetryOnActiveException';
export const IO = 'java.io.IOException';

/** `starting`: listens, and its namesystem is not loaded yet. */
export type HaState = 'active' | 'standby' | 'observer' | 'starting';

/** What calls are answered with that the handler does not see, by state. */
const REFUSALS: Readonly<Record<HaState, readonly [className: string, message: string] | null>> = {
  active: null,
  standby: [
    STANDBY,
    'Operation category READ is not supported in state standby. Visit https://s.apache.org/sbnn-error',
  ],
  observer: [
    STANDBY,
    'Observer Node received request without stateId. This mostly is because client is not configured',
  ],
  starting: [RETRIABLE, 'NameNode still not started'],
};

/** What a reply may differ in from an honest one. */
export interface ReplyChanges {
  /** Null leaves it out. */
  readonly retryCount?: number | null;
  readonly clientId?: Buffer;
  readonly callId?: number;
  /** Null: none, as with the state context off. */
  readonly stateId?: number | bigint | null;
}

export interface CallFilter {
  readonly method?: string;
  readonly path?: string;
  readonly user?: string;
}

/** One connection that was made to the NameNode. */
export interface NameNodePeer {
  /** From 1, in the order of their coming. */
  readonly number: number;
  readonly socket: Socket;
  user: string;
  realUser: string;
  open: boolean;
  pings: number;
  /** Calls that came and have no answer yet. */
  unanswered: number;
}

/** A call as it came to the NameNode; the handler, or later the test, says what becomes of it. */
export class NameNodeCall {
  readonly peer: NameNodePeer;
  readonly header: Plain;
  readonly method: string;
  readonly request: Plain;
  /** Calls on this connection that were waiting for an answer when it came. */
  readonly besides: number;
  readonly #responseType: string;
  readonly #namenode: Pick<ScriptedNameNode, 'stateId'>;
  #answered = false;

  constructor(
    namenode: Pick<ScriptedNameNode, 'stateId'>,
    peer: NameNodePeer,
    header: Plain,
    method: Method,
    request: Plain,
  ) {
    this.#namenode = namenode;
    this.peer = peer;
    this.header = header;
    this.method = method.name;
    this.request = request;
    this.#responseType = method.response;
    this.besides = peer.unanswered++;
  }

  get user(): string {
    return this.peer.user;
  }

  get connection(): number {
    return this.peer.number;
  }

  /** The value of the field `src`; '' when it has none. */
  get path(): string {
    return (this.request['src'] as string | undefined) ?? '';
  }

  get callId(): number {
    return this.header['callId'] as number;
  }

  get clientId(): Buffer {
    return this.header['clientId'] as Buffer;
  }

  /** The retryCount, by which the sender knows the reply. */
  get tag(): number {
    return (this.header['retryCount'] as number | undefined) ?? -1;
  }

  /** The state id that it has to have reached, undefined for none. */
  get stateId(): number | bigint | undefined {
    return this.header['stateId'] as number | bigint | undefined;
  }

  /** Text of the caller context; '' when there is none. */
  get context(): string {
    const context = this.header['callerContext'] as Plain | undefined;
    return (context?.['context'] as string | undefined) ?? '';
  }

  succeed(message: object = {}, changes: ReplyChanges = {}): void {
    this.#reply('SUCCESS', {}, changes, encodeDelimited(messageType(this.#responseType), message));
  }

  /** A success whose delimited response message is these bytes, whatever they are. */
  succeedWith(body: Buffer): void {
    this.#reply('SUCCESS', {}, {}, body);
  }

  /** As handlers answer with an exception: ERROR, the connection stays. */
  fail(className: string, message: string, detail = 'ERROR_APPLICATION', changes: ReplyChanges = {}): void {
    this.#reply('ERROR', { exceptionClassName: className, errorMsg: message, errorDetail: detail }, changes);
  }

  /** As the reader of a NameNode answers when it gives the connection up: FATAL with an empty client id, then the end. */
  fatal(className: string, message: string, detail = 'ERROR_RPC_SERVER', changes: ReplyChanges = {}): void {
    this.fatalAndStay(className, message, detail, changes);
    this.close();
  }

  /** FATAL without the end that belongs to it. */
  fatalAndStay(className: string, message: string, detail = 'ERROR_RPC_SERVER', changes: ReplyChanges = {}): void {
    const error = { exceptionClassName: className, errorMsg: message, errorDetail: detail };
    this.#reply('FATAL', error, { clientId: NO_CLIENT_ID, ...changes });
  }

  /** Bytes as they are, in place of a reply. */
  sendBytes(bytes: Buffer): void {
    this.#count();
    this.peer.socket.write(bytes);
  }

  /** Ends the call's connection in order, without an answer. */
  close(): void {
    this.peer.socket.end();
  }

  /** Cuts the call's connection. */
  reset(): void {
    this.peer.socket.resetAndDestroy();
  }

  #reply(status: string, error: object, changes: ReplyChanges, body: Buffer = Buffer.alloc(0)): void {
    this.#count();
    const retryCount = changes.retryCount === undefined ? this.tag : changes.retryCount;
    const header = encodeDelimited(messageType('hadoop.common.RpcResponseHeaderProto'), {
      callId: changes.callId ?? this.callId,
      status,
      serverIpcVersionNum: 9,
      ...error,
      clientId: changes.clientId ?? this.clientId,
      retryCount,
      stateId: changes.stateId === undefined ? this.#namenode.stateId : changes.stateId,
    });
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(header.length + body.length);
    // In one piece: replies that a handler gives in one turn are to arrive in one turn.
    this.peer.socket.write(Buffer.concat([length, header, body]));
  }

  #count(): void {
    if (this.#answered) return;
    this.#answered = true;
    this.peer.unanswered--;
  }
}

/**
 * A NameNode whose answers a test decides call by call.
 *
 *   await using namenode = await ScriptedNameNode.start();
 *   namenode.handler = (call) => (call.method === 'delete' ? call.reset() : call.succeed({ result: true }));
 *   const call = await namenode.waitForCall({ method: 'delete' });
 *
 * It answers the router's own questions (state, namespace) by itself.
 */
export class ScriptedNameNode implements AsyncDisposable {
  readonly host: string = HOST;
  /** The same after `stop` and `listen`. */
  port = 0;
  /** Decides about each call while the state is `active`, and of an observer about those that bring a state id. */
  handler: (call: NameNodeCall) => void = answerPlainly;
  /** What its replies tell as its last transaction; null: nothing. */
  stateId: number | bigint | null = STATE_ID;
  /** Every call of clients, in the order of their coming, refused ones included. */
  readonly calls: NameNodeCall[] = [];
  /** Every connection so far. */
  readonly peers: NameNodePeer[] = [];
  /** Connections are cut as soon as they come. */
  resetsConnections = false;
  /** Questions of the router about its state: heartbeats, and probes for a sign of life. */
  stateQuestions = 0;
  /** What it answers to getServiceStatus in place of its state: class and message. */
  stateRefusal: readonly [className: string, message: string] | null = null;
  /** Questions about its state get no answer. */
  holdsStateQuestions = false;
  /** Its answer to the router's own question. */
  inSafeMode = false;
  readonly #name: string;
  #state: HaState;
  #frozen = false;
  #server: Server | null = null;
  readonly #waiters = new Set<() => void>();

  constructor(name = 'nn', state: HaState = 'active') {
    this.#name = name;
    this.#state = state;
  }

  static async start(name?: string, state?: HaState): Promise<ScriptedNameNode> {
    const namenode = new ScriptedNameNode(name, state);
    await namenode.listen();
    return namenode;
  }

  get state(): HaState {
    return this.#state;
  }

  set state(state: HaState) {
    this.#state = state;
  }

  /** Starts to listen: for the first time, or again after `stop`. */
  async listen(): Promise<void> {
    const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => this.#accept(socket));
    server.listen(this.port, HOST);
    await nextEvent(server, 'listening', `${this.#name} listens`);
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** As a process that is killed: connections are cut, new ones refused. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    const closed = nextEvent(server, 'close', `${this.#name} is closed`);
    server.close();
    this.resetAll();
    await closed;
  }

  resetAll(): void {
    for (const { socket, open } of this.peers) {
      if (!open) continue;
      // The reset of a connection that is being shut down would never end, nor would the thread.
      if (socket.writableEnded) socket.destroy();
      else socket.resetAndDestroy();
    }
  }

  /** As a process that is stopped: the kernel still takes connections and some bytes, nothing is read or answered. */
  freeze(): void {
    this.#frozen = true;
    for (const { socket } of this.peers) socket.pause();
  }

  thaw(): void {
    this.#frozen = false;
    for (const { socket } of this.peers) socket.resume();
  }

  /** Connections of a user (of anybody when left out) that are open now. */
  openPeers(user?: string): NameNodePeer[] {
    return this.peers.filter((peer) => peer.open && (user === undefined || peer.user === user));
  }

  callsOf(filter: CallFilter): NameNodeCall[] {
    return this.calls.filter((call) => fits(call, filter));
  }

  /** The n-th call that fits, from 1, as soon as it has come. */
  async waitForCall(filter: CallFilter, nth = 1, limitMs: number = WAIT_MS): Promise<NameNodeCall> {
    const what = `call ${nth} of ${JSON.stringify(filter)} at ${this.#name}`;
    await this.until(() => this.callsOf(filter).length >= nth, what, limitMs);
    return this.callsOf(filter)[nth - 1] as NameNodeCall;
  }

  /** Resolves once `check` is true; looked at after each call, ping, and start or end of a connection. */
  async until(check: () => boolean, what: string, limitMs: number = WAIT_MS): Promise<void> {
    if (check()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = (): void => {
      if (check()) resolve();
    };
    this.#waiters.add(waiter);
    try {
      await within(promise, what, limitMs);
    } finally {
      this.#waiters.delete(waiter);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #accept(socket: Socket): void {
    const peer: NameNodePeer = {
      number: this.peers.length + 1,
      socket,
      user: '',
      realUser: '',
      open: true,
      pings: 0,
      unanswered: 0,
    };
    this.peers.push(peer);
    socket.on('error', () => {});
    socket.on('close', () => {
      peer.open = false;
      this.#changed();
    });
    if (this.resetsConnections) {
      socket.resetAndDestroy();
      return;
    }
    const frames = new FrameReader((buffer, start, end) => this.#read(peer, buffer, start, end));
    socket.on('data', (chunk: Buffer) => frames.take(chunk));
    socket.on('end', () => socket.end());
    if (this.#frozen) socket.pause();
    this.#changed();
  }

  #read(peer: NameNodePeer, buffer: Buffer, start: number, end: number): void {
    const { message: header, next } = readDelimited(
      messageType('hadoop.common.RpcRequestHeaderProto'),
      buffer,
      start,
      end,
    );
    const callId = header['callId'] as number;
    if (callId === PING_CALL_ID) peer.pings++;
    else if (callId === CONTEXT_CALL_ID) this.#readContext(peer, buffer, next, end);
    else this.#readCall(peer, header, buffer, next, end);
    this.#changed();
  }

  #readContext(peer: NameNodePeer, buffer: Buffer, start: number, end: number): void {
    const { message } = readDelimited(messageType('hadoop.common.IpcConnectionContextProto'), buffer, start, end);
    const user = message['userInfo'] as Plain | undefined;
    peer.user = (user?.['effectiveUser'] as string | undefined) ?? '';
    peer.realUser = (user?.['realUser'] as string | undefined) ?? '';
  }

  #readCall(peer: NameNodePeer, header: Plain, buffer: Buffer, start: number, end: number): void {
    const { message: named, next } = readDelimited(messageType('hadoop.common.RequestHeaderProto'), buffer, start, end);
    const protocol = protocolIndex(named['declaringClassProtocolName'] as string);
    const method =
      protocol < 0 ? SERVICE_STATUS : (METHODS[methodIndex(protocol, named['methodName'] as string)] as Method);
    const { message: request } = readDelimited(messageType(method.request), buffer, next, end);
    const call = new NameNodeCall(this, peer, header, method, request);
    if (method.name === 'getHAServiceState' || method === SERVICE_STATUS) {
      if (this.holdsStateQuestions) return;
      this.stateQuestions++;
      if (this.stateRefusal !== null && method === SERVICE_STATUS) {
        call.fail(...this.stateRefusal);
        return;
      }
      call.succeed({ state: this.#state === 'starting' ? 'INITIALIZING' : this.#state.toUpperCase() });
      return;
    }
    // Routed calls tell their client in the caller context.
    if (method.name === 'setSafeMode' && call.context === '') {
      call.succeed({ result: this.inSafeMode });
      return;
    }
    if (method.name === 'versionRequest') {
      call.succeed({ info: namespaceInfo(this.#name) });
      return;
    }
    this.calls.push(call);
    const isAligned = this.#state === 'observer' && call.stateId !== undefined;
    const refusal = isAligned ? null : REFUSALS[this.#state];
    if (refusal === null) this.handler(call);
    else call.fail(refusal[0], refusal[1]);
  }

  #changed(): void {
    for (const waiter of [...this.#waiters]) waiter();
  }
}

/** The one method of HAServiceProtocol, which routers do not serve, that is asked of NameNodes. */
const SERVICE_STATUS = {
  name: 'getServiceStatus',
  request: 'hadoop.common.GetServiceStatusRequestProto',
  response: 'hadoop.common.GetServiceStatusResponseProto',
} as Method;

/** Cuts a stream into frames, of any length; the preamble of a connection goes first. */
class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #needed = PREAMBLE_BYTES;
  #greeted = false;
  readonly #onFrame: (buffer: Buffer, start: number, end: number) => void;

  constructor(onFrame: (buffer: Buffer, start: number, end: number) => void) {
    this.#onFrame = onFrame;
  }

  take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // A large frame is put together once, not with each of its chunks.
    if (this.#bytes < this.#needed) return;
    const buffer = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    let at = 0;
    if (!this.#greeted) {
      this.#greeted = true;
      at = PREAMBLE_BYTES;
    }
    this.#needed = LENGTH_BYTES;
    while (buffer.length - at >= LENGTH_BYTES) {
      const frameBytes = LENGTH_BYTES + buffer.readInt32BE(at);
      if (buffer.length - at < frameBytes) {
        this.#needed = frameBytes;
        break;
      }
      this.#onFrame(buffer, at + LENGTH_BYTES, at + frameBytes);
      at += frameBytes;
    }
    this.#chunks = at < buffer.length ? [buffer.subarray(at)] : [];
    this.#bytes = buffer.length - at;
  }
}

function fits(call: NameNodeCall, { method, path, user }: CallFilter): boolean {
  return (
    (method === undefined || call.method === method) &&
    (path === undefined || call.path === path) &&
    (user === undefined || call.user === user)
  );
}

/** A file status whose length is `length`; by it a test knows whose answer it got. */
export function fileStatus(length = 0, name = ''): Plain {
  return {
    fileType: 'IS_FILE',
    path: Buffer.from(name),
    length,
    permission: { perm: 0o644 },
    owner: 'alice',
    group: 'users',
    modification_time: 1_700_000_000_000,
    access_time: 1_700_000_000_000,
    block_replication: 3,
    blocksize: 134_217_728,
    fileId: 16_386,
    childrenNum: 0,
    storagePolicy: 0,
  };
}

const CONTENT_SUMMARY = {
  length: 1,
  fileCount: 1,
  directoryCount: 1,
  quota: -1,
  spaceConsumed: 3,
  spaceQuota: -1,
} as const;

/** Answers of a NameNode that has nothing to object to. */
const PLAIN_ANSWERS: Readonly<Record<string, object>> = {
  getFileInfo: { fs: fileStatus() },
  getListing: { dirList: { partialListing: [], remainingEntries: 0 } },
  getContentSummary: { summary: CONTENT_SUMMARY },
  create: { fs: fileStatus() },
  append: { stat: fileStatus() },
  mkdirs: { result: true },
  delete: { result: true },
  rename: { result: true },
};

export function answerPlainly(call: NameNodeCall): void {
  call.succeed(PLAIN_ANSWERS[call.method] ?? {});
}

function namespaceInfo(name: string): Plain {
  return {
    buildVersion: '0',
    unused: 0,
    blockPoolID: `BP-${name}`,
    storageInfo: { layoutVersion: -66, namespceID: 1, clusterID: 'CID-scripted', cTime: 0 },
    softwareVersion: '3.4.1',
  };
}
