/*
 * The part of ZooKeeper's protocol that the State Store needs. Every message is a frame: int length, bytes.
 *
 *   client ──▶  ConnectRequest                          server ──▶  ConnectResponse
 *   client ──▶  int xid, int operation, request         server ──▶  int xid, long zxid, int error, reply when error is 0
 *
 * Requests have xids from 1 and are answered in the order in which they were sent. Xid −1 is a watch that fired, −2 the answer to a
 * ping, −4 that to an authentication; these three come at any time.
 */
import { type JuteReader, JuteWriter } from './jute.ts';

export const Operation = {
  CREATE: 1,
  DELETE: 2,
  EXISTS: 3,
  GET_DATA: 4,
  SET_DATA: 5,
  GET_ACL: 6,
  SYNC: 9,
  PING: 11,
  GET_CHILDREN: 12,
  AUTH: 100,
  SET_WATCHES: 101,
  CLOSE: -11,
} as const;

export const Xid = { EVENT: -1, PING: -2, AUTH: -4, SET_WATCHES: -8 } as const;

/** Errors of the server, and of the client where the server has none. */
export const ErrorCode = {
  OK: 0,
  CONNECTION_LOSS: -4,
  MARSHALLING: -5,
  OPERATION_TIMEOUT: -7,
  BAD_ARGUMENTS: -8,
  NO_NODE: -101,
  NO_AUTH: -102,
  BAD_VERSION: -103,
  NODE_EXISTS: -110,
  NOT_EMPTY: -111,
  SESSION_EXPIRED: -112,
  SESSION_MOVED: -118,
  AUTH_FAILED: -115,
} as const;

const ERROR_TEXTS: Readonly<Record<number, string>> = {
  [ErrorCode.CONNECTION_LOSS]: 'connection lost',
  [ErrorCode.MARSHALLING]: 'the server could not read the request',
  [ErrorCode.OPERATION_TIMEOUT]: 'no answer in time',
  [ErrorCode.BAD_ARGUMENTS]: 'the server takes no such name or value',
  [ErrorCode.NO_NODE]: 'no such node',
  [ErrorCode.NO_AUTH]: 'no permission',
  [ErrorCode.BAD_VERSION]: 'another version',
  [ErrorCode.NODE_EXISTS]: 'the node exists',
  [ErrorCode.NOT_EMPTY]: 'the node has children',
  [ErrorCode.SESSION_EXPIRED]: 'session expired',
  [ErrorCode.SESSION_MOVED]: 'the session is with another server',
  [ErrorCode.AUTH_FAILED]: 'authentication refused',
};

/** An operation that did not succeed; `code` is one of ErrorCode or another of the server's. */
export class ZooKeeperError extends Error {
  override readonly name = 'ZooKeeperError';
  readonly code: number;

  constructor(code: number, detail = '') {
    const text = ERROR_TEXTS[code] ?? `error ${code}`;
    super(detail === '' ? text : `${text} (${detail})`);
    this.code = code;
  }
}

export function isCode(error: unknown, code: number): boolean {
  return error instanceof ZooKeeperError && error.code === code;
}

/** What a node says of itself; times are ms since 1970 by the servers' clocks. */
export interface Stat {
  readonly ctimeMs: number;
  readonly mtimeMs: number;
  readonly version: number;
  readonly childCount: number;
}

/** Who may do what with a node; `permissions` has bits of Permission. */
export interface Acl {
  readonly permissions: number;
  readonly scheme: string;
  readonly id: string;
}

export const Permission = { READ: 1, WRITE: 2, CREATE: 4, DELETE: 8, ADMIN: 16, ALL: 31 } as const;

/** world:anyone with all rights. */
export const OPEN_ACL: readonly Acl[] = [{ permissions: Permission.ALL, scheme: 'world', id: 'anyone' }];

export interface Credentials {
  readonly scheme: string;
  /** What the scheme asks for: user:password for digest. */
  readonly auth: string;
}

export const EventType = { CREATED: 1, DELETED: 2, DATA_CHANGED: 3, CHILDREN_CHANGED: 4 } as const;

export interface WatchEvent {
  readonly type: number;
  readonly path: string;
}

/** Identifies a session to any server of the ensemble; id 0 asks for a new one. */
export interface SessionKey {
  readonly id: bigint;
  readonly password: Buffer;
}

export const PASSWORD_BYTES = 16;
const PROTOCOL_VERSION = 0;
const ACL_MIN_BYTES = 12;
const PERSISTENT = 0;

/** A frame of the parts, its length in front. */
export function frameOf(record: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(4 + record.length);
  frame.writeInt32BE(record.length, 0);
  frame.set(record, 4);
  return frame;
}

export function encodeConnect(lastZxid: bigint, timeoutMs: number, { id, password }: SessionKey): Buffer {
  const writer = new JuteWriter().int(PROTOCOL_VERSION).long(lastZxid).int(timeoutMs).long(id).buffer(password);
  return frameOf(writer.bool(false).finish());
}

/** `timeoutMs` ≤ 0: the session that was asked for has expired. */
export interface ConnectResponse {
  readonly timeoutMs: number;
  readonly key: SessionKey;
}

export function decodeConnect(reader: JuteReader): ConnectResponse {
  reader.int();
  const timeoutMs = reader.int();
  const id = reader.long();
  return { timeoutMs, key: { id, password: Buffer.from(reader.buffer()) } };
}

/** One request's frame; `body` follows the header. */
export function encodeRequest(xid: number, operation: number, body: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(12 + body.length);
  frame.writeInt32BE(8 + body.length, 0);
  frame.writeInt32BE(xid, 4);
  frame.writeInt32BE(operation, 8);
  frame.set(body, 12);
  return frame;
}

export function encodeCreate(path: string, data: Uint8Array | null, acl: readonly Acl[]): Buffer {
  const writer = new JuteWriter().text(path).buffer(data).int(acl.length);
  for (const { permissions, scheme, id } of acl) writer.int(permissions).text(scheme).text(id);
  return writer.int(PERSISTENT).finish();
}

/** Version −1 stands for any. */
export function encodeDelete(path: string, version: number): Buffer {
  return new JuteWriter().text(path).int(version).finish();
}

export function encodeSetData(path: string, data: Uint8Array, version: number): Buffer {
  return new JuteWriter().text(path).buffer(data).int(version).finish();
}

/** The body of exists, getData and getChildren2. */
export function encodeRead(path: string, watch: boolean): Buffer {
  return new JuteWriter().text(path).bool(watch).finish();
}

/** The body of sync and getACL. */
export function encodePath(path: string): Buffer {
  return new JuteWriter().text(path).finish();
}

export function encodeAuth({ scheme, auth }: Credentials): Buffer {
  return new JuteWriter().int(0).text(scheme).text(auth).finish();
}

export interface WatchPaths {
  readonly data: readonly string[];
  readonly children: readonly string[];
}

/** Asks for watches again, and for the events of those whose nodes have changed after `zxid`. The second list: watches of absent nodes. */
export function encodeSetWatches(zxid: bigint, { data, children }: WatchPaths): Buffer {
  return new JuteWriter().long(zxid).texts(data).texts([]).texts(children).finish();
}

export function decodeStat(reader: JuteReader): Stat {
  reader.long();
  reader.long();
  const ctimeMs = Number(reader.long());
  const mtimeMs = Number(reader.long());
  const version = reader.int();
  reader.int();
  reader.int();
  reader.long();
  reader.int();
  const childCount = reader.int();
  reader.long();
  return { ctimeMs, mtimeMs, version, childCount };
}

export function decodeAcl(reader: JuteReader): Acl[] {
  const acl: Acl[] = [];
  const count = reader.count(ACL_MIN_BYTES);
  for (let i = 0; i < count; i++) acl.push({ permissions: reader.int(), scheme: reader.text(), id: reader.text() });
  return acl;
}

export function decodeEvent(reader: JuteReader): WatchEvent {
  const type = reader.int();
  reader.int();
  return { type, path: reader.text() };
}
