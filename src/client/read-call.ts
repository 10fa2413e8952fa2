import type { Method } from '../call/method.ts';
import { METHODS, methodIndex, PROTOCOLS } from '../call/methods.ts';
import { CallScan, SCAN_OK, scanBody, scanHeader, scanRequestHeader } from '../wire/call-scan.ts';
import { NameIndex } from '../wire/name-index.ts';
import { RecodeFailure, recodeFrame } from '../wire/recode.ts';
import { encodeError, Status } from '../wire/reply-head.ts';
import { textOf } from '../wire/text.ts';
import { KnownHeads } from './known-heads.ts';
import {
  badHeader,
  errorTo,
  invalidHeader,
  malformed,
  unknownMethod,
  unknownProtocol,
  versionMismatch,
} from './refusal.ts';

const NOTHING = Buffer.alloc(0);
export const RPC_FINAL_PACKET = 0;
export const RPC_PROTOCOL_BUFFER = 2;

/** What `readCall` found. */
export const ReadCall = {
  /** `scan` describes the call in frame[start, end). */
  CALL: 0,
  /** `answer` is the reply; the connection goes on. */
  REFUSED: 1,
  /** `answer` is the last reply of the connection. */
  FATAL: 2,
} as const;

const PROTOCOL_INDEX = new NameIndex(PROTOCOLS.map((protocol) => protocol.name));
const METHOD_INDEXES = PROTOCOLS.map(
  (_, p) => new NameIndex(METHODS.filter((method) => method.protocol === p).map((method) => method.name)),
);
/** Index in METHODS of the n-th method of each protocol. */
const METHOD_NUMBERS = PROTOCOLS.map((_, p) =>
  METHODS.filter((method) => method.protocol === p).map((method) => method.index),
);

/**
 * Leg (a) read-call: finds method and paths of one call where they lie, and refuses at once what a NameNode would answer by closing the
 * connection that other clients share. What the scan is not certain about is decoded whole, written again and scanned anew.
 */
export class CallReader {
  readonly scan = new CallScan();
  /** Where the call lies after `readCall` (the frame given, or the recoded one). */
  frame: Buffer = NOTHING;
  start = 0;
  end = 0;
  recoded = false;
  readonly #heads = new KnownHeads();
  answer: Buffer = NOTHING;

  /** `scanHeader` of the frame was SCAN_OK (or SCAN_UNSURE: `headerCode`) into `this.scan`, the call id is not negative. */
  readCall(frame: Buffer, start: number, end: number, headerCode: number, connectionProtocol: string): number {
    this.frame = frame;
    this.start = start;
    this.end = end;
    this.recoded = false;
    let code = headerCode;
    if (code === SCAN_OK) {
      const refusal = this.#checkHeader();
      if (refusal !== ReadCall.CALL) return refusal;
      if (this.#heads.find(frame, start, end, this.scan)) code = SCAN_OK;
      else {
        code = scanRequestHeader(frame, start, end, this.scan);
        if (code === SCAN_OK) {
          const found = this.#findMethod(connectionProtocol);
          if (found !== ReadCall.CALL) return found;
          this.#heads.remember(frame, start, this.scan);
        }
      }
      if (code === SCAN_OK) {
        const method = METHODS[this.scan.method] as Method;
        code = scanBody(frame, start, this.scan, method.pathField, method.path2Field);
        if (code === SCAN_OK) return this.#needsPath(method) ? this.#recode(connectionProtocol) : ReadCall.CALL;
      }
    }
    return code !== SCAN_OK ? this.#recode(connectionProtocol) : ReadCall.CALL;
  }

  /** The call is with its worker, the answer in the outbox: their memory, which may be large, is not kept. */
  release(): void {
    this.frame = NOTHING;
    this.answer = NOTHING;
  }

  /** A request whose required path is absent: the decoder says what is missing. */
  #needsPath(method: Method): boolean {
    return method.pathField > 0 && this.scan.pathStart === 0 && !this.recoded;
  }

  #recode(connectionProtocol: string): number {
    const recoded = recodeFrame(this.frame, this.start, this.end, requestTypeOf);
    if (recoded instanceof RecodeFailure) {
      this.answer = encodeError(recoded.error);
      return recoded.error.status === Status.FATAL ? ReadCall.FATAL : ReadCall.REFUSED;
    }
    this.frame = recoded;
    this.start = 0;
    this.end = recoded.length;
    this.recoded = true;
    if (scanHeader(recoded, 0, recoded.length, this.scan) !== SCAN_OK) return this.#giveUp();
    const refusal = this.#checkHeader();
    if (refusal !== ReadCall.CALL) return refusal;
    if (scanRequestHeader(recoded, 0, recoded.length, this.scan) !== SCAN_OK) return this.#giveUp();
    const found = this.#findMethod(connectionProtocol);
    if (found !== ReadCall.CALL) return found;
    const method = METHODS[this.scan.method] as Method;
    if (scanBody(recoded, 0, this.scan, method.pathField, method.path2Field) !== SCAN_OK) return this.#giveUp();
    if (this.scan.callId < 0) return this.#refuseFatal(badHeader(this.scan));
    return ReadCall.CALL;
  }

  #checkHeader(): number {
    const { scan } = this;
    if (scan.rpcOp === -1) return this.#refuseFatal(invalidHeader(scan, ' IPC Server: No rpc op in rpcRequestHeader'));
    if (scan.rpcOp !== RPC_FINAL_PACKET) {
      return this.#refuseFatal(
        invalidHeader(scan, ` IPC Server does not implement rpc header operation ${scan.rpcOp}`),
      );
    }
    if (scan.rpcKind === -1)
      return this.#refuseFatal(invalidHeader(scan, ' IPC Server: No rpc kind in rpcRequestHeader'));
    if (scan.rpcKind !== RPC_PROTOCOL_BUFFER) {
      return this.#refuseFatal(invalidHeader(scan, `Unknown rpc kind in rpc header: ${scan.rpcKind}`));
    }
    return ReadCall.CALL;
  }

  #findMethod(connectionProtocol: string): number {
    const { scan, frame, start } = this;
    const protocol = PROTOCOL_INDEX.find(frame, start + scan.protocolStart, start + scan.protocolEnd);
    if (protocol < 0)
      return this.#refuse(unknownProtocol(textOf(frame, start + scan.protocolStart, start + scan.protocolEnd)));
    const { version, name } = PROTOCOLS[protocol] as (typeof PROTOCOLS)[number];
    if (scan.clientProtocolVersion !== version)
      return this.#refuse(versionMismatch(name, scan.clientProtocolVersion, version));
    const at = (METHOD_INDEXES[protocol] as NameIndex).find(frame, start + scan.methodStart, start + scan.methodEnd);
    if (at < 0) {
      return this.#refuse(
        unknownMethod(textOf(frame, start + scan.methodStart, start + scan.methodEnd), connectionProtocol),
      );
    }
    scan.method = (METHOD_NUMBERS[protocol] as number[])[at] as number;
    return ReadCall.CALL;
  }

  #refuse(error: Parameters<typeof errorTo>[3]): number {
    this.answer = errorTo(this.frame, this.start, this.scan, error);
    return ReadCall.REFUSED;
  }

  #refuseFatal(answer: Buffer): number {
    this.answer = answer;
    return ReadCall.FATAL;
  }

  #giveUp(): number {
    return this.#refuse(malformed('the request cannot be read, even decoded whole'));
  }
}

function requestTypeOf(protocol: string, method: string): string | null {
  const p = PROTOCOLS.findIndex((each) => each.name === protocol);
  const index = p < 0 ? -1 : methodIndex(p, method);
  return index < 0 ? null : (METHODS[index] as Method).request;
}
