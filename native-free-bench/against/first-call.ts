/** When a server answers its first call with success: a client that tries until it does. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  bytesField,
  CallId,
  encodeCall,
  encodeHandshake,
  FrameReader,
  readVarint,
  varintEnd,
} from '../harness/frames.ts';

const RETRY_MS = 10;
/** A server that accepts and says nothing is asked again. */
const ANSWER_MS = 2_000;
const SUCCESS = 0;
/** Tag of RpcResponseHeaderProto.status. */
const STATUS_TAG = 0x10;
/** Tag of RpcResponseHeaderProto.callId, which stands before it. */
const CALL_ID_TAG = 0x08;

/** Resolves when a getFileInfo for `path` was answered with success. Fails after `timeoutMs`, with the last thing that happened. */
export async function awaitFirstCall(port: number, path: string, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const failure = await callOnce(port, path);
    if (failure === '') return;
    if (performance.now() > deadline) throw new Error(`no call on port ${port} succeeds: ${failure}`);
    await sleep(RETRY_MS);
  }
}

/** '' after a call that succeeded, else why it did not. */
async function callOnce(port: number, path: string): Promise<string> {
  const clientId = randomBytes(16);
  const socket = net.connect(port, '127.0.0.1');
  let status = -1;
  const reader = new FrameReader(0, (buffer, start) => {
    status = readStatus(buffer, start);
    socket.destroy();
  });
  socket.on('connect', () => {
    socket.write(encodeHandshake('bench', clientId));
    socket.write(encodeCall('getFileInfo', bytesField(1, path), clientId, CallId.FIRST));
  });
  socket.on('data', (chunk: Buffer) => {
    if (!reader.feed(chunk, chunk.length)) socket.destroy();
  });
  try {
    await once(socket, 'close', { signal: AbortSignal.timeout(ANSWER_MS) });
  } catch (error) {
    socket.on('error', () => {});
    socket.destroy();
    return error instanceof Error ? error.message : String(error);
  }
  if (status === SUCCESS) return '';
  return status < 0 ? 'the connection was closed' : `the answer has status ${status}`;
}

/** Status of a reply whose header begins with call id and status, as every server writes it; -1: it does not. */
function readStatus(buffer: Buffer, start: number): number {
  readVarint(buffer, start);
  if (buffer[varintEnd] !== CALL_ID_TAG) return -1;
  readVarint(buffer, varintEnd + 1);
  return buffer[varintEnd] === STATUS_TAG ? readVarint(buffer, varintEnd + 1) : -1;
}
