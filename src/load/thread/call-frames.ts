import { encodeCall } from '../../wire/encode-call.ts';
import { encode, messageType } from '../../wire/messages.ts';
import { copyBytes, varint32Size, writeInt32, writeVarint32 } from '../../wire/varint.ts';
import { SCRATCH_GROUP_DIGITS, SCRATCH_NUMBER_DIGITS, scratchPath } from '../plan/layout.ts';
import type { RequestForm } from '../plan/operations.ts';
import { describeRequests, OPERATION_NAMES, REQUEST_NAMES } from '../plan/operations.ts';
import type { Target } from '../plan/plan.ts';
import type { PathTable } from './path-table.ts';

/**
 * Frames of calls as a Java client sends them, written in place:
 *
 *   frame = length:u32be head bodyBytes:varint body
 *   head  = delimited { 08 02 · 10 00 · 18 callId · 22 clientId · 28 00 [· 40 00 | 4a routerFederatedState] } delimited { method · protocol · version }
 *   body  = 0a path [12 destination] tail
 *
 * Head and tail are made beforehand for each request; call id (always four bytes), client id and paths are written for each call.
 */

/** Ids in [FIRST_CALL_ID, END_CALL_ID) take four bytes both in zigzag form (requests) and plain (replies). */
export const FIRST_CALL_ID: number = 1 << 21;
export const END_CALL_ID: number = 1 << 27;
export const CLIENT_ID_BYTES = 16;
export const CLIENT_PROTOCOL = 'org.apache.hadoop.hdfs.protocol.ClientProtocol';

/** Index in REQUEST_NAMES of the only request that no mix has. */
export const COMPLETE: number = OPERATION_NAMES.length;
const RENAME = OPERATION_NAMES.indexOf('rename');

const LENGTH_BYTES = 4;
/** rpcKind and rpcOp come before the call id, its tag included. */
const BEFORE_CALL_ID_BYTES = 5;
const BEFORE_CLIENT_ID_BYTES = 2;
const CALL_ID_BYTES = 4;
const PATH_TAG = 0x0a;
const DESTINATION_TAG = 0x12;
const FEDERATED_STATE_TAG = 0x4a;
/** `stateId` 0: any state is new enough. */
const ZERO_STATE_ID: Buffer = Buffer.from([0x40, 0]);
/** Length and tag of the body, of source and destination. */
const BODY_EXTRA_BYTES = 5 + 6 + 6;
const ZERO = 0x30;

/** A name of the scratch directory of target t is the path -1 - t, together with its group and number. */
export function scratchOf(target: number): number {
  return -1 - target;
}

export function targetOf(scratch: number): number {
  return -1 - scratch;
}

export class CallFrames {
  /** Most bytes that one frame takes now. */
  frameBound = 0;
  readonly #paths: PathTable;
  readonly #plainHeads: readonly Buffer[];
  readonly #tails: readonly Buffer[];
  /** Scratch path of each target with zeros for its digits. */
  readonly #scratch: readonly Buffer[];
  #heads: readonly Buffer[];
  #callIdAt = 0;

  constructor(targets: readonly Target[], thread: number, paths: PathTable, clientName: string) {
    this.#paths = paths;
    const forms = describeRequests(clientName, Date.now());
    this.#plainHeads = REQUEST_NAMES.map(encodeHead);
    this.#tails = REQUEST_NAMES.map((name) => encodeTail(forms[name]));
    this.#scratch = targets.map((target) => Buffer.from(scratchPath(target, thread, 0, 0)));
    this.#heads = this.#plainHeads;
    this.#useHeads(this.#plainHeads);
  }

  /** Calls carry the state id 0 until there is a federated state: an observer refuses reads without a state id. Routers pass over it. */
  setZeroState(): void {
    this.#useHeads(this.#plainHeads.map((head) => insertField(head, ZERO_STATE_ID)));
  }

  /** Calls carry this RouterFederatedStateProto from now on; an empty one is left out. */
  setFederatedState(state: Buffer): void {
    this.#useHeads(state.length === 0 ? this.#plainHeads : this.#plainHeads.map((head) => insertState(head, state)));
  }

  /**
   * Writes the call `request` (index in REQUEST_NAMES) at out[at…], which has `frameBound` bytes of room; returns its end. `source` is an index
   * in the path table, or `scratchOf` a target with group and number. `destination`, for renames only: an index in the path table, or the
   * number of the new name in the same group.
   */
  write(
    out: Buffer,
    at: number,
    request: number,
    callId: number,
    clientId: Buffer,
    source: number,
    group: number,
    number: number,
    destination: number,
  ): number {
    const head = this.#heads[request]!;
    const tail = this.#tails[request]!;
    head.copy(out, at);
    let next = at + this.#callIdAt;
    const zigzag = callId * 2;
    out[next] = (zigzag & 127) | 128;
    out[next + 1] = ((zigzag >>> 7) & 127) | 128;
    out[next + 2] = ((zigzag >>> 14) & 127) | 128;
    out[next + 3] = zigzag >>> 21;
    next += CALL_ID_BYTES + BEFORE_CLIENT_ID_BYTES;
    for (let i = 0; i < CLIENT_ID_BYTES; i++) out[next + i] = clientId[i]!;

    const sourceBytes = this.#bytesOf(source);
    let bodyBytes = 1 + varint32Size(sourceBytes) + sourceBytes + tail.length;
    const isRename = request === RENAME;
    // The new name of a scratch name is as long as the old one.
    const destinationBytes = isRename ? this.#bytesOf(source < 0 ? source : destination) : 0;
    if (isRename) bodyBytes += 1 + varint32Size(destinationBytes) + destinationBytes;
    next = writeVarint32(out, at + head.length, bodyBytes);
    out[next] = PATH_TAG;
    next = writeVarint32(out, next + 1, sourceBytes);
    next = this.#writePath(out, next, source, group, number);
    if (isRename) {
      out[next] = DESTINATION_TAG;
      next = writeVarint32(out, next + 1, destinationBytes);
      next = this.#writePath(out, next, source < 0 ? source : destination, group, destination);
    }
    next = copyBytes(out, next, tail, 0, tail.length);
    writeInt32(out, at, next - at - LENGTH_BYTES);
    return next;
  }

  #bytesOf(path: number): number {
    if (path < 0) return this.#scratch[targetOf(path)]!.length;
    const { starts } = this.#paths;
    return starts[path + 1]! - starts[path]!;
  }

  #writePath(out: Buffer, at: number, path: number, group: number, number: number): number {
    if (path >= 0) {
      const { bytes, starts } = this.#paths;
      const end = starts[path + 1]!;
      bytes.copy(out, at, starts[path]!, end);
      return at + end - starts[path]!;
    }
    const name = this.#scratch[targetOf(path)]!;
    name.copy(out, at);
    const end = at + name.length;
    writeDigits(out, end, SCRATCH_NUMBER_DIGITS, number);
    writeDigits(out, end - SCRATCH_NUMBER_DIGITS - 2, SCRATCH_GROUP_DIGITS, group);
    return end;
  }

  #useHeads(heads: readonly Buffer[]): void {
    this.#heads = heads;
    const first = heads[0]!;
    this.#callIdAt =
      LENGTH_BYTES + (first[LENGTH_BYTES]! < 0x80 ? 1 : first[LENGTH_BYTES + 1]! < 0x80 ? 2 : 3) + BEFORE_CALL_ID_BYTES;
    const longestHead = Math.max(...heads.map((head) => head.length));
    const longestTail = Math.max(...this.#tails.map((tail) => tail.length));
    const longestPath = Math.max(this.#paths.longestBytes, ...this.#scratch.map((path) => path.length));
    this.frameBound = longestHead + BODY_EXTRA_BYTES + 2 * longestPath + longestTail;
  }
}

/** Writes `value` in decimal, so that its last digit is before out[end]. */
function writeDigits(out: Buffer, end: number, digits: number, value: number): void {
  let rest = value;
  for (let at = end - 1; at >= end - digits; at--) {
    const tenth = (rest / 10) | 0;
    out[at] = ZERO + rest - tenth * 10;
    rest = tenth;
  }
}

/** A call without its body and the body's length. */
function encodeHead(method: string): Buffer {
  const clientId = Buffer.alloc(CLIENT_ID_BYTES);
  const body = Buffer.alloc(0);
  const call = { protocol: CLIENT_PROTOCOL, version: 1, method, callId: FIRST_CALL_ID, clientId, body };
  const frame = encodeCall(call);
  return Buffer.from(frame.subarray(0, frame.length - 1));
}

/** What follows the path fields in the request message. */
function encodeTail(form: RequestForm): Buffer {
  const paths: Record<string, string> = form.hasDestination
    ? { [form.pathField]: 's', dst: 'd' }
    : { [form.pathField]: 's' };
  const message = encode(messageType(form.type), { ...paths, ...form.fields });
  const before = form.hasDestination ? '0a0173120164' : '0a0173';
  if (!message.toString('hex').startsWith(before)) throw new Error(`${form.type} does not begin with its paths`);
  return Buffer.from(message.subarray(before.length / 2));
}

function insertState(head: Buffer, state: Buffer): Buffer {
  const prefix = Buffer.alloc(1 + varint32Size(state.length));
  prefix[0] = FEDERATED_STATE_TAG;
  writeVarint32(prefix, 1, state.length);
  return insertField(head, Buffer.concat([prefix, state]));
}

/** `head` with the field as the last one of its RpcRequestHeaderProto, which is shorter than 128 bytes without it. */
function insertField(head: Buffer, field: Buffer): Buffer {
  const headerEnd = LENGTH_BYTES + 1 + head[LENGTH_BYTES]!;
  const headerBytes = head[LENGTH_BYTES]! + field.length;
  const length = Buffer.alloc(LENGTH_BYTES + varint32Size(headerBytes));
  writeVarint32(length, LENGTH_BYTES, headerBytes);
  return Buffer.concat([length, head.subarray(LENGTH_BYTES + 1, headerEnd), field, head.subarray(headerEnd)]);
}
