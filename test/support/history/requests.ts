/**
 * The three requests of a history, written and read in place.
 *
 *   frame  = length:u32be delimited header delimited { 0a method · 12 protocol · 18 01 } delimited request
 *   header = 08 02 · 10 00 · 18 callId · 22 clientId · 28 retryCount [· 40 stateId] [· 4a routerFederatedState]
 *   status = delimited { 0a { … 58 blocksize … 68 fileId … } }, of getFileInfo and create; empty when there is no such file
 */
import {
  copyBytes,
  readVarint64,
  skipValueLoosely,
  varint32Size,
  Wide,
  writeInt32,
  writeVarint32,
  writeVarint64,
  zigzag32,
} from '../../../src/wire/varint.ts';
import { BASE_BLOCK_BYTES, Kind, NO_VERSION, NO_WRITE } from './history.ts';

export const PROTOCOL = 'org.apache.hadoop.hdfs.protocol.ClientProtocol';
export const CLIENT_ID_BYTES = 16;
/** Header without the federated state, method, lengths and the fixed fields of a request. */
const FRAME_ROOM = 256;
const CREATE_AND_OVERWRITE = 3;
const PERMISSION = 0o644;
const METHODS = { [Kind.READ]: 'getFileInfo', [Kind.WRITE]: 'create', [Kind.MSYNC]: 'msync' } as const;

/** `delimited { method · protocol · version }` by kind. */
const METHOD_HEADS = [Kind.READ, Kind.WRITE, Kind.MSYNC].map((kind) => {
  const inner = Buffer.concat([bytesField(0x0a, METHODS[kind]), bytesField(0x12, PROTOCOL), Buffer.from([0x18, 1])]);
  return Buffer.concat([Buffer.from([inner.length]), inner]);
});

function bytesField(tag: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([tag, text.length]), Buffer.from(text)]);
}

/** What the headers of a client's calls say of what it has seen. */
export interface SentState {
  /** -1: none. */
  readonly stateId: number;
  /** RouterFederatedStateProto, null: none. */
  readonly federated: Buffer | null;
}

export interface CallToWrite {
  readonly kind: Kind;
  readonly callId: number;
  readonly retryCount: number;
  /** '' for msync. */
  readonly path: string;
  /** Number of the operation. */
  readonly row: number;
}

/** Bytes that a frame takes at most. */
export function frameBound({ path }: CallToWrite, state: SentState, holder: string): number {
  return FRAME_ROOM + path.length + holder.length + (state.federated?.length ?? 0);
}

/** Writes the frame of a call of the client `clientId`, whose leases have the holder `holder`; returns the position after it. */
export function writeCall(
  out: Buffer,
  at: number,
  call: CallToWrite,
  clientId: Buffer,
  holder: string,
  state: SentState,
): number {
  const { kind, callId, retryCount, path, row } = call;
  const { stateId, federated } = state;
  // Written behind the room of the longest length prefix, then moved to it.
  const headerAt = at + 4 + 5;
  out[headerAt] = 0x08;
  out[headerAt + 1] = 2;
  out[headerAt + 2] = 0x10;
  out[headerAt + 3] = 0;
  out[headerAt + 4] = 0x18;
  let end = writeVarint32(out, headerAt + 5, zigzag32(callId));
  out[end] = 0x22;
  out[end + 1] = CLIENT_ID_BYTES;
  end = copyBytes(out, end + 2, clientId, 0, CLIENT_ID_BYTES);
  out[end] = 0x28;
  end = writeVarint32(out, end + 1, zigzag32(retryCount));
  if (stateId >= 0) {
    out[end] = 0x40;
    end = writeVarint64(out, end + 1, Math.floor(stateId / 2 ** 32), stateId | 0);
  }
  if (federated !== null) {
    out[end] = 0x4a;
    end = writeVarint32(out, end + 1, federated.length);
    end = copyBytes(out, end, federated, 0, federated.length);
  }
  const start = writeVarint32(out, at + 4, end - headerAt);
  out.copyWithin(start, headerAt, end);
  end -= headerAt - start;
  const methodHead = METHOD_HEADS[kind]!;
  end = copyBytes(out, end, methodHead, 0, methodHead.length);
  end = kind === Kind.MSYNC ? writeVarint32(out, end, 0) : writeRequest(out, end, kind, path, holder, row);
  writeInt32(out, at, end - at - 4);
  return end;
}

function writeRequest(out: Buffer, at: number, kind: Kind, path: string, holder: string, row: number): number {
  // Both are ASCII; the block size is a varint of at most five bytes.
  const blockBytes = BASE_BLOCK_BYTES + row;
  const pathBytes = 1 + varint32Size(path.length) + path.length;
  const createBytes = 5 + 1 + varint32Size(holder.length) + holder.length + 2 + 2 + 2 + 1 + varint32Size(blockBytes);
  let end = writeVarint32(out, at, pathBytes + (kind === Kind.WRITE ? createBytes : 0));
  out[end] = 0x0a;
  end = writeVarint32(out, end + 1, path.length);
  end += out.write(path, end, 'latin1');
  if (kind === Kind.READ) return end;
  out[end] = 0x12;
  out[end + 1] = 3;
  out[end + 2] = 0x08;
  end = writeVarint32(out, end + 3, PERMISSION);
  out[end] = 0x1a;
  end = writeVarint32(out, end + 1, holder.length);
  end += out.write(holder, end, 'latin1');
  out[end] = 0x20;
  out[end + 1] = CREATE_AND_OVERWRITE;
  out[end + 2] = 0x28;
  out[end + 3] = 1; // createParent
  out[end + 4] = 0x30;
  out[end + 5] = 1;
  out[end + 6] = 0x38;
  return writeVarint32(out, end + 7, blockBytes);
}

/** What a status says of its file. Reused. */
export class SeenStatus {
  version: number = NO_VERSION;
  write: number = NO_WRITE;
}

const FILE_STATUS_TAG = 0x0a;
const BLOCK_SIZE_TAG = 0x58;
const FILE_ID_TAG = 0x68;
const wide = new Wide();

/** Reads the delimited response message body[start, end) of getFileInfo or create. False: it cannot be read. */
export function readStatus(body: Buffer, start: number, end: number, into: SeenStatus): boolean {
  into.version = NO_VERSION;
  into.write = NO_WRITE;
  let at = readVarint64(body, start, end, wide);
  if (at < 0 || at + wide.low !== end) return false;
  while (at < end) {
    const tag = body[at]!;
    const after = skipValueLoosely(body, at + 1, end, tag);
    if (tag !== FILE_STATUS_TAG || after < 0) return false;
    // A router adds the nameservice's name as a second status with nothing else, which decoders merge into the first.
    if (!readFields(body, readVarint64(body, at + 1, end, wide), after, into)) return false;
    at = after;
  }
  return true;
}

function readFields(body: Buffer, start: number, end: number, into: SeenStatus): boolean {
  for (let at = start; at < end; ) {
    const valueAt = readVarint64(body, at, end, wide);
    if (valueAt < 0) return false;
    const tag = wide.low;
    at = skipValueLoosely(body, valueAt, end, tag);
    if (at < 0) return false;
    if (tag !== BLOCK_SIZE_TAG && tag !== FILE_ID_TAG) continue;
    readVarint64(body, valueAt, end, wide);
    const value = wide.high * 2 ** 32 + (wide.low >>> 0);
    if (tag === FILE_ID_TAG) into.version = value;
    else into.write = value - BASE_BLOCK_BYTES;
  }
  return true;
}
