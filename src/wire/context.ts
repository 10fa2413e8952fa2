/**
 * The caller context that goes to a NameNode: who really calls.
 *
 *   clientIp:IP,clientPort:PORT,clientId:HEX,clientCallId:N[,realUser:NAME][,the client's own context]
 *
 * `,` stands for the separator of `hadoop.caller.context.separator`. A NameNode that trusts the router
 * (`dfs.namenode.ip-proxy-users`) takes the text between the first `clientIp:` and the next comma as the client's machine, and
 * client id and call id for its retry cache in the same way. Since the first occurrence counts, wherever it stands, every part of the
 * client's own context that contains one of the keys is dropped: also a key that we left out must not be filled in by the client.
 */
import { copyBytes, readVarint32, varint32Size, writeVarint32 } from './varint.ts';

const KEYS = [
  Buffer.from('clientIp:'),
  Buffer.from('clientPort:'),
  Buffer.from('clientId:'),
  Buffer.from('clientCallId:'),
  Buffer.from('realUser:'),
];
const SHORTEST_KEY_BYTES = 9;
const COLON = 0x3a;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const HEX_DIGITS = Buffer.from('0123456789abcdef');

/**
 * Client ids longer than this are not named in the context. Usual are 16 bytes; a NameNode refuses any other length where it matters,
 * from the header as from the context.
 */
const MAX_NAMED_CLIENT_ID_BYTES = 64;
/** Longest decimal int32. */
const MAX_DECIMAL_BYTES = 11;
/** Length of the client ids that `setCall` takes. */
export const USUAL_CLIENT_ID_BYTES = 16;
/** Client id with its tag and length, tags and lengths of the context, the call id. */
const MAX_FIELDS_BYTES = 2 + USUAL_CLIENT_ID_BYTES + 6 + 6 + MAX_DECIMAL_BYTES;

/** The parts of the context that are the same for all calls of a client connection. */
export class ContextPrefix {
  /** bytes[0, length): everything up to and including `clientCallId:`, for the client id of the last call. */
  readonly bytes: Buffer;
  length = 0;
  /** Length of the part before `clientId:`, which never changes. */
  readonly fixedBytes: number;
  readonly separator: Buffer;
  /** Empty, or the separator and `realUser:NAME`. */
  readonly realUser: Buffer;
  /** A separator that could itself become a piece of a key when parts are joined. */
  readonly separatorMayFormKey: boolean;
  readonly clientId = Buffer.alloc(MAX_NAMED_CLIENT_ID_BYTES);
  clientIdBytes = -1;
  /** See `setCall`; part of `#fieldsMemory`, of the very length, because `set` of a whole buffer is the cheapest copy. */
  fields: Buffer;
  readonly #fieldsMemory: Buffer;
  /** The call id that stands in `fields`, the position of its first digit and how many they are; 0: `fields` is of another client id. */
  #callId = 0;
  #digitsAt = 0;
  #digits = 0;

  /** Address and port of the client as NameNodes print them; the real user behind an impersonated one, else ''. */
  constructor(address: string, port: number, realUser = '', separator = ',') {
    this.separator = Buffer.from(separator, 'utf8');
    const fixed = Buffer.from(`clientIp:${address}${separator}clientPort:${port}${separator}`, 'utf8');
    this.fixedBytes = fixed.length;
    const variableBytes = 'clientId:clientCallId:'.length + 2 * MAX_NAMED_CLIENT_ID_BYTES + this.separator.length;
    this.bytes = Buffer.alloc(fixed.length + variableBytes);
    fixed.copy(this.bytes);
    // A name that would break the form of the context is not worth a forged entry.
    const name = Buffer.from(realUser, 'utf8');
    const plain =
      name.length > 0 && !name.includes(this.separator) && !name.includes(',') && !hasKey(name, 0, name.length);
    this.realUser = plain ? Buffer.from(`${separator}realUser:${realUser}`, 'utf8') : Buffer.alloc(0);
    this.#fieldsMemory = Buffer.alloc(MAX_FIELDS_BYTES + this.bytes.length + this.realUser.length);
    this.fields = this.#fieldsMemory;
    this.separatorMayFormKey = /[a-zA-Z:]/.test(separator) || separator === '';
  }

  /** Makes `bytes` the prefix for calls of this client id. */
  setClientId(from: Buffer, start: number, end: number): void {
    const bytes = end - start > MAX_NAMED_CLIENT_ID_BYTES ? 0 : end - start;
    if (bytes === this.clientIdBytes) {
      let i = 0;
      while (i < bytes && this.clientId[i] === from[start + i]) i++;
      if (i === bytes) return;
    }
    this.clientIdBytes = bytes;
    this.#digits = 0;
    let at = this.fixedBytes;
    if (bytes > 0) {
      at = copyBytes(this.bytes, at, KEYS[2]!, 0, KEYS[2]!.length);
      for (let i = 0; i < bytes; i++) {
        const byte = from[start + i]!;
        this.clientId[i] = byte;
        this.bytes[at++] = HEX_DIGITS[byte >> 4]!;
        this.bytes[at++] = HEX_DIGITS[byte & 15]!;
      }
      at = copyBytes(this.bytes, at, this.separator, 0, this.separator.length);
    }
    this.length = copyBytes(this.bytes, at, KEYS[3]!, 0, KEYS[3]!.length);
  }

  /**
   * Makes `fields` the fields 4 (client id) and 7 (caller context) of the header of a call that carries no context of its own. The client
   * id must be of the usual length. Most calls differ in the call id alone.
   *
   *   22 16 ID 3a LENGTH 0a LENGTH │ text up to `clientCallId:` · call id · real user
   */
  setCall(from: Buffer, start: number, callId: number): void {
    this.setClientId(from, start, start + USUAL_CLIENT_ID_BYTES);
    const last = this.#digitsAt + this.#digits - 1;
    if (callId === this.#callId + 1 && this.#digits > 0 && callId > 0 && this.fields[last] !== NINE) {
      this.fields[last] = (this.fields[last] as number) + 1;
    } else {
      const digits = decimalBytes(callId);
      if (digits !== this.#digits) this.#layFields(from, start, digits);
      writeDecimal(this.fields, this.#digitsAt, callId);
    }
    this.#callId = callId;
  }

  #layFields(from: Buffer, start: number, digits: number): void {
    const { realUser } = this;
    const fields = this.#fieldsMemory;
    const contextBytes = this.length + digits + realUser.length;
    fields[0] = 0x22;
    fields[1] = USUAL_CLIENT_ID_BYTES;
    let at = copyBytes(fields, 2, from, start, start + USUAL_CLIENT_ID_BYTES);
    fields[at++] = 0x3a;
    at = writeVarint32(fields, at, 1 + varint32Size(contextBytes) + contextBytes);
    fields[at++] = 0x0a;
    at = writeVarint32(fields, at, contextBytes);
    this.#digitsAt = copyBytes(fields, at, this.bytes, 0, this.length);
    this.#digits = digits;
    this.fields = fields.subarray(0, copyBytes(fields, this.#digitsAt + digits, realUser, 0, realUser.length));
  }
}

/** Upper bound of what `writeCallerContext` writes beside a client's own RPCCallerContextProto of so many bytes. */
export function callerContextBound(prefix: ContextPrefix, originalBytes: number): number {
  return prefix.bytes.length + MAX_DECIMAL_BYTES + prefix.realUser.length + prefix.separator.length + originalBytes;
}

/**
 * Writes the context string of one call to out[at…] and returns the position after it. original[originalStart, originalEnd) is the
 * RPCCallerContextProto message of the client's header (CallFields.contextStart/End), empty when it sent none.
 */
export function writeCallerContext(
  out: Buffer,
  at: number,
  prefix: ContextPrefix,
  clientId: Buffer,
  clientIdStart: number,
  clientIdEnd: number,
  callId: number,
  original: Buffer,
  originalStart: number,
  originalEnd: number,
): number {
  prefix.setClientId(clientId, clientIdStart, clientIdEnd);
  let next = copyBytes(out, at, prefix.bytes, 0, prefix.length);
  next = writeDecimal(out, next, callId);
  next = copyBytes(out, next, prefix.realUser, 0, prefix.realUser.length);

  // RPCCallerContextProto: 1 context string · 2 signature bytes
  let from = originalStart;
  while (from < originalEnd) {
    const tag = original[from++]!;
    const bytes = readVarint32(original, from, originalEnd);
    if (bytes < 0) return next;
    from += varint32Size(bytes);
    if (from + bytes > originalEnd) return next;
    if (tag === 0x0a) return appendOwnContext(out, next, prefix, original, from, from + bytes);
    from += bytes;
  }
  return next;
}

/** Length of the context string of a call that carries none of its own; `writePlainContext` writes it. */
export function plainContextBytes(
  prefix: ContextPrefix,
  clientId: Buffer,
  clientIdStart: number,
  clientIdEnd: number,
  callId: number,
): number {
  prefix.setClientId(clientId, clientIdStart, clientIdEnd);
  return prefix.length + decimalBytes(callId) + prefix.realUser.length;
}

/** Writes the context string whose length `plainContextBytes` has just given. Returns the position after it. */
export function writePlainContext(out: Buffer, at: number, prefix: ContextPrefix, callId: number): number {
  const next = writeDecimal(out, copyBytes(out, at, prefix.bytes, 0, prefix.length), callId);
  return copyBytes(out, next, prefix.realUser, 0, prefix.realUser.length);
}

/** Appends the client's own context[start, end) without the parts that hold one of our keys. */
function appendOwnContext(
  out: Buffer,
  at: number,
  prefix: ContextPrefix,
  context: Buffer,
  start: number,
  end: number,
): number {
  const { separator } = prefix;
  if (start === end) return at;
  if (!hasKey(context, start, end)) {
    const joined = copyBytes(out, at, separator, 0, separator.length);
    return checkJoined(out, at, copyBytes(out, joined, context, start, end), prefix);
  }
  let next = at;
  let from = start;
  while (from <= end) {
    const to = partEnd(context, from, end, separator);
    if (!hasKey(context, from, to)) {
      next = copyBytes(out, next, separator, 0, separator.length);
      next = copyBytes(out, next, context, from, to);
    }
    from = to + separator.length;
    if (separator.length === 0) break;
  }
  return checkJoined(out, at, next, prefix);
}

/** Position of the next separator in context[start, end), or end. */
function partEnd(context: Buffer, start: number, end: number, separator: Buffer): number {
  const { length } = separator;
  for (let at = start; length > 0 && at + length <= end; at++) {
    let i = 0;
    while (i < length && context[at + i] === separator[i]) i++;
    if (i === length) return at;
  }
  return end;
}

/** With a separator of letters or colons, joining can make a key that no part held: then nothing of the client's own is kept. */
function checkJoined(out: Buffer, at: number, end: number, prefix: ContextPrefix): number {
  return prefix.separatorMayFormKey && hasKey(out, at, end) ? at : end;
}

/** Whether one of our keys stands anywhere in buffer[start, end). */
function hasKey(buffer: Buffer, start: number, end: number): boolean {
  for (let colon = start + SHORTEST_KEY_BYTES - 1; colon < end; colon++) {
    if (buffer[colon] !== COLON) continue;
    for (let k = 0; k < KEYS.length; k++) {
      const key = KEYS[k]!;
      const from = colon + 1 - key.length;
      if (from < start) continue;
      let i = 0;
      while (i < key.length && buffer[from + i] === key[i]) i++;
      if (i === key.length) return true;
    }
  }
  return false;
}

function writeDecimal(out: Buffer, at: number, value: number): number {
  const end = at + decimalBytes(value);
  let first = at;
  if (value < 0) out[first++] = MINUS;
  // As uint32, which has the magnitude of each int32: a division of integers, not of doubles.
  let rest = (value < 0 ? -value : value) >>> 0;
  for (let i = end - 1; i >= first; i--) {
    const tenth = (rest / 10) >>> 0;
    out[i] = ZERO + rest - tenth * 10;
    rest = tenth;
  }
  return end;
}

/** Length of an int32 in decimal. */
function decimalBytes(value: number): number {
  let digits = value < 0 ? 2 : 1;
  const rest = value < 0 ? -value : value;
  for (let most = 10; most <= rest; most *= 10) digits++;
  return digits;
}
