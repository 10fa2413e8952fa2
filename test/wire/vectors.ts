import { readFileSync } from 'node:fs';
import { readVarint32, varint32Size, writeInt32, writeVarint32 } from '../../src/wire/varint.ts';

/** Frames recorded from Hadoop 3.4.1, each with its length prefix; 01, 11 and 13 are bytes without one. */
export const REQUESTS = [
  '02-connection-context',
  '03-getFileInfo-request',
  '05-mkdirs-request',
  '07-getBlockLocations-request',
  '20-sasl-negotiate-request',
  '22-ping',
  '23-router-to-namenode-mkdirs-request',
  '24-sasl-initiate-simple',
];

export const REPLIES = [
  '04-getFileInfo-response',
  '06-mkdirs-response',
  '08-error-FileNotFound-response',
  '09-error-Standby-response',
  '10-fatal-version-mismatch-v10',
  '12-fatal-unknown-auth',
  '14-error-unknown-protocol',
  '15-error-unknown-method',
  '16-error-protocol-version',
  '17-fatal-no-context',
  '18-error-observer-no-stateid',
  '19-error-observer-write',
  '21-sasl-negotiate-response-simple-plus-token',
  '25-fatal-sasl-method-not-enabled',
  '26-fatal-simple-not-enabled',
  '27-fatal-call-queue-overflow',
  '28-error-overflow-keepalive',
  '29-fatal-call-queue-overflow-failover',
  '30-sasl-success-simple-only-router',
];

export function vector(name: string): Buffer {
  return Buffer.from(readFileSync(new URL(`./frames/${name}.hex`, import.meta.url), 'utf8').trim(), 'hex');
}

/** A recorded reply without the stateId (field 9, one-byte value, last in the header) that only NameNodes send. */
export function withoutStateId(reply: Buffer): Buffer {
  const headerBytes = readVarint32(reply, 4, reply.length);
  const headerStart = 4 + varint32Size(headerBytes);
  const headerEnd = headerStart + headerBytes;
  if (reply[headerEnd - 2] !== 0x48) return reply;
  const header = reply.subarray(headerStart, headerEnd - 2);
  const body = reply.subarray(headerEnd);
  return framed(Buffer.concat([delimited(header), body]));
}

export function framed(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  writeInt32(length, 0, bytes.length);
  return Buffer.concat([length, bytes]);
}

export function delimited(bytes: Buffer): Buffer {
  const length = Buffer.alloc(varint32Size(bytes.length));
  writeVarint32(length, 0, bytes.length);
  return Buffer.concat([length, bytes]);
}

/** A call frame without its length prefix, of three encoded messages. */
export function callFrame(header: Buffer, requestHeader: Buffer, message: Buffer): Buffer {
  return Buffer.concat([delimited(header), delimited(requestHeader), delimited(message)]);
}

/** The delimited messages of a frame without its length prefix, one after the other. */
export function splitFrame(frame: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < frame.length; ) {
    const bytes = readVarint32(frame, at, frame.length);
    if (bytes < 0) throw new Error(`no length at ${at}`);
    at += varint32Size(bytes);
    parts.push(frame.subarray(at, at + bytes));
    at += bytes;
  }
  return parts;
}
