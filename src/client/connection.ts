import net from 'node:net';
import type { ClientIdentity, WorkerLink } from '../handoff/link.ts';
import { Counter } from '../shared/counters.ts';
import { SCAN_BAD, SCAN_OK, scanHeader } from '../wire/call-scan.ts';
import { FRAME_NO_MEMORY, FRAMES_HELD, FRAMES_OK, FrameAssembler, type FrameSink } from '../wire/frame.ts';
import {
  CallId,
  ConnectionContext,
  encodeRefusal,
  encodeSaslSuccess,
  judgePreamble,
  PREAMBLE_BYTES,
  Preamble,
  SaslScan,
  SaslState,
  scanSasl,
} from '../wire/handshake.ts';
import { ErrorDetail } from '../wire/reply-head.ts';
import type { Acceptor } from './acceptor.ts';
import { readContext } from './connection-context.ts';
import { Outbox } from './outbox.ts';
import { ReadCall } from './read-call.ts';
import {
  ACCESS_CONTROL,
  AUTHORIZATION,
  badHeader,
  fatal,
  invalidHeader,
  RPC_SERVER_EXCEPTION,
  tooManyConnections,
} from './refusal.ts';

/** Where a connection is in its life; each state's frames are read by one method. */
export const ClientState = {
  /** Waits for the seven bytes of the preamble. */
  PREAMBLE: 0,
  /** Asked for SASL: waits for NEGOTIATE, to be told to go on without. */
  SASL: 1,
  /** Waits for the connection context. */
  CONTEXT: 2,
  /** The main thread decides whether the real user may act for the effective one. */
  AUTHORIZING: 3,
  OPEN: 4,
  /** It was told a FATAL: what it sends is thrown away; answers of what is in flight still leave. */
  CLOSING: 5,
  /** Its last answer is on its way out; what it sends is thrown away. */
  ENDING: 6,
  CLOSED: 7,
} as const;

/** Why a connection is not read from; bits. */
const Pause = { WORKER: 1, OUTBOX: 2, AUTHORIZING: 4, IN_FLIGHT: 8, TURN: 16 } as const;

/** Unread replies at which a client is not read from any more, until half of them have left. */
const OUTBOX_PAUSE_BYTES = 1024 * 1024;
/** Time for a client to read the last answer and close; then we close. */
const LINGER_MS = 1000;

/** One client socket: handshake, leg (a) read-call, leg (f) write-reply. */
export class ClientConnection implements FrameSink {
  readonly acceptor: Acceptor;
  readonly id: number;
  readonly generation: number;
  readonly socket: net.Socket;
  state: number = ClientState.PREAMBLE;
  /** Calls at workers. */
  inFlight = 0;
  lastContactMs: number;
  identity: ClientIdentity | null = null;
  link: WorkerLink | null = null;
  /** Has something in its outbox and stands in the acceptor's list of this turn. */
  dirty = false;
  /** Since when replies have not left, 0 while they do; and what the budget holds for them. */
  stalledSinceMs = 0;
  claimedBytes = 0;
  /** Since when it owes us the rest of its handshake, or of a frame; 0 while it does not. */
  owedSinceMs: number;
  /** It counts for its address, for its user. */
  countedAddress = '';
  countsForUser = false;
  readonly #assembler: FrameAssembler;
  readonly #outbox = new Outbox();
  #preamble: Buffer | null = null;
  #preambleBytes = 0;
  #sasl = false;
  #protocol = '';
  #pauses = 0;
  #held = false;
  /** The client has said its last word and may wait for answers. */
  #readEnded = false;

  constructor(acceptor: Acceptor, id: number, generation: number, handle: unknown) {
    this.acceptor = acceptor;
    this.id = id;
    this.generation = generation;
    this.lastContactMs = acceptor.clock.nowMs;
    this.owedSinceMs = acceptor.clock.nowMs;
    this.#assembler = new FrameAssembler(this, acceptor.settings.maxRequestBytes, acceptor.budget);
    const readBuffer = acceptor.readBuffer;
    const SocketOfHandle = net.Socket as unknown as new (options: object) => net.Socket;
    this.socket = new SocketOfHandle({
      handle,
      allowHalfOpen: true,
      onread: {
        buffer: readBuffer,
        callback: (bytes: number): boolean => {
          acceptor.counters.add(Counter.bytesReceived, bytes);
          this.#onBytes(readBuffer, bytes);
          return true;
        },
      },
    });
    this.socket.on('error', ignore);
    this.socket.on('end', () => this.#onEnd());
    this.socket.on('close', () => this.#onClose());
    this.socket.resume();
  }

  /** Leg (f) write-reply: into the outbox, which is flushed at the end of the turn. */
  writeReply(buffer: Buffer, start: number, end: number, owned: boolean): void {
    if (this.state >= ClientState.ENDING) return;
    const { acceptor } = this;
    if (owned) this.#outbox.addOwned(this.socket, acceptor.slabs, buffer, start, end);
    else this.#outbox.add(this.socket, acceptor.slabs, buffer, start, end);
    acceptor.markDirty(this);
  }

  flush(): void {
    this.dirty = false;
    if (this.state === ClientState.CLOSED) return;
    this.#outbox.flush(this.socket, this.acceptor.slabs);
    if (this.inFlight === 0) {
      if (this.#readEnded) this.socket.end();
      else if (this.state === ClientState.CLOSING) this.#end(null);
    }
    if (this.socket.writableLength > 0) this.checkStalled();
    else this.#outbox.largestBytes = 0;
  }

  /** Replies that the client does not take: counted against the budget; too many stop the reading, too long ends the connection. */
  checkStalled(): void {
    const { acceptor } = this;
    const waiting = this.state === ClientState.CLOSED ? 0 : this.socket.writableLength;
    if (this.state === ClientState.ENDING) {
      const limitMs = waiting > 0 ? acceptor.settings.slowReaderMs : LINGER_MS;
      if (acceptor.clock.nowMs - this.stalledSinceMs > limitMs) this.socket.destroy();
      return;
    }
    if (waiting !== this.claimedBytes) {
      // One answer is always allowed, however long.
      const limitBytes = acceptor.limits.unreadBytes + this.#outbox.largestBytes;
      if (waiting > limitBytes) {
        this.close(
          `${waiting} bytes of answers that the client does not read, the limit is ${limitBytes} (switchyard.client.unread.limit)`,
          Counter.unreadRepliesClosed,
        );
        return;
      }
      // Any progress starts the clock again; more replies behind those that do not leave are none.
      if (waiting < this.claimedBytes || this.claimedBytes === 0) this.stalledSinceMs = acceptor.clock.nowMs;
      acceptor.budget.release(this.claimedBytes);
      this.claimedBytes = 0;
      if (waiting > 0 && !acceptor.budget.claim(waiting)) {
        this.close('no memory left for replies that the client does not read', Counter.memoryRefusals);
        return;
      }
      this.claimedBytes = waiting;
    }
    if (waiting === 0) {
      this.stalledSinceMs = 0;
      acceptor.stalled.delete(this);
    } else {
      acceptor.stalled.add(this);
      if (acceptor.clock.nowMs - this.stalledSinceMs > acceptor.patienceMs(acceptor.settings.slowReaderMs)) {
        this.close('the client has not read its replies', Counter.slowReadersClosed);
        return;
      }
    }
    if (waiting > OUTBOX_PAUSE_BYTES) this.#pause(Pause.OUTBOX);
    else if (waiting < OUTBOX_PAUSE_BYTES / 2) this.#unpause(Pause.OUTBOX);
  }

  /** One of its calls has been answered: the answer is in the outbox. */
  callEnded(): void {
    this.inFlight--;
    if (this.inFlight === 0 && (this.#readEnded || this.state === ClientState.CLOSING)) this.acceptor.markDirty(this);
    if (this.inFlight === this.acceptor.limits.callsInFlight >> 1) this.#unpause(Pause.IN_FLIGHT);
  }

  /** Its worker has room again, or another worker has taken its place. */
  onSpace(): void {
    this.#unpause(Pause.WORKER);
  }

  /** Its connection context may be read now. */
  onTurn(): void {
    this.#unpause(Pause.TURN);
  }

  /** Called about once a second: what it owes us is not waited for without end. */
  checkOverdue(nowMs: number): void {
    // While it is not read from, it owes nothing.
    if (this.owedSinceMs === 0 || this.#pauses !== 0 || this.state > ClientState.OPEN) return;
    const owedMs = nowMs - this.owedSinceMs;
    const { limits } = this.acceptor;
    if (this.state < ClientState.OPEN) {
      if (owedMs <= limits.handshakeMs) return;
      this.close(
        `no connection context within ${limits.handshakeMs} ms (switchyard.client.handshake.timeout)`,
        Counter.slowHandshakesClosed,
      );
    } else if (owedMs > this.acceptor.patienceMs(limits.frameMs)) {
      this.close(
        `the rest of a call has not come within ${Math.floor(owedMs)} ms (switchyard.client.frame.timeout)`,
        Counter.slowSendersClosed,
      );
    }
  }

  /** The main thread's word on the impersonation: null allows it. */
  onAuthorized(refusal: string | null): void {
    if (this.state !== ClientState.AUTHORIZING) return;
    if (refusal !== null) {
      this.endWith(fatal(CallId.CONNECTION_CONTEXT, ErrorDetail.FATAL_UNAUTHORIZED, AUTHORIZATION, refusal));
      return;
    }
    this.#open();
    this.#unpause(Pause.AUTHORIZING);
  }

  /** Writes a last answer to what came last, a call or a step of the handshake, and closes once it has left. */
  endWith(answer: Buffer | null): void {
    if (this.state >= ClientState.ENDING) return;
    this.#outbox.flush(this.socket, this.acceptor.slabs);
    this.acceptor.counters.add(this.state === ClientState.OPEN ? Counter.callsRefused : Counter.handshakesRefused);
    if (answer === null) {
      this.#stopReading(ClientState.ENDING);
      this.socket.destroy();
    } else this.#end(answer);
  }

  /** A worker's last word to it is in the outbox (ReplyFlag.CLOSE). */
  closeWhenAnswered(): void {
    if (this.state !== ClientState.OPEN) return;
    this.acceptor.counters.add(Counter.clientsDisconnected);
    this.#stopReading(ClientState.CLOSING);
  }

  /** The router stops: what is in the outbox leaves, then the end of the stream. */
  finish(): void {
    if (this.state >= ClientState.ENDING) return;
    this.#outbox.flush(this.socket, this.acceptor.slabs);
    this.#stopReading(ClientState.ENDING);
    this.socket.end();
  }

  close(why: string, counter: number): void {
    if (this.state === ClientState.CLOSED) return;
    this.acceptor.counters.add(counter);
    this.acceptor.note(`client ${this.identity?.address ?? '?'}:${this.identity?.port ?? 0} closed: ${why}`);
    this.socket.destroy();
  }

  onFrame(buffer: Buffer, start: number, end: number): boolean {
    if (this.#pauses !== 0) return false;
    if (this.state === ClientState.OPEN) this.owedSinceMs = 0;
    const { reader } = this.acceptor;
    const code = scanHeader(buffer, start, end, reader.scan);
    if (code === SCAN_BAD) {
      this.endWith(badHeader(reader.scan));
      return true;
    }
    const callId = reader.scan.callId;
    if (callId < 0 && code === SCAN_OK) return this.#onOutOfBand(callId, buffer, start, end);
    if (this.state !== ClientState.OPEN) {
      this.endWith(invalidHeader(reader.scan, 'Connection context not established'));
      return true;
    }
    const taken = this.#readCall(buffer, start, end, code);
    reader.release();
    return taken;
  }

  #readCall(buffer: Buffer, start: number, end: number, headerCode: number): boolean {
    const { acceptor } = this;
    const { reader } = acceptor;
    if (this.inFlight >= acceptor.limits.callsInFlight) {
      acceptor.counters.add(Counter.pausesInFlight);
      this.#pause(Pause.IN_FLIGHT);
      return false;
    }
    const found = reader.readCall(buffer, start, end, headerCode, this.#protocol);
    if (found === ReadCall.FATAL) {
      this.endWith(reader.answer);
      return true;
    }
    if (found === ReadCall.REFUSED) {
      acceptor.counters.add(Counter.callsRefused);
      this.writeReply(reader.answer, 0, reader.answer.length, false);
      return true;
    }
    if (acceptor.draining) {
      acceptor.counters.add(Counter.callsRefused);
      const answer = acceptor.drainAnswer(reader);
      this.writeReply(answer, 0, answer.length, false);
      return true;
    }
    const { scan } = reader;
    const link = this.link as WorkerLink;
    const slot = acceptor.outstanding.take(this.id, this.generation, scan.callId, scan.retryCount, link.worker);
    if (slot < 0) {
      this.#pause(Pause.WORKER);
      acceptor.waitForSlot(this);
      return false;
    }
    scan.connection = this.id;
    scan.generation = this.generation;
    scan.slot = slot;
    // Before the hand-over: with the inline link the answer comes within it.
    this.inFlight++;
    // Leg (b) hand-over. Refused: the ring is full, and with it this connection waits.
    if (!link.call(scan, reader.frame, reader.start, reader.end, this.#assembler.owns(reader.frame))) {
      this.inFlight--;
      acceptor.outstanding.give(slot);
      this.#pause(Pause.WORKER);
      acceptor.waitForSpace(this, link);
      return false;
    }
    acceptor.counters.add(reader.recoded ? Counter.callsRecoded : Counter.callsRead);
    return true;
  }

  /** False: not taken, it waits for its turn. */
  #onOutOfBand(callId: number, buffer: Buffer, start: number, end: number): boolean {
    const { acceptor, state } = this;
    const { scan } = acceptor.reader;
    const bodyStart = start + scan.headerEnd;
    if (callId === CallId.PING) return true;
    if (callId === CallId.SASL) this.#onSasl(buffer, bodyStart, end);
    else if (callId !== CallId.CONNECTION_CONTEXT) {
      this.endWith(invalidHeader(scan, `Unknown out of band call #${callId}`));
    } else if (state === ClientState.SASL) {
      this.endWith(invalidHeader(scan, 'Connection header sent during SASL negotiation'));
    } else if (state !== ClientState.CONTEXT) {
      this.endWith(invalidHeader(scan, 'Connection context already processed'));
    } else if (acceptor.takesContext(this)) {
      this.#onContext(buffer, bodyStart, end);
    } else {
      this.#pause(Pause.TURN);
      return false;
    }
    return true;
  }

  /** SIMPLE is all there is: a negotiation ends with the order to go on without SASL. */
  #onSasl(buffer: Buffer, start: number, end: number): void {
    if (!this.#sasl || this.state !== ClientState.SASL) {
      this.endWith(
        fatal(
          CallId.SASL,
          ErrorDetail.FATAL_INVALID_RPC_HEADER,
          RPC_SERVER_EXCEPTION,
          'SASL protocol not requested by client',
        ),
      );
      return;
    }
    const sasl = new SaslScan();
    const state = scanSasl(buffer, start, end, sasl);
    if (state === SaslState.NEGOTIATE || (state === SaslState.INITIATE && sasl.method === 'SIMPLE')) {
      this.state = ClientState.CONTEXT;
      const answer = encodeSaslSuccess();
      if (state === SaslState.NEGOTIATE) this.writeReply(answer, 0, answer.length, false);
      return;
    }
    this.endWith(
      state === SaslState.INITIATE
        ? fatal(
            CallId.SASL,
            ErrorDetail.FATAL_UNAUTHORIZED,
            ACCESS_CONTROL,
            `${sasl.method} authentication is not enabled.  Available:[SIMPLE]`,
          )
        : fatal(
            CallId.SASL,
            ErrorDetail.FATAL_UNAUTHORIZED,
            'javax.security.sasl.SaslException',
            'Client sent unsupported state',
          ),
    );
  }

  #onContext(buffer: Buffer, start: number, end: number): void {
    const context = new ConnectionContext();
    const refusal = readContext(buffer, start, end, context);
    if (refusal !== null) {
      this.endWith(refusal);
      return;
    }
    this.#protocol = context.protocol;
    this.identity = {
      user: context.user,
      realUser: context.realUser,
      address: plainAddress(this.socket.remoteAddress),
      port: this.socket.remotePort ?? 0,
    };
    if (context.realUser === '') {
      this.#open();
      return;
    }
    this.state = ClientState.AUTHORIZING;
    this.#pause(Pause.AUTHORIZING);
    this.acceptor.askAuthorization(this, this.identity);
  }

  #open(): void {
    const { acceptor } = this;
    const identity = this.identity as ClientIdentity;
    if (!acceptor.countUser(this, identity.user)) {
      const { connectionsPerUser } = acceptor.limits;
      acceptor.note(
        `client ${identity.address}:${identity.port} refused: ${identity.user} has ${connectionsPerUser} connections, the limit (switchyard.client.connections-per-user)`,
      );
      this.endWith(tooManyConnections(acceptor.settings.routerId, identity.user, connectionsPerUser));
      return;
    }
    const link = acceptor.chooseWorker(identity);
    if (link === null) {
      this.close('there is no worker yet', Counter.clientsRefused);
      return;
    }
    this.state = ClientState.OPEN;
    this.owedSinceMs = 0;
    this.link = link;
    link.openClient(this.id, this.generation, identity);
  }

  #onBytes(buffer: Buffer, bytes: number): void {
    const { acceptor } = this;
    acceptor.noteActivity();
    this.lastContactMs = acceptor.clock.nowMs;
    if (this.state > ClientState.OPEN) return;
    let at = 0;
    if (this.state === ClientState.PREAMBLE) {
      at = this.#onPreamble(buffer, bytes);
      if (at < 0) return;
    }
    if (at < bytes) this.#settle(this.#assembler.feed(buffer, at, bytes));
    if (this.state === ClientState.OPEN && this.owedSinceMs === 0 && this.#assembler.inFrame) {
      this.owedSinceMs = acceptor.clock.nowMs;
    }
  }

  /** Position behind the preamble, -1 while it is incomplete or when it was refused. */
  #onPreamble(buffer: Buffer, bytes: number): number {
    let preamble = buffer;
    let at = PREAMBLE_BYTES;
    if (this.#preamble !== null || bytes < PREAMBLE_BYTES) {
      this.#preamble ??= Buffer.alloc(PREAMBLE_BYTES);
      at = Math.min(bytes, PREAMBLE_BYTES - this.#preambleBytes);
      buffer.copy(this.#preamble, this.#preambleBytes, 0, at);
      this.#preambleBytes += at;
      if (this.#preambleBytes < PREAMBLE_BYTES) return -1;
      preamble = this.#preamble;
    }
    const code = judgePreamble(preamble, 0);
    this.#sasl = code === Preamble.OK_SASL;
    if (code === Preamble.OK_NONE || code === Preamble.OK_SASL) {
      this.state = this.#sasl ? ClientState.SASL : ClientState.CONTEXT;
      this.#preamble = null;
      return at;
    }
    this.endWith(encodeRefusal(code, preamble, 0));
    return -1;
  }

  #settle(code: number): void {
    if (code === FRAMES_OK) return;
    if (code === FRAMES_HELD) {
      this.#held = true;
      return;
    }
    if (code === FRAME_NO_MEMORY) this.close('the memory budget is used up', Counter.memoryRefusals);
    else
      this.close(
        `a frame of ${this.#assembler.badLength} bytes, the limit is ${this.acceptor.settings.maxRequestBytes} (ipc.maximum.data.length)`,
        Counter.longFramesClosed,
      );
  }

  #pause(why: number): void {
    if (this.#pauses === 0) {
      this.socket.pause();
      this.acceptor.paused++;
    }
    this.#pauses |= why;
  }

  #unpause(why: number): void {
    if ((this.#pauses & why) === 0) return;
    this.#pauses &= ~why;
    if (this.#pauses !== 0) return;
    this.acceptor.paused--;
    if (this.state >= ClientState.ENDING) return;
    if (this.owedSinceMs !== 0) this.owedSinceMs = this.acceptor.clock.nowMs;
    if (this.#held) {
      this.#held = false;
      this.acceptor.noteActivity();
      this.#settle(this.#assembler.resume());
    }
    if (this.#pauses === 0 && this.state < ClientState.ENDING) this.socket.resume();
  }

  /** Behind what has left the outbox: `last`, if any, and the end of the stream. */
  #end(last: Buffer | null): void {
    this.#stopReading(ClientState.ENDING);
    if (last === null) this.socket.end();
    else this.socket.end(last);
    this.stalledSinceMs = this.acceptor.clock.nowMs;
    this.acceptor.stalled.add(this);
  }

  /** What still comes is read and thrown away: bytes that nobody reads would turn the end into a reset, which can overtake the last answer. */
  #stopReading(state: number): void {
    this.state = state;
    this.#assembler.release();
    this.#held = false;
    this.socket.resume();
  }

  /** No further calls: those in flight are answered, then we close too. What is not in flight yet is not begun for it any more. */
  #onEnd(): void {
    this.#readEnded = true;
    if (this.inFlight > 0) this.acceptor.onClientEnded(this);
    else this.acceptor.markDirty(this);
  }

  #onClose(): void {
    this.state = ClientState.CLOSED;
    if (this.#pauses !== 0) this.acceptor.paused--;
    this.#pauses = 0;
    this.#assembler.release();
    if (this.claimedBytes > 0) this.acceptor.budget.release(this.claimedBytes);
    this.claimedBytes = 0;
    this.acceptor.stalled.delete(this);
    this.acceptor.onClientClosed(this);
  }
}

/** IPv4 addresses of a dual-stack socket in the form that NameNodes print. */
export function plainAddress(address = ''): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}

function ignore(): void {}
