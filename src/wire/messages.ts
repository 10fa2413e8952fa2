/**
 * Protobuf messages of Hadoop's protocols by their full names, for everything that is not the fast path: calls that must be decoded
 * whole, control calls, State Store records, the simulator, tests. The definitions are the files of `proto/`; a file is parsed when a
 * name of it is first asked for (all of them together: about 25 ms, once per thread).
 *
 * Fields of a decoded message: 64-bit integers are Long objects, enums numbers, bytes views of the input (copy them when the input is
 * reused), absent fields read as their default (`Object.hasOwn` tells), fields unknown to us are kept and written again.
 * `toPlain` gives a friendlier form.
 */
import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';

/**
 * A message as a plain object. Absent optional fields are left out, repeated fields are always arrays, enums are names, bytes Buffers.
 * Integers are Java's: an `int` or `long` that was negative reads as negative also from a uint32 or uint64 field; 64-bit values are
 * numbers when exact, else bigint. `encode` takes the same form.
 */
export interface Plain {
  [field: string]: PlainValue;
}
export type PlainValue = string | number | bigint | boolean | Buffer | Plain | PlainValue[];

/** An object does not fit its message type, or bytes are not a message of the type. The text names type and field. */
export class MessageError extends Error {
  override readonly name = 'MessageError';
}

/** Files of `proto/` by package, in the order in which they are searched for a name. Files that they import are loaded with them. */
const FILES: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'hadoop.common',
    [
      'RpcHeader.proto',
      'ProtobufRpcEngine2.proto',
      'IpcConnectionContext.proto',
      'HAServiceProtocol.proto',
      'Security.proto',
      'ProtocolInfo.proto',
      'RefreshUserMappingsProtocol.proto',
      'GetUserMappingsProtocol.proto',
      'GenericRefreshProtocol.proto',
      'RefreshCallQueueProtocol.proto',
    ],
  ],
  ['hadoop.hdfs', ['FederationProtocol.proto', 'HdfsServer.proto', 'ClientNamenodeProtocol.proto']],
  ['hadoop.hdfs.namenode', ['NamenodeProtocol.proto']],
  ['hadoop.hdfs.router', ['RouterProtocol.proto']],
]);

/** Beside src/ in a work tree and beside dist/ in the package. */
const FOLDER = new URL('../../proto/', import.meta.url);

const root = new protobuf.Root();
const loaded = new Set<string>();
const types = new Map<string, protobuf.Type>();

/** The message type of a full name such as `hadoop.hdfs.MkdirsRequestProto`. Throws MessageError for a name that no file defines. */
export function messageType(fullName: string): protobuf.Type {
  let type = types.get(fullName);
  if (type === undefined) {
    const found = lookUp(fullName);
    if (!(found instanceof protobuf.Type)) {
      throw new MessageError(`no message ${fullName} in proto/`);
    }
    type = found;
    types.set(fullName, type);
  }
  return type;
}

/** The service of a full name such as `hadoop.hdfs.ClientNamenodeProtocol`: its methods with their message types. */
export function serviceType(fullName: string): protobuf.Service {
  const found = lookUp(fullName);
  if (!(found instanceof protobuf.Service)) {
    throw new MessageError(`no service ${fullName} in proto/`);
  }
  return found;
}

/**
 * Bytes of a message. The object may be plain (see Plain; undefined and null mean absent) or a message that `decode` returned.
 * Throws MessageError for unknown fields, missing required ones, values that do not fit.
 */
export function encode(type: protobuf.Type, object: object): Buffer {
  // The writer is protobufjs's BufferWriter on Node: what it finishes is a Buffer.
  return type.encode(toMessage(type, object)).finish() as Buffer;
}

/** As `encode`, preceded by the length as a varint. */
export function encodeDelimited(type: protobuf.Type, object: object): Buffer {
  return type.encodeDelimited(toMessage(type, object)).finish() as Buffer;
}

/** Decodes buffer[start, end) as one message. Throws MessageError. */
export function decode(type: protobuf.Type, buffer: Buffer, start = 0, end = buffer.length): protobuf.Message {
  const reader = protobuf.Reader.create(buffer);
  reader.pos = start;
  reader.len = end;
  reader.discardUnknown = false;
  try {
    return type.decode(reader);
  } catch (error) {
    throw new MessageError(`${nameOf(type)}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** `toPlain` of `decode`. */
export function decodePlain(type: protobuf.Type, buffer: Buffer, start = 0, end = buffer.length): Plain {
  return toPlain(type, decode(type, buffer, start, end));
}

/**
 * The length-prefixed message that begins at `start` and must end at or before `end`, and where it ends. Throws MessageError.
 */
export function readDelimited(type: protobuf.Type, buffer: Buffer, start = 0, end = buffer.length): Delimited {
  const reader = protobuf.Reader.create(buffer);
  reader.pos = start;
  reader.len = end;
  let bodyEnd: number;
  try {
    bodyEnd = reader.uint32() + reader.pos;
  } catch (error) {
    throw new MessageError(`${nameOf(type)}: no length prefix`, { cause: error });
  }
  if (bodyEnd > end) {
    throw new MessageError(`${nameOf(type)}: ${bodyEnd - reader.pos} bytes announced, ${end - reader.pos} there`);
  }
  return { message: decodePlain(type, buffer, reader.pos, bodyEnd), next: bodyEnd };
}

export interface Delimited {
  readonly message: Plain;
  /** Position after the message. */
  readonly next: number;
}

/** A decoded message in the form described at Plain. Unknown fields are left out. */
export function toPlain(type: protobuf.Type, message: protobuf.Message): Plain {
  const from = message as unknown as Record<string, unknown>;
  const plain: Plain = {};
  for (const field of type.fieldsArray) {
    field.resolve();
    const present = Object.hasOwn(from, field.name);
    const value = from[field.name];
    if (field.map) {
      const entries: Plain = {};
      if (present) {
        for (const [key, entry] of Object.entries(value as object)) {
          // A key named __proto__ is data like any other.
          Object.defineProperty(entries, key, {
            value: valueToPlain(field, entry),
            enumerable: true,
            configurable: true,
            writable: true,
          });
        }
      }
      plain[field.name] = entries;
    } else if (field.repeated) {
      plain[field.name] = present ? (value as unknown[]).map((item) => valueToPlain(field, item)) : [];
    } else if (present) {
      plain[field.name] = valueToPlain(field, value);
    }
  }
  return plain;
}

function valueToPlain(field: protobuf.Field, value: unknown): PlainValue {
  const { resolvedType } = field;
  if (resolvedType instanceof protobuf.Type) {
    return toPlain(resolvedType, value as protobuf.Message);
  }
  if (resolvedType instanceof protobuf.Enum) {
    return resolvedType.valuesById[value as number] ?? (value as number);
  }
  if (field.long) {
    return longToPlain(value as { low: number; high: number } | number);
  }
  if (field.type === 'uint32') {
    return (value as number) | 0;
  }
  return value as PlainValue;
}

function longToPlain(value: { low: number; high: number } | number): number | bigint {
  if (typeof value === 'number') {
    return value;
  }
  const exact = (BigInt(value.high | 0) << 32n) | BigInt(value.low >>> 0);
  return exact >= MIN_EXACT && exact <= MAX_EXACT ? Number(exact) : exact;
}

const MIN_EXACT = BigInt(Number.MIN_SAFE_INTEGER);
const MAX_EXACT = BigInt(Number.MAX_SAFE_INTEGER);

function toMessage(type: protobuf.Type, object: object): protobuf.Message {
  if (object instanceof protobuf.Message && object.$type === type) {
    return object;
  }
  const message = type.create() as unknown as Record<string, unknown>;
  for (const [name, value] of Object.entries(object)) {
    const field = Object.hasOwn(type.fields, name) ? type.fields[name] : undefined;
    if (field === undefined) {
      throw new MessageError(`${nameOf(type)} has no field ${name}`);
    }
    if (value === undefined || value === null) {
      continue;
    }
    field.resolve();
    if (field.map) {
      message[name] = mapToMessage(type, field, value);
    } else if (field.repeated) {
      if (!Array.isArray(value)) {
        throw new MessageError(`${nameOf(type)}.${name} must be an array`);
      }
      message[name] = value.map((item) => valueToMessage(type, field, item));
    } else {
      message[name] = valueToMessage(type, field, value);
    }
  }
  for (const field of type.fieldsArray) {
    if (field.required && !Object.hasOwn(message, field.name)) {
      throw new MessageError(`${nameOf(type)}.${field.name} is required`);
    }
  }
  return message as unknown as protobuf.Message;
}

function mapToMessage(type: protobuf.Type, field: protobuf.Field, value: unknown): Record<string, unknown> {
  if (typeof value !== 'object') {
    throw new MessageError(`${nameOf(type)}.${field.name} must be an object`);
  }
  const entries: Record<string, unknown> = Object.create(null);
  for (const [key, entry] of Object.entries(value as object)) {
    entries[key] = valueToMessage(type, field, entry);
  }
  return entries;
}

function valueToMessage(type: protobuf.Type, field: protobuf.Field, value: unknown): unknown {
  const { resolvedType } = field;
  if (resolvedType instanceof protobuf.Type) {
    if (typeof value === 'object' && value !== null) {
      return toMessage(resolvedType, value);
    }
  } else if (resolvedType instanceof protobuf.Enum) {
    const number = typeof value === 'string' ? resolvedType.values[value] : value;
    if (typeof number === 'number' && resolvedType.valuesById[number] !== undefined) {
      return number;
    }
  } else if (field.long) {
    const long = longToMessage(value);
    if (long !== undefined) {
      return long;
    }
  } else if (field.bytes) {
    if (value instanceof Uint8Array) {
      return value;
    }
  } else if (field.type === 'string') {
    if (typeof value === 'string') {
      return value;
    }
  } else if (field.type === 'bool') {
    if (typeof value === 'boolean') {
      return value;
    }
  } else if (typeof value === 'number' && Number.isInteger(value)) {
    const most = field.type === 'uint32' ? 0xffff_ffff : 0x7fff_ffff;
    if (value >= -0x8000_0000 && value <= most) {
      return value;
    }
  }
  throw new MessageError(`${nameOf(type)}.${field.name} must be ${expected(field)}, not ${describe(value)}`);
}

/** A Java long in the form that protobufjs writes; undefined when the value is none. */
function longToMessage(value: unknown): unknown {
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) ? value : undefined;
  }
  if (typeof value === 'bigint') {
    if (value < -(1n << 63n) || value >= 1n << 64n) {
      return undefined;
    }
    const bits = BigInt.asUintN(64, value);
    return { low: Number(bits & 0xffff_ffffn) | 0, high: Number(bits >> 32n) | 0, unsigned: false };
  }
  const isLong = typeof value === 'object' && value !== null && 'low' in value && 'high' in value;
  return isLong ? value : undefined;
}

function expected(field: protobuf.Field): string {
  const { resolvedType } = field;
  if (resolvedType instanceof protobuf.Enum) {
    return `one of ${Object.keys(resolvedType.values).join(', ')}`;
  }
  return resolvedType === null ? field.type : 'an object';
}

function describe(value: unknown): string {
  return typeof value === 'object' || typeof value === 'function'
    ? typeof value
    : `${typeof value} ${String(value).slice(0, 80)}`;
}

function nameOf(type: protobuf.Type): string {
  return type.fullName.slice(1);
}

/** Loads the files of the name's package one after the other until the name is there. */
function lookUp(fullName: string): protobuf.ReflectionObject | null {
  const at = `.${fullName}`;
  let found = root.lookup(at);
  if (found !== null) {
    return found;
  }
  for (const file of filesOf(fullName)) {
    load(file);
    found = root.lookup(at);
    if (found !== null) {
      root.resolveAll();
      return found;
    }
  }
  return null;
}

function filesOf(fullName: string): readonly string[] {
  // Messages may be nested in others: the package is the longest known prefix.
  let end = fullName.lastIndexOf('.');
  while (end > 0) {
    const files = FILES.get(fullName.slice(0, end));
    if (files !== undefined) {
      return files;
    }
    end = fullName.lastIndexOf('.', end - 1);
  }
  return [];
}

function load(file: string): void {
  if (loaded.has(file)) {
    return;
  }
  loaded.add(file);
  const parsed = protobuf.parse(readFileSync(new URL(file, FOLDER), 'utf8'), root, { keepCase: true });
  for (const imported of parsed.imports ?? []) {
    load(imported);
  }
}
