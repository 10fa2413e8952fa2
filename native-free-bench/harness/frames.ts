/**
 * The few Hadoop RPC bytes that the bench sends, and a reader of length-prefixed frames. Written apart from src/wire on purpose: a mistake
 * made there cannot cancel itself out here.
 *
 *   connection  = preamble context call*
 *   preamble    = "hrpc" 09 00 00
 *   frame       = length:u32be bytes              (context, call and reply are all frames)
 *   call        = delimited(RpcRequestHeaderProto) delimited(RequestHeaderProto) delimited(request)
 *   reply       = delimited(RpcResponseHeaderProto) [delimited(response)]
 */

export const PREAMBLE_BYTES = 7;
/** Longest frame that either end of the bench takes, as a NameNode's `ipc.maximum.data.length`. */
const MAX_FRAME_BYTES = 1 << 27;
const CLIENT_PROTOCOL = 'org.apache.hadoop.hdfs.protocol.ClientProtocol';

/** Call ids with special meaning, and the range in which ids take 4 bytes both zigzag (requests) and plain (replies). */
export const CallId = { CONTEXT: -3, SASL: -33, FIRST: 1 << 21, END: 1 << 27 } as const;

/** Unsigned varint of a value below 2^53. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** A varint field. */
export function numberField(field: number, value: number): Buffer {
  return Buffer.concat([varint(field * 8), varint(value)]);
}

/** A length-delimited field: string, bytes or embedded message. */
export function bytesField(field: number, value: string | Buffer): Buffer {
  return Buffer.concat([varint(field * 8 + 2), delimited(typeof value === 'string' ? Buffer.from(value) : value)]);
}

export function delimited(message: Buffer): Buffer {
  return Buffer.concat([varint(message.length), message]);
}

export function framed(...parts: Buffer[]): Buffer {
  const payload = Buffer.concat(parts);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(payload.length);
  return Buffer.concat([length, payload]);
}

/** Where the varint that `readVarint` read last ends: module state instead of an object per varint. */
export let varintEnd = 0;

/** The varint at `at`, its low 32 bits as a signed number. A varint that does not end within 10 bytes ends there. */
export function readVarint(buffer: Buffer, at: number): number {
  let value = 0;
  let position = at;
  for (let shift = 0; shift < 70; shift += 7) {
    const byte = buffer[position++] as number;
    if (shift < 32) value |= (byte & 127) << shift;
    if (byte < 128) break;
  }
  varintEnd = position;
  return value;
}

function zigzag(value: number): number {
  return value < 0 ? -value * 2 - 1 : value * 2;
}

function requestHeader(callId: number, clientId: Buffer, retryCount: number): Buffer {
  return delimited(
    Buffer.concat([
      numberField(1, 2),
      numberField(2, 0),
      numberField(3, zigzag(callId)),
      bytesField(4, clientId),
      numberField(5, zigzag(retryCount)),
    ]),
  );
}

/** Preamble and connection context of a SIMPLE client, as the Java client sends them. */
export function encodeHandshake(user: string, clientId: Buffer): Buffer {
  const context = Buffer.concat([bytesField(2, bytesField(1, user)), bytesField(3, CLIENT_PROTOCOL)]);
  return Buffer.concat([
    Buffer.from([0x68, 0x72, 0x70, 0x63, 9, 0, 0]),
    framed(requestHeader(CallId.CONTEXT, clientId, -1), delimited(context)),
  ]);
}

/** One call of ClientProtocol with its frame length: `body` is the request message. */
export function encodeCall(method: string, body: Buffer, clientId: Buffer, callId: number): Buffer {
  const name = Buffer.concat([bytesField(1, method), bytesField(2, CLIENT_PROTOCOL), numberField(3, 1)]);
  return framed(requestHeader(callId, clientId, 0), delimited(name), delimited(body));
}

/**
 * Cuts a byte stream into frames. A frame that lies whole in the chunk is passed on without a copy; the rest of a chunk waits in a buffer
 * of its own.
 */
export class FrameReader {
  #onFrame: (buffer: Buffer, start: number, end: number) => void;
  /** Bytes to take off before the first frame (a server skips the preamble). */
  #skip: number;
  #held: Buffer = EMPTY;
  #heldBytes = 0;

  constructor(skip: number, onFrame: (buffer: Buffer, start: number, end: number) => void) {
    this.#skip = skip;
    this.#onFrame = onFrame;
  }

  /** Takes chunk[0, bytes). False: the stream holds a frame length that nobody here sends; close the connection. */
  feed(chunk: Buffer, bytes: number): boolean {
    let buffer = chunk;
    let end = bytes;
    if (this.#heldBytes > 0) {
      this.#reserve(this.#heldBytes + bytes);
      chunk.copy(this.#held, this.#heldBytes, 0, bytes);
      buffer = this.#held;
      end = this.#heldBytes + bytes;
    }
    let at = 0;
    if (this.#skip > 0) {
      at = Math.min(this.#skip, end);
      this.#skip -= at;
    }
    while (end - at >= 4) {
      const length =
        ((buffer[at] as number) << 24) |
        ((buffer[at + 1] as number) << 16) |
        ((buffer[at + 2] as number) << 8) |
        (buffer[at + 3] as number);
      if (length <= 0 || length > MAX_FRAME_BYTES) return false;
      if (end - at - 4 < length) break;
      this.#onFrame(buffer, at + 4, at + 4 + length);
      at += 4 + length;
    }
    const rest = end - at;
    // A long frame comes in many chunks: what is held already stays where it is.
    if (rest > 0 && (at > 0 || buffer !== this.#held)) {
      this.#reserve(rest);
      buffer.copy(this.#held, 0, at, end);
    }
    this.#heldBytes = rest;
    return true;
  }

  #reserve(bytes: number): void {
    if (this.#held.length >= bytes) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(1024, 1 << (32 - Math.clz32(bytes))));
    this.#held.copy(grown, 0, 0, this.#heldBytes);
    this.#held = grown;
  }
}

const EMPTY: Buffer = Buffer.alloc(0);
