/**
 * The cheapest possible NameNode, a process of its own: every request is answered at once with a reply made beforehand. One write per socket
 * and event-loop turn.
 *
 *   node stub-namenode.ts [--ports N]
 *
 * Prints {"ready":true,"pid":…,"ports":[…]} and runs until it is told to end, or until the process that forked it is gone. Sent the message
 * 'stats' over its parent's channel it answers {calls, connections}: getFileInfo calls, and connections that carried any, since the last time.
 */

import net from 'node:net';
import { readArguments, readWhole } from './arguments.ts';
import { CallId, FrameReader, PREAMBLE_BYTES } from './frames.ts';
import {
  isFileInfo,
  REPLY_BOUND_BYTES,
  RequestFields,
  readRequest,
  SASL_SIMPLE,
  writeReply,
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

/** All sockets read into the same memory: a read and its callback are one synchronous step. */
const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);
const fields = new RequestFields();
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
    if (this.#out.length - this.#outEnd < REPLY_BOUND_BYTES && !this.#grow()) return;
    if (this.#outEnd === 0) markDirty(this);
    this.#outEnd = writeReply(this.#out, this.#outEnd, buffer, fields);
    if (isFileInfo(buffer, fields)) {
      this.calls++;
      totalCalls++;
    }
  }

  #grow(): boolean {
    if (this.#out.length + this.socket.writableLength > MAX_OUT_BYTES) {
      process.stderr.write(`stub NameNode: a peer leaves more than ${MAX_OUT_BYTES} bytes of replies unread; closed\n`);
      this.socket.destroy();
      return false;
    }
    const grown = Buffer.allocUnsafeSlow(this.#out.length * 2);
    this.#out.copy(grown, 0, 0, this.#outEnd);
    this.#out = grown;
    return true;
  }

  flush(): void {
    const bytes = this.#outEnd;
    this.#outEnd = 0;
    if (this.socket.destroyed) return;
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
  for (let i = 0; i < dirty.length; i++) (dirty[i] as Connection).flush();
  dirty.length = 0;
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

const count = readWhole(readArguments({ ports: { type: 'string' } }), 'ports', 1, MAX_PORTS, 1);
const ports: number[] = [];
for (let i = 0; i < count; i++) ports.push(await listen());
process.on('message', (message) => {
  if (message === 'stats') process.send?.(takeStats());
});
process.on('disconnect', () => process.exit(0));
process.stdout.write(`${JSON.stringify({ ready: true, pid: process.pid, ports })}\n`);
