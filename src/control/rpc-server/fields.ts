/** Reads fields of decoded request messages with the type that the protocol gives them. */
import type { Plain } from '../../wire/messages.ts';

/** A string field, '' when absent. */
export function textOf(message: Plain, field: string): string {
  const value = message[field];
  return typeof value === 'string' ? value : '';
}

/** An integer field; `absent` when it is not there. 64-bit values beyond what a number holds exactly stay bigint. */
export function integerOf(message: Plain, field: string, absent: number): number | bigint {
  const value = message[field];
  return typeof value === 'number' || typeof value === 'bigint' ? value : absent;
}

/** As integerOf, for fields whose values are small: larger ones become the largest that a number holds exactly. */
export function numberOf(message: Plain, field: string, absent = 0): number {
  const value = Number(integerOf(message, field, absent));
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, value));
}

/** A bool field, false when absent. */
export function flagOf(message: Plain, field: string): boolean {
  return message[field] === true;
}

/** A bytes field as text, '' when absent. */
export function bytesAsText(message: Plain, field: string): string {
  const value = message[field];
  return Buffer.isBuffer(value) ? value.toString('utf8') : '';
}

/** An embedded message, undefined when absent. */
export function messageOf(message: Plain, field: string): Plain | undefined {
  const value = message[field];
  return isMessage(value) ? value : undefined;
}

/** A repeated field of embedded messages. */
export function messagesOf(message: Plain, field: string): Plain[] {
  const value = message[field];
  return Array.isArray(value) ? value.filter(isMessage) : [];
}

/** A repeated string field. */
export function textsOf(message: Plain, field: string): string[] {
  const value = message[field];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function isMessage(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);
}
