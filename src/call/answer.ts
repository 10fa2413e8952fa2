import type { AcceptorLink } from '../handoff/link.ts';
import { ReplyFlag } from '../handoff/link.ts';
import { equal16, LastBlock } from '../wire/block.ts';
import { namespaceBound, writeWithNamespace } from '../wire/namespace-field.ts';
import { translateBack, translateBackBound } from '../wire/path-bytes.ts';
import {
  ERROR_HEAD_BYTES,
  ErrorDetail,
  encodeError,
  Status,
  SUCCESS_HEAD_BYTES,
  shortenHead,
  successHeadBytes,
  writeErrorHead,
  writeSuccessHead,
} from '../wire/reply-head.ts';
import type { ReplyScan } from '../wire/reply-scan.ts';
import { textOf } from '../wire/text.ts';
import { copyBytes, writeVarint32 } from '../wire/varint.ts';
import type { Call } from './call.ts';
import type { Client } from './client.ts';

const NOTHING = Buffer.alloc(0);
/** Client ids have 16 bytes, or those of a name. */
const MAX_USUAL_ID_BYTES = 64;

/** A field that goes into the header of each answer; the state ids of observer reads. */
export interface AnswerField {
  /** Makes it for this call: bytes[start, end). Returns its length. */
  write(call: Call): number;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** A reply that found no room in its ring; waits here. There are at most as many as calls in the worker. */
interface WaitingReply {
  readonly connection: number;
  readonly generation: number;
  readonly slot: number;
  readonly flags: number;
  readonly bytes: Buffer;
  /** They have an ArrayBuffer of their own. */
  readonly owned: boolean;
}

/**
 * Leg (e) hand-back: the one place where answers leave a worker. A NameNode's answer keeps its body; its header is rebuilt with the
 * client's own ids. Answers made here are never refused: without room they wait in line.
 */
export class Answers {
  readonly #field: AnswerField | null;
  /** Heads of answers, longest client id of a usual call and longest field included. */
  readonly #head: Buffer;
  /** What NameNodes' replies are read into. */
  readonly #received = new LastBlock();
  /** By acceptor, each in the order of coming: one that is full holds up no other. An acceptor without waiting replies is not in it. */
  readonly #waiting = new Map<AcceptorLink, WaitingReply[]>();

  constructor(field: AnswerField | null = null) {
    this.#field = field;
    this.#head = Buffer.allocUnsafeSlow(SUCCESS_HEAD_BYTES + MAX_USUAL_ID_BYTES + (field?.bytes.length ?? 0));
  }

  /** While replies wait for the acceptor of a call, the NameNode's answer to the call is left where it is. */
  holds(call: Call): boolean {
    return this.#waiting.size > 0 && this.#waiting.has((call.client as Client).link);
  }

  /**
   * The NameNode's SUCCESS as it is. Our header takes the place of the NameNode's, right before the body: ours is not longer (the tag of a
   * reply takes five bytes, the client's retryCount one), so the answer is one piece and is copied once, or not at
   * all: with `owned` the memory is used for nothing else.
   */
  passSuccess(call: Call, scan: ReplyScan, buffer: Buffer, start: number, end: number, owned: boolean): void {
    const fields = call.fields;
    const idStart = call.start + fields.clientIdStart;
    const idEnd = call.start + fields.clientIdEnd;
    if (this.#field !== null) {
      this.#passWithField(call, this.#field, buffer, scan.headerEnd, end, owned);
      return;
    }
    let at = start;
    if (!this.#shortenHead(call, scan, buffer, start, end)) {
      at = scan.headerEnd - successHeadBytes(fields.callId, idEnd - idStart, fields.retryCount);
      if (at < start) {
        this.#replyOrWait(call, 0, this.#successFrame(call, buffer, scan.headerEnd, end));
        return;
      }
      writeSuccessHead(buffer, at, end - scan.headerEnd, fields.callId, call.frame, idStart, idEnd, fields.retryCount);
    }
    this.#replyInPlace(call, buffer, at, end, owned);
  }

  /** A NameNode's SUCCESS to another call that asked the same, body[bodyStart, end): a copy, the body stays as it is. */
  passShared(call: Call, body: Buffer, bodyStart: number, end: number): void {
    this.#replyOrWait(call, 0, this.#successFrame(call, body, bodyStart, end));
  }

  /** The whole answer lies in buffer[start, end), where the NameNode's was. */
  #replyInPlace(call: Call, buffer: Buffer, start: number, end: number, owned: boolean): void {
    const { link, connection, generation } = call.client as Client;
    const { slot } = call.fields;
    if (link.reply(connection, generation, slot, 0, NOTHING, 0, 0, buffer, start, end, owned)) return;
    // The header is gone, so the frame cannot be offered again: this one waits here, those behind it with their connection.
    let kept = buffer.subarray(start, end);
    if (!owned) {
      kept = Buffer.allocUnsafeSlow(end - start);
      buffer.copy(kept, 0, start, end);
    }
    this.#wait(link, connection, generation, slot, 0, kept, true);
  }

  /**
   * As `passSuccess`. A header with the field is longer than the NameNode's, but what lies before that in the same memory are frames that were
   * passed on, or the room that the pool leaves: the answer still is one piece. Without room (a frame that came in pieces) it is two.
   */
  #passWithField(call: Call, field: AnswerField, buffer: Buffer, bodyStart: number, end: number, owned: boolean): void {
    const { fields, frame } = call;
    const client = call.client as Client;
    const idStart = call.start + fields.clientIdStart;
    const idEnd = call.start + fields.clientIdEnd;
    if (idEnd - idStart > MAX_USUAL_ID_BYTES) {
      this.#replyOrWait(call, 0, this.#successFrame(call, buffer, bodyStart, end));
      return;
    }
    const more = field.write(call);
    const start = bodyStart - successHeadBytes(fields.callId, idEnd - idStart, fields.retryCount, more);
    if (start >= 0) {
      const next = writeSuccessHead(
        buffer,
        start,
        end - bodyStart,
        fields.callId,
        frame,
        idStart,
        idEnd,
        fields.retryCount,
        more,
      );
      copyBytes(buffer, next, field.bytes, field.start, field.end);
      this.#replyInPlace(call, buffer, start, end, owned);
      return;
    }
    const head = this.#head;
    let at = writeSuccessHead(head, 0, end - bodyStart, fields.callId, frame, idStart, idEnd, fields.retryCount, more);
    at = copyBytes(head, at, field.bytes, field.start, field.end);
    if (client.link.reply(client.connection, client.generation, fields.slot, 0, head, 0, at, buffer, bodyStart, end)) {
      return;
    }
    const kept = Buffer.allocUnsafeSlow(at + end - bodyStart);
    head.copy(kept, 0, 0, at);
    buffer.copy(kept, at, bodyStart, end);
    this.#wait(client.link, client.connection, client.generation, fields.slot, 0, kept, true);
  }

  /** The usual case of `passSuccess`: nearly all of the NameNode's header is the client's too. False: it is not, nothing was done. */
  #shortenHead(call: Call, scan: ReplyScan, buffer: Buffer, start: number, end: number): boolean {
    const { fields, slab } = call;
    const block = this.#received.of(buffer);
    if (block === null || !scan.usual || scan.callId !== fields.callId || call.frame !== slab.bytes) return false;
    if (fields.clientIdEnd - fields.clientIdStart !== 16) return false;
    if (!equal16(block, scan.clientIdStart, slab, call.start + fields.clientIdStart)) return false;
    return shortenHead(block, start, scan.headerEnd, end, scan.clientIdEnd, fields.retryCount);
  }

  /** A create or append answer: the same body with the name of the nameservice in its file status (field 19). */
  passWithNamespace(
    call: Call,
    scan: ReplyScan,
    buffer: Buffer,
    end: number,
    field: number,
    nameservice: Buffer,
  ): void {
    const body = Buffer.allocUnsafe(namespaceBound(end - scan.headerEnd, nameservice.length));
    const bodyEnd = writeWithNamespace(body, 0, buffer, scan.headerEnd, end, field, nameservice);
    this.#replyOrWait(call, 0, this.#successFrame(call, body, 0, bodyEnd));
  }

  /** The NameNode's ERROR (or FATAL, which ends only this call) with its class and text, its paths in it translated back. */
  passError(call: Call, scan: ReplyScan, buffer: Buffer): void {
    const text = this.#translated(call, scan, buffer);
    const { frame, fields } = call;
    const classBytes = scan.classEnd - scan.classStart;
    const more = this.#field === null ? 0 : this.#field.write(call);
    const out = Buffer.allocUnsafe(
      ERROR_HEAD_BYTES + classBytes + (text.end - text.start) + (fields.clientIdEnd - fields.clientIdStart) + more,
    );
    let outEnd = writeErrorHead(
      out,
      0,
      Status.ERROR,
      scan.detail,
      buffer,
      scan.classStart,
      scan.classEnd,
      text.buffer,
      text.start,
      text.end,
      fields.callId,
      frame,
      call.start + fields.clientIdStart,
      call.start + fields.clientIdEnd,
      fields.retryCount,
      more,
    );
    if (this.#field !== null) outEnd = copyBytes(out, outEnd, this.#field.bytes, this.#field.start, this.#field.end);
    this.#replyOrWait(call, 0, out.subarray(0, outEnd));
  }

  /** The text of a NameNode's exception with its paths translated back to those of the client's call. */
  errorText(call: Call, scan: ReplyScan, buffer: Buffer): string {
    const text = this.#translated(call, scan, buffer);
    return textOf(text.buffer, text.start, text.end);
  }

  /** An answer of our own: `body` is an encoded response message, without length prefix. */
  succeed(call: Call, body: Buffer): void {
    const delimited = Buffer.allocUnsafe(5 + body.length);
    const at = writeVarint32(delimited, 0, body.length);
    body.copy(delimited, at);
    this.#replyOrWait(call, 0, this.#successFrame(call, delimited, 0, at + body.length));
  }

  fail(call: Call, className: string, message: string, detail: number): void {
    const fields = call.fields;
    const frame = encodeError({
      callId: fields.callId,
      status: Status.ERROR,
      detail,
      className,
      message,
      clientId: call.frame.subarray(call.start + fields.clientIdStart, call.start + fields.clientIdEnd),
      retryCount: fields.retryCount,
      more: this.#fieldOf(call),
    });
    this.#replyOrWait(call, 0, frame);
  }

  /**
   * As a Java server that has no room for a call: it answers while it reads, before it knows the client id. With `fatal` this is the connection's
   * last answer: the client goes, and takes all its calls in flight elsewhere.
   */
  failBusy(call: Call, className: string, message: string, fatal: boolean): void {
    const { callId, retryCount } = call.fields;
    const frame = encodeError({
      callId,
      status: fatal ? Status.FATAL : Status.ERROR,
      detail: ErrorDetail.ERROR_RPC_SERVER,
      className,
      message,
      retryCount,
      more: this.#fieldOf(call),
    });
    this.#replyOrWait(call, fatal ? ReplyFlag.CLOSE : 0, frame);
  }

  /** A call ends without an answer: its client is not known here. Frees the acceptor's slot. */
  dropAt(link: AcceptorLink, connection: number, generation: number, slot: number): void {
    if (
      !this.#waiting.has(link) &&
      link.reply(connection, generation, slot, ReplyFlag.NONE, NOTHING, 0, 0, NOTHING, 0, 0)
    )
      return;
    this.#wait(link, connection, generation, slot, ReplyFlag.NONE, NOTHING, false);
  }

  /** There is room towards this acceptor again. */
  resume(link: AcceptorLink): void {
    const waiting = this.#waiting.get(link);
    if (waiting === undefined) return;
    let sent = 0;
    for (; sent < waiting.length; sent++) {
      const { connection, generation, slot, flags, bytes, owned } = waiting[sent] as WaitingReply;
      if (!link.reply(connection, generation, slot, flags, NOTHING, 0, 0, bytes, 0, bytes.length, owned)) break;
    }
    if (sent === waiting.length) this.#waiting.delete(link);
    else waiting.splice(0, sent);
  }

  /** The acceptor is gone, and with it all that waited for it. */
  forget(link: AcceptorLink): void {
    this.#waiting.delete(link);
  }

  #translated(call: Call, scan: ReplyScan, buffer: Buffer): BackTranslation {
    const text = new BackTranslation(buffer, scan.messageStart, scan.messageEnd);
    const { frame, fields } = call;
    if (call.path !== null)
      text.translate(
        call.path,
        call.pathPrefixBytes,
        frame,
        call.start + fields.pathStart,
        call.start + fields.pathEnd,
      );
    if (call.path2 !== null)
      text.translate(
        call.path2,
        call.path2PrefixBytes,
        frame,
        call.start + fields.path2Start,
        call.start + fields.path2End,
      );
    if (call.deepPaths !== null)
      for (const { target, prefixBytes, mounted } of call.deepPaths)
        text.translate(target, prefixBytes, mounted, 0, mounted.length);
    return text;
  }

  #successFrame(call: Call, body: Buffer, start: number, end: number): Buffer {
    const fields = call.fields;
    const more = this.#field === null ? 0 : this.#field.write(call);
    const out = Buffer.allocUnsafe(
      SUCCESS_HEAD_BYTES + (fields.clientIdEnd - fields.clientIdStart) + more + (end - start),
    );
    let headEnd = writeSuccessHead(
      out,
      0,
      end - start,
      fields.callId,
      call.frame,
      call.start + fields.clientIdStart,
      call.start + fields.clientIdEnd,
      fields.retryCount,
      more,
    );
    if (this.#field !== null) headEnd = copyBytes(out, headEnd, this.#field.bytes, this.#field.start, this.#field.end);
    body.copy(out, headEnd, start, end);
    return out.subarray(0, headEnd + end - start);
  }

  /** For errors of the router's own: a copy. */
  #fieldOf(call: Call): Buffer | undefined {
    const field = this.#field;
    if (field === null) return undefined;
    const copy = Buffer.allocUnsafe(field.write(call));
    field.bytes.copy(copy, 0, field.start, field.end);
    return copy;
  }

  #reply(call: Call, flags: number, bytes: Buffer): boolean {
    const client = call.client as Client;
    return client.link.reply(
      client.connection,
      client.generation,
      call.fields.slot,
      flags,
      bytes,
      0,
      bytes.length,
      NOTHING,
      0,
      0,
    );
  }

  #replyOrWait(call: Call, flags: number, bytes: Buffer): void {
    const client = call.client as Client;
    if (!this.#waiting.has(client.link) && this.#reply(call, flags, bytes)) return;
    this.#wait(client.link, client.connection, client.generation, call.fields.slot, flags, bytes, false);
  }

  #wait(
    link: AcceptorLink,
    connection: number,
    generation: number,
    slot: number,
    flags: number,
    bytes: Buffer,
    owned: boolean,
  ): void {
    const reply = { connection, generation, slot, flags, bytes, owned };
    const waiting = this.#waiting.get(link);
    if (waiting === undefined) this.#waiting.set(link, [reply]);
    else waiting.push(reply);
  }
}

/** An exception text on its way to the client: one path after the other is translated in it. */
class BackTranslation {
  buffer: Buffer;
  start: number;
  end: number;

  constructor(buffer: Buffer, start: number, end: number) {
    this.buffer = buffer;
    this.start = start;
    this.end = end;
  }

  /** `target`, whose first prefixBytes are its mount's own target, becomes mounted[start, end). */
  translate(target: Buffer, prefixBytes: number, mounted: Buffer, start: number, end: number): void {
    const bound = translateBackBound(this.end - this.start, target.length, end - start);
    const out = Buffer.allocUnsafe(bound);
    const { buffer } = this;
    this.end = translateBack(
      buffer,
      this.start,
      this.end,
      target,
      0,
      target.length,
      prefixBytes,
      mounted,
      start,
      end,
      out,
      0,
    );
    this.buffer = out;
    this.start = 0;
  }
}
