/**
 * The cheapest possible NameNode, a process of its own: every request is answered at once with a reply made beforehand. One write per socket
 * and event-loop turn.
 *
 *   node stub-namenode.ts [--ports N] [--delay-ms D] [--reply-bytes B]
 *
 * --delay-ms: getFileInfo is answered that much later (0 … 60,000), all other calls at once. Waiting requests stand in one queue; from 1 ms
 * on one timer wakes for its head, below that each turn of the event loop looks, which keeps this process busy while requests wait.
 * --reply-bytes: size of the whole reply frame to getFileInfo, 100 … 16,777,216 (usually 210).
 *
 * Prints {"ready":true,"pid":…,"ports":[…]} and runs until it is told to end, or until the process that forked it is gone. Sent the message
 * 'stats' over its parent's channel it answers {calls, connections}: getFileInfo calls, and connections that carried any, since the last time.
 * Sent {"delayMs":D,"replyBytes":B} as a string it goes on with these.
 */

import net from 'node:net';
import { readArguments, readNumber, readWhole, refuse } from './arguments.ts';
import { DelayedReplies, MAX_DELAYED } from './delayed-replies.ts';
import { CallId, FrameReader, PREAMBLE_BYTES } from './frames.ts';
import {
  FILE_INFO_BODY,
  HEAD_BOUND_BYTES,
  isFileInfo,
  MAX_REPLY_BYTES,
  MIN_REPLY_BYTES,
  makeFileInfoBody,
  REPLY_BOUND_BYTES,
  RequestFields,
  readRequest,
  SASL_SIMPLE,
  USUAL_REPLY_BYTES,
  writeReply,
  writeReplyHead,
} from './namenode-replies.ts';

export interface StubStats {
  readonly calls: number;
  readonly connections: number;
}

const READ_BYTES = 256 * 1024;
const MAX_PORTS = 64;
const OUT_BYTES = 2 * 1024;
/** A peer that lets more than this many reply bytes wait is closed. */
const MAX_OUT_BYTES = 16 * 1024 * 1024;
/** Bodies from this size on are not copied: the socket is given the one body that all replies share. */
const SHARED_BODY_BYTES = 16 * 1024;
/** A peer that lets more than this many replies with shared bodies wait is closed. */
const MAX_SHARED_WAITING = 16 * 1024;
/** Delays from here on are left to a timer. */
const TIMER_MS = 1;
const MAX_DELAY_MS = 60_000;

const values = readArguments({
  ports: { type: 'string' },
  'delay-ms': { type: 'string' },
  'reply-bytes': { type: 'string' },
});
let delayMs = readNumber(values, 'delay-ms', 0, MAX_DELAY_MS, 0);
let fileInfoBody = FILE_INFO_BODY;
let replyBoundBytes = REPLY_BOUND_BYTES;
setReplyBytes(readWhole(values, 'reply-bytes', MIN_REPLY_BYTES, MAX_REPLY_BYTES, USUAL_REPLY_BYTES));

/** All sockets read into the same memory: a read and its callback are one synchronous step. */
const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);
const fields = new RequestFields();
const delayed = new DelayedReplies<Connection>();
const delayedFields = new RequestFields();
let wakeDue = false;
const dirty: Connection[] = [];
const open = new Set<Connection>();
let flushDue = false;
let totalCalls = 0;
/** Connections that carried calls since the last stats and are gone. */
let closedAfterCalls = 0;

class Connection {
  socket: net.Socket;
  calls = 0;
  #reader: FrameReader;
  #out = Buffer.allocUnsafeSlow(OUT_BYTES);
  #outEnd = 0;
  /** It stands in `dirty`. */
  #isDirty = false;

  constructor(handle: unknown) {
    this.#reader = new FrameReader(PREAMBLE_BYTES, (buffer, start, end) => this.#answer(buffer, start, end));
    this.socket = wrapAccepted(handle, (bytes) => {
      if (!this.#reader.feed(readBuffer, bytes)) this.socket.destroy();
      return true;
    });
  }

  #answer(buffer: Buffer, start: number, end: number): void {
    if (!readRequest(buffer, start, end, fields)) {
      this.socket.destroy();
      return;
    }
    if (fields.callId < 0) {
      if (fields.callId === CallId.SASL) this.socket.write(SASL_SIMPLE);
      return;
    }
    if (!isFileInfo(buffer, fields)) {
      if (!this.#makeRoom(REPLY_BOUND_BYTES)) return;
      this.#outEnd = writeReply(this.#out, this.#outEnd, buffer, fields);
      return;
    }
    this.calls++;
    totalCalls++;
    if (delayMs === 0) this.answerFileInfo(buffer, fields);
    else if (delayed.push(this, buffer, fields, performance.now() + delayMs)) wakeForDelayed();
    else this.#close(`more than ${MAX_DELAYED} requests wait for their time`);
  }

  /** Writes the status of a file to the request that `fields` describes; the client id lies in `buffer`. */
  answerFileInfo(buffer: Buffer, fields: RequestFields): void {
    if (this.socket.destroyed) return;
    const bodyBytes = fileInfoBody.length;
    const isShared = bodyBytes >= SHARED_BODY_BYTES;
    if (!this.#makeRoom(isShared ? HEAD_BOUND_BYTES : replyBoundBytes)) return;
    const bodyAt = writeReplyHead(this.#out, this.#outEnd, buffer, fields, bodyBytes);
    if (!isShared) {
      fileInfoBody.copy(this.#out, bodyAt);
      this.#outEnd = bodyAt + bodyBytes;
      return;
    }
    this.#outEnd = bodyAt;
    if (this.socket.writableLength > MAX_SHARED_WAITING * bodyBytes) {
      this.#close(`a peer leaves more than ${MAX_SHARED_WAITING} replies unread`);
      return;
    }
    this.flush();
    this.socket.write(fileInfoBody);
  }

  /** `#out` has room for `bytes` more, and will be flushed. False: the connection is closed. */
  #makeRoom(bytes: number): boolean {
    while (this.#out.length - this.#outEnd < bytes) if (!this.#grow()) return false;
    if (!this.#isDirty) {
      this.#isDirty = true;
      markDirty(this);
    }
    return true;
  }

  #close(reason: string): void {
    process.stderr.write(`stub NameNode: ${reason}; closed\n`);
    this.socket.destroy();
  }

  #grow(): boolean {
    if (this.#out.length + this.socket.writableLength > MAX_OUT_BYTES) {
      this.#close(`a peer leaves more than ${MAX_OUT_BYTES} bytes of replies unread`);
      return false;
    }
    const grown = Buffer.allocUnsafeSlow(this.#out.length * 2);
    this.#out.copy(grown, 0, 0, this.#outEnd);
    this.#out = grown;
    return true;
  }

  flushTurn(): void {
    this.#isDirty = false;
    this.flush();
  }

  flush(): void {
    const bytes = this.#outEnd;
    this.#outEnd = 0;
    if (bytes === 0 || this.socket.destroyed) return;
    this.socket.write(this.#out.subarray(0, bytes));
    // After a short write the kernel still reads from the buffer: leave it to the socket.
    if (this.socket.writableLength !== 0) this.#out = Buffer.allocUnsafeSlow(this.#out.length);
  }
}

function markDirty(connection: Connection): void {
  dirty.push(connection);
  if (flushDue) return;
  flushDue = true;
  setImmediate(flushAll);
}

function flushAll(): void {
  flushDue = false;
  for (let i = 0; i < dirty.length; i++) (dirty[i] as Connection).flushTurn();
  dirty.length = 0;
}

/** Answers what is due, and comes back for the next one: a timer, or the next turn where a timer would be too coarse. */
function answerDue(): void {
  wakeDue = false;
  const nowMs = performance.now();
  while (delayed.nextDueMs() <= nowMs) delayed.shift(delayedFields).answerFileInfo(delayed.clientIds, delayedFields);
  wakeForDelayed();
}

function wakeForDelayed(): void {
  if (wakeDue || delayed.count === 0) return;
  wakeDue = true;
  if (delayMs < TIMER_MS) setImmediate(answerDue);
  else setTimeout(answerDue, Math.max(TIMER_MS, delayed.nextDueMs() - performance.now()));
}

/** A socket over an accepted handle that reads into `readBuffer`: Node offers this for connecting sockets only. */
function wrapAccepted(handle: unknown, onBytes: (bytes: number) => boolean): net.Socket {
  const options: Omit<net.SocketConstructorOpts, 'handle'> & { handle: unknown } = {
    handle,
    onread: { buffer: readBuffer, callback: onBytes },
  };
  return new net.Socket(options as net.SocketConstructorOpts);
}

function accept(status: number, handle: unknown): void {
  if (status !== 0) return;
  const connection = new Connection(handle);
  open.add(connection);
  connection.socket.setNoDelay(true);
  connection.socket.on('error', () => connection.socket.destroy());
  connection.socket.on('close', () => {
    open.delete(connection);
    if (connection.calls > 0) closedAfterCalls++;
  });
  connection.socket.resume();
}

function listen(): Promise<number> {
  const server = net.createServer();
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen({ host: '127.0.0.1', port: 0, backlog: 8192 }, () => {
      (server as unknown as { _handle: { onconnection: typeof accept } })._handle.onconnection = accept;
      resolve((server.address() as net.AddressInfo).port);
    });
  });
}

function takeStats(): StubStats {
  let connections = closedAfterCalls;
  closedAfterCalls = 0;
  for (const connection of open) {
    if (connection.calls > 0) connections++;
    connection.calls = 0;
  }
  const calls = totalCalls;
  totalCalls = 0;
  return { calls, connections };
}

function setReplyBytes(bytes: number): void {
  try {
    fileInfoBody = bytes === USUAL_REPLY_BYTES ? FILE_INFO_BODY : makeFileInfoBody(bytes);
  } catch (error) {
    refuse(error instanceof Error ? error.message : String(error));
  }
  replyBoundBytes = Math.max(REPLY_BOUND_BYTES, HEAD_BOUND_BYTES + fileInfoBody.length);
}

/** Takes {delayMs, replyBytes} as JSON and answers it; what is wrong ends the process, as a wrong command line does. */
function change(message: string): void {
  try {
    const wanted = JSON.parse(message) as { readonly delayMs: number; readonly replyBytes: number };
    if (!(wanted.delayMs >= 0 && wanted.delayMs <= MAX_DELAY_MS))
      throw new RangeError(`a delay of ${wanted.delayMs} ms`);
    setReplyBytes(wanted.replyBytes);
    delayMs = wanted.delayMs;
    process.send?.(wanted);
  } catch (error) {
    refuse(`message ${message}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const count = readWhole(values, 'ports', 1, MAX_PORTS, 1);
const ports: number[] = [];
for (let i = 0; i < count; i++) ports.push(await listen());
process.on('message', (message) => {
  if (message === 'stats') process.send?.(takeStats());
  else change(String(message));
});
process.on('disconnect', () => process.exit(0));
process.stdout.write(`${JSON.stringify({ ready: true, pid: process.pid, ports })}\n`);
