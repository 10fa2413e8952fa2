/**
 * The seam between the acceptor (client sockets) and a worker (NameNode connections): legs (b) hand-over and (e) hand-back.
 *
 *   acceptor ── WorkerLink.openClient / call / closeClient ──▶ WorkerSide
 *   acceptor ◀─ AcceptorSide.onReply ──────────────────────── AcceptorLink.reply
 *
 * Two implementations: `ring` (shared memory between two threads, ring-link.ts) and `inline` (plain calls in one thread, inline-link.ts).
 */

/** Who is behind a client connection; sent to the worker once, before the first call of the connection. */
export interface ClientIdentity {
  /** Effective user of the connection context. */
  readonly user: string;
  /** Real user when `user` is impersonated, else ''. */
  readonly realUser: string;
  /** Textual address of the client, as NameNodes print it. */
  readonly address: string;
  readonly port: number;
}

/**
 * What the acceptor's scan found in one call. All `…Start`/`…End` are offsets from the first byte of the frame (the byte after the
 * 4-byte length); a pair of zeros means absent. Reused: valid only during the call that passes it.
 */
export class CallFields {
  /** Index of the client connection in the acceptor's table, and the generation that tells its reuses apart. */
  connection = 0;
  generation = 0;
  /** Index of the call in the acceptor's table of outstanding calls; comes back with the reply. */
  slot = 0;
  /** Index into METHODS. */
  method = 0;
  /** CallFlag bits. */
  flags = 0;
  callId = 0;
  retryCount = 0;
  /** RpcRequestHeaderProto without its length prefix. */
  headerStart = 0;
  headerEnd = 0;
  /** Of an APPENDABLE header: its end without the state ids (fields 8 and 9), which stand last. */
  statelessEnd = 0;
  clientIdStart = 0;
  clientIdEnd = 0;
  /** RPCCallerContextProto message of the header. */
  contextStart = 0;
  contextEnd = 0;
  /** RouterFederatedStateProto bytes of the header. */
  federatedStart = 0;
  federatedEnd = 0;
  /** Request message without its length prefix; the delimited RequestHeaderProto lies between headerEnd and its length prefix. */
  bodyStart = 0;
  bodyEnd = 0;
  /** Value bytes of the method's first and second path field. */
  pathStart = 0;
  pathEnd = 0;
  path2Start = 0;
  path2End = 0;
}

export const CallFlag = {
  /** Up to statelessEnd the header holds each of the fields 1–5 and 7 at most once, nothing else: it may be changed by appending there. */
  APPENDABLE: 1,
  /** The scan was not certain about the message: offsets of paths are not set, decode it whole. */
  UNSURE: 2,
} as const;

export const ReplyFlag = {
  /** No reply to write: the call ends without an answer (its client is gone); frees the slot. */
  NONE: 1,
  /**
   * The last word of its connection, a FATAL: no further call is read. Clients close by themselves and give up what they have in flight; for one
   * that does not, those answers still leave, and then the acceptor closes.
   */
  CLOSE: 2,
} as const;

/** The acceptor's view of one worker. Nothing is visible to the worker's thread for certain before `flush`. */
export interface WorkerLink {
  /** Index of the worker. */
  readonly worker: number;
  /** Never refused: waits inside the link when there is no room (bounded by the number of connections); calls then are refused until it is written. */
  openClient(connection: number, generation: number, identity: ClientIdentity): void;
  closeClient(connection: number, generation: number): void;
  /**
   * Hands one frame over: a copy, or with `owned` (the frame is all of its ArrayBuffer, and nobody else will use it) the memory itself, which
   * may be detached afterwards. False: no room, nothing was taken; `AcceptorSide.onSpace` follows.
   */
  call(fields: CallFields, frame: Buffer, start: number, end: number, owned?: boolean): boolean;
  /** End of the event-loop turn: rings the worker's bell when it sleeps. */
  flush(): void;
  /** The worker is gone: nothing more arrives from this link. */
  close(): void;
}

export interface AcceptorSide {
  /**
   * One reply frame, its 4-byte length included: buffer[start, end). When `owned` the memory belongs to the receiver now, otherwise it
   * must be copied before returning. Never refused.
   */
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
  ): void;
  /** There is room again after a refused call. */
  onSpace(link: WorkerLink): void;
  /** All replies that were there have been passed on: a good moment to flush sockets. */
  onDrained(link: WorkerLink): void;
}

/** The worker's view of one acceptor. */
export interface AcceptorLink {
  readonly acceptor: number;
  /**
   * Hands one reply back: head[headStart, headEnd) followed by body[bodyStart, bodyEnd), together one frame with its length prefix. A copy, or
   * with `owned` (nobody else will use the ArrayBuffer of `body`) and no head maybe the memory itself, which is detached then. False: no room,
   * nothing was taken; `WorkerSide.onReplySpace` follows.
   */
  reply(
    connection: number,
    generation: number,
    slot: number,
    flags: number,
    head: Buffer,
    headStart: number,
    headEnd: number,
    body: Buffer,
    bodyStart: number,
    bodyEnd: number,
    owned?: boolean,
  ): boolean;
  flush(): void;
}

export interface WorkerSide {
  onOpen(link: AcceptorLink, connection: number, generation: number, identity: ClientIdentity): void;
  onClose(link: AcceptorLink, connection: number, generation: number): void;
  /**
   * frame[start, end) is valid only during this call, unless it is `owned`: then the memory belongs to the worker now. Never refused: the
   * worker queues the call or answers it.
   */
  onCall(link: AcceptorLink, fields: CallFields, frame: Buffer, start: number, end: number, owned: boolean): void;
  onReplySpace(link: AcceptorLink): void;
  /** All records that were there have been passed on: a good moment to flush sockets. */
  onDrained(link: AcceptorLink): void;
}
