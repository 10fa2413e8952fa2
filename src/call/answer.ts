import type { AcceptorLink } from '../handoff/link.ts';
import { ReplyFlag } from '../handoff/link.ts';
import { namespaceBound, writeWithNamespace } from '../wire/namespace-field.ts';
import { translateBack, translateBackBound } from '../wire/path-bytes.ts';
import { encodeError, Status, successHeadBytes, writeErrorHead, writeSuccessHead } from '../wire/reply-head.ts';
import type { ReplyScan } from '../wire/reply-scan.ts';
import { writeVarint32 } from '../wire/varint.ts';
import type { Call } from './call.ts';
import type { Client } from './client.ts';

/** Longest success header: length, header length, call id, status, version, client id of 16 bytes or as long as a frame allows. */
const HEAD_BYTES = 64;
const NOTHING = Buffer.alloc(0);

/** A reply that found no room in its ring; waits here. There are at most as many as calls in the worker. */
interface WaitingReply {
  readonly link: AcceptorLink;
  readonly connection: number;
  readonly generation: number;
  readonly slot: number;
  readonly flags: number;
  readonly bytes: Buffer;
}

/**
 * Leg (e) hand-back: the one place where answers leave a worker. A NameNode's answer keeps its body; its header is rebuilt with the
 * client's own ids. Answers made here are never refused: without room they wait in line.
 */
export class Answers {
  #waiting: WaitingReply[] = [];

  /** While it is not 0, NameNodes' replies are left where they are. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * The NameNode's SUCCESS as it is. Our header takes the place of the NameNode's, right before the body: ours is not longer (the tag of a
   * reply takes five bytes, the client's retryCount one), so the answer is one piece and is copied once.
   */
  passSuccess(call: Call, scan: ReplyScan, buffer: Buffer, start: number, end: number): void {
    const client = call.client as Client;
    const fields = call.fields;
    const idStart = call.start + fields.clientIdStart;
    const idEnd = call.start + fields.clientIdEnd;
    const at = scan.headerEnd - successHeadBytes(fields.callId, idEnd - idStart, fields.retryCount);
    if (at < start) {
      this.#replyOrWait(call, 0, this.#successFrame(call, buffer, scan.headerEnd, end));
      return;
    }
    writeSuccessHead(buffer, at, end - scan.headerEnd, fields.callId, call.frame, idStart, idEnd, fields.retryCount);
    if (client.link.reply(client.connection, client.generation, fields.slot, 0, NOTHING, 0, 0, buffer, at, end)) return;
    // The header is gone, so the frame cannot be offered again: this one waits here, those behind it with their connection.
    const kept = Buffer.allocUnsafeSlow(end - at);
    buffer.copy(kept, 0, at, end);
    this.#wait(client.link, client.connection, client.generation, fields.slot, 0, kept);
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

  /** The NameNode's ERROR (or FATAL, which ends only this call) with its class and text, the target path in it translated back. */
  passError(call: Call, scan: ReplyScan, buffer: Buffer): void {
    let message = buffer;
    let start = scan.messageStart;
    let end = scan.messageEnd;
    if (call.path !== null) {
      const fields = call.fields;
      const grown = Buffer.allocUnsafe(
        translateBackBound(end - start, call.path.length, fields.pathEnd - fields.pathStart),
      );
      end = translateBack(
        buffer,
        start,
        end,
        call.path,
        0,
        call.path.length,
        call.pathPrefixBytes,
        call.frame,
        call.start + fields.pathStart,
        call.start + fields.pathEnd,
        grown,
        0,
      );
      message = grown;
      start = 0;
    }
    const fields = call.fields;
    const classBytes = scan.classEnd - scan.classStart;
    const out = Buffer.allocUnsafe(
      HEAD_BYTES + classBytes + (end - start) + (fields.clientIdEnd - fields.clientIdStart),
    );
    const outEnd = writeErrorHead(
      out,
      0,
      Status.ERROR,
      scan.detail,
      buffer,
      scan.classStart,
      scan.classEnd,
      message,
      start,
      end,
      fields.callId,
      call.frame,
      call.start + fields.clientIdStart,
      call.start + fields.clientIdEnd,
      fields.retryCount,
    );
    this.#replyOrWait(call, 0, out.subarray(0, outEnd));
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
    });
    this.#replyOrWait(call, 0, frame);
  }

  /** A call ends without an answer: its client is not known here. Frees the acceptor's slot. */
  dropAt(link: AcceptorLink, connection: number, generation: number, slot: number): void {
    if (
      this.#waiting.length === 0 &&
      link.reply(connection, generation, slot, ReplyFlag.NONE, NOTHING, 0, 0, NOTHING, 0, 0)
    )
      return;
    this.#wait(link, connection, generation, slot, ReplyFlag.NONE, NOTHING);
  }

  /** There is room towards this acceptor again. */
  resume(link: AcceptorLink): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    for (let i = 0; i < waiting.length; i++) {
      const r = waiting[i] as WaitingReply;
      if (
        r.link !== link ||
        !link.reply(r.connection, r.generation, r.slot, r.flags, r.bytes, 0, r.bytes.length, NOTHING, 0, 0)
      ) {
        this.#waiting.push(r);
      }
    }
  }

  /** The acceptor is gone, and with it all that waited for it. */
  forget(link: AcceptorLink): void {
    this.#waiting = this.#waiting.filter((r) => r.link !== link);
  }

  #successFrame(call: Call, body: Buffer, start: number, end: number): Buffer {
    const fields = call.fields;
    const out = Buffer.allocUnsafe(HEAD_BYTES + (fields.clientIdEnd - fields.clientIdStart) + (end - start));
    const headEnd = writeSuccessHead(
      out,
      0,
      end - start,
      fields.callId,
      call.frame,
      call.start + fields.clientIdStart,
      call.start + fields.clientIdEnd,
      fields.retryCount,
    );
    body.copy(out, headEnd, start, end);
    return out.subarray(0, headEnd + end - start);
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
    if (this.#waiting.length === 0 && this.#reply(call, flags, bytes)) return;
    this.#wait(client.link, client.connection, client.generation, call.fields.slot, flags, bytes);
  }

  #wait(link: AcceptorLink, connection: number, generation: number, slot: number, flags: number, bytes: Buffer): void {
    this.#waiting.push({ link, connection, generation, slot, flags, bytes });
  }
}
