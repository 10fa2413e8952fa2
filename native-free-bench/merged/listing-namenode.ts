/**
 * A NameNode for calls that the router merges, a process of its own: directories of any size that cost nothing to list, content summaries,
 * and whatever renewLease wants. Everything else as the stub NameNode answers.
 *
 *   node listing-namenode.ts --ports N --entries E
 *
 * The names of port P are `f` and ten digits, every N-th number from P on, so that the directories of all ports interleave when they are merged.
 * A page has at most 1,000 entries, as NameNodes send. Prints {"ready":true,"ports":[…]} and runs until it is told to end.
 */

import net from 'node:net';
import { readArguments, readWhole } from '../harness/arguments.ts';
import {
  bytesField,
  CallId,
  delimited,
  FrameReader,
  numberField,
  PREAMBLE_BYTES,
  readVarint,
  varintEnd,
} from '../harness/frames.ts';
import {
  HEAD_BOUND_BYTES,
  REPLY_BOUND_BYTES,
  RequestFields,
  readRequest,
  SASL_SIMPLE,
  writeReply,
  writeReplyHead,
} from '../harness/namenode-replies.ts';

const PAGE = 1_000;
const NAME_DIGITS = 10;
const MAX_PORTS = 64;
const MAX_ENTRIES = 10_000_000;

const values = readArguments({ ports: { type: 'string' }, entries: { type: 'string' } });
const portCount = readWhole(values, 'ports', 1, MAX_PORTS, 1);
const entryCount = readWhole(values, 'entries', 0, MAX_ENTRIES, 100_000);

/** ContentSummaryProto in GetContentSummaryResponseProto, delimited. */
const SUMMARY_BODY = delimited(
  bytesField(
    1,
    Buffer.concat([
      numberField(1, 1 << 30),
      numberField(2, 1_000),
      numberField(3, 100),
      numberField(4, 0xffffffff),
      numberField(5, 3 * 2 ** 30),
      numberField(6, 0xffffffff),
    ]),
  ),
);
const EMPTY_BODY = delimited(Buffer.alloc(0));

/** The entries of one port, all of the same length, one after the other. */
class Directory {
  readonly #entries: Buffer;
  readonly #bytes: number;
  readonly #first: number;

  constructor(first: number) {
    this.#first = first;
    this.#bytes = entryOf(0).length;
    this.#entries = Buffer.allocUnsafeSlow(this.#bytes * entryCount);
    for (let i = 0; i < entryCount; i++) entryOf(first + i * portCount).copy(this.#entries, i * this.#bytes);
  }

  /** GetListingResponseProto, delimited: the page behind the name. */
  pageAfter(name: string): Buffer {
    const after = name === '' ? -1 : Number(name.slice(1));
    const from = Math.max(0, Math.floor((after - this.#first) / portCount) + 1);
    const to = Math.min(entryCount, from + PAGE);
    const page = this.#entries.subarray(from * this.#bytes, to * this.#bytes);
    return delimited(bytesField(1, Buffer.concat([page, numberField(2, entryCount - to)])));
  }
}

/** One DirectoryListingProto.partialListing: the status of a file. */
function entryOf(number: number): Buffer {
  return bytesField(
    1,
    Buffer.concat([
      numberField(1, 2),
      bytesField(2, `f${String(number).padStart(NAME_DIGITS, '0')}`),
      numberField(3, 73400320),
      bytesField(4, numberField(1, 0o640)),
      bytesField(5, 'warehouse-loader'),
      bytesField(6, 'analysts-finance'),
      numberField(7, 1764500000000),
      numberField(8, 1764500000000),
      numberField(10, 3),
      numberField(11, 134217728),
      numberField(13, 2 ** 30),
      numberField(14, 0),
      numberField(16, 0),
    ]),
  );
}

/** Value of a length-delimited field of the request message in frame[start, end), '' when it is absent. */
function fieldText(frame: Buffer, start: number, end: number, wanted: number): string {
  let at = start;
  while (at < end) {
    const tag = readVarint(frame, at);
    const value = readVarint(frame, varintEnd);
    if ((tag & 7) !== 2) {
      at = varintEnd;
      continue;
    }
    const from = varintEnd;
    if (tag >>> 3 === wanted) return frame.toString('latin1', from, from + value);
    at = from + value;
  }
  return '';
}

/** Where the request message begins: behind the header, the method's header and its own length. */
function bodyStart(frame: Buffer, start: number): number {
  let at = start;
  for (let i = 0; i < 2; i++) at = readVarint(frame, at) + varintEnd;
  readVarint(frame, at);
  return varintEnd;
}

function serve(directory: Directory): Promise<number> {
  const fields = new RequestFields();
  const server = net.createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    const reader = new FrameReader(PREAMBLE_BYTES, (frame, start, end) => {
      if (!readRequest(frame, start, end, fields)) {
        socket.destroy();
        return;
      }
      if (fields.callId < 0) {
        if (fields.callId === CallId.SASL) socket.write(SASL_SIMPLE);
        return;
      }
      const body = bodyOf(directory, frame, start, end, fields);
      const out = Buffer.allocUnsafe(body === null ? REPLY_BOUND_BYTES : HEAD_BOUND_BYTES + body.length);
      if (body === null) {
        socket.write(out.subarray(0, writeReply(out, 0, frame, fields)));
        return;
      }
      const at = writeReplyHead(out, 0, frame, fields, body.length);
      body.copy(out, at);
      socket.write(out.subarray(0, at + body.length));
    });
    socket.on('data', (chunk) => {
      if (!reader.feed(chunk, chunk.length)) socket.destroy();
    });
  });
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => resolve((server.address() as net.AddressInfo).port));
  });
}

/** Null: what the stub NameNode answers. */
function bodyOf(directory: Directory, frame: Buffer, start: number, end: number, fields: RequestFields): Buffer | null {
  switch (frame.toString('latin1', fields.methodStart, fields.methodEnd)) {
    case 'getListing':
      return directory.pageAfter(fieldText(frame, bodyStart(frame, start), end, 2));
    case 'getContentSummary':
      return SUMMARY_BODY;
    case 'renewLease':
      return EMPTY_BODY;
    default:
      return null;
  }
}

const ports: number[] = [];
for (let port = 0; port < portCount; port++) ports.push(await serve(new Directory(port)));
process.on('disconnect', () => process.exit(0));
process.stdout.write(`${JSON.stringify({ ready: true, pid: process.pid, ports })}\n`);
