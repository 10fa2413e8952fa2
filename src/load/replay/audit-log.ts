/**
 * Audit logs of NameNodes, as FSNamesystem.audit of Hadoop 3 writes them:
 *
 *   time [level logger:] allowed=B \t ugi=U \t ip=/A \t cmd=C \t src=P \t dst=P|null \t perm=… \t proto=… [\t callerContext=…]
 *   time   2026-11-30 12:00:00,123, of the NameNode's own time zone
 *   U      name[/host][@REALM] [(auth:METHOD)] [via name… (auth:METHOD)]
 *   C      name [ (options=[OPTION, …])]
 *
 * What stands between time and `allowed` depends on the log's pattern and is passed over. Paths may hold blanks and '=', not tabs.
 */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { UsageError } from '../../commands/usage.ts';
import { plainText } from '../result/format.ts';

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const CHUNK_BYTES = 1024 * 1024;
/** HDFS's longest path twice, a long caller context, and room. A longer line is counted as unreadable. */
const MAX_LINE_BYTES = 256 * 1024;
/** Of a line that an error message shows. */
const SHOWN_CHARACTERS = 120;
const GZIP_MAGIC = 0x1f8b;

/** At the begin of a line; a time zone may follow. */
const LINE_TIME = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[,.](\d{1,3}))?(?=[\sZ+-])/;
const WHOLE_TIME = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:[,.](\d{1,3}))?)?)?$/;
const ALLOWED = 'allowed=';
const AUTH = ' (auth:';
const OPTIONS = ' (options=';

export interface AuditCall {
  /** Ms since 1970 as if the log's time zone were UTC: good for differences. */
  readonly timeMs: number;
  readonly allowed: boolean;
  /** Short name of the effective user: no host, realm, or authentication method. */
  readonly user: string;
  /** As the log spells it, without its options. */
  readonly command: string;
  /** '' for null. */
  readonly source: string;
  readonly destination: string;
}

export interface AuditReading {
  readonly lines: number;
  readonly unreadable: number;
  /** `FILE:LINE: text` of the first line that is not of an audit log; '' when there is none. */
  readonly firstUnreadable: string;
}

/** A time as audit logs have it; what comes after the date may be left out. Null when it is none. */
export function parseAuditTime(text: string): number | null {
  return readTime(WHOLE_TIME.exec(text));
}

function readTime(match: RegExpExecArray | null): number | null {
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const ms = Number((match[7] ?? '').padEnd(3, '0'));
  const timeMs = Date.UTC(year, month - 1, day, hour, minute, second, ms);
  const isDay = new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day && month >= 1 && month <= 12;
  return isDay && hour < 24 && minute < 60 && second <= 60 ? timeMs : null;
}

/** Null for a line that is not of an audit log. */
export function parseAuditLine(line: string): AuditCall | null {
  const timeMs = readTime(LINE_TIME.exec(line));
  const start = line.indexOf(ALLOWED);
  if (timeMs === null || start < 0 || /[^\s]/.test(line.charAt(start - 1))) return null;
  let allowed = '';
  let ugi = '';
  let command = '';
  let source: string | null = null;
  let destination: string | null = null;
  for (const field of line.slice(start).split('\t')) {
    const equals = field.indexOf('=');
    const value = field.slice(equals + 1);
    switch (field.slice(0, equals)) {
      case 'allowed':
        allowed ||= value;
        break;
      case 'ugi':
        ugi ||= value;
        break;
      case 'cmd':
        command ||= value;
        break;
      case 'src':
        source ??= value;
        break;
      case 'dst':
        destination ??= value;
        break;
    }
  }
  const user = shortUser(ugi);
  const isWhole = command !== '' && source !== null && destination !== null;
  if (!isWhole || user === '' || (allowed !== 'true' && allowed !== 'false')) return null;
  const at = command.indexOf(OPTIONS);
  return {
    timeMs,
    allowed: allowed === 'true',
    user,
    command: at < 0 ? command : command.slice(0, at),
    source: noneAsEmpty(source),
    destination: noneAsEmpty(destination),
  };
}

/** Only an absolute path is one; `null` and lists of paths are not. */
function noneAsEmpty(path: string | null): string {
  return path?.startsWith('/') === true ? path : '';
}

function shortUser(ugi: string): string {
  const auth = ugi.indexOf(AUTH);
  const full = auth < 0 ? ugi : ugi.slice(0, auth);
  const end = full.search(/[/@]/);
  return (end < 0 ? full : full.slice(0, end)).trim();
}

/**
 * Reads logs one after the other, plain or compressed by gzip, until `onCall` answers false. Memory does not grow with the logs. Rejects with
 * UsageError for a file that cannot be read.
 */
export async function readAuditLogs(
  files: readonly string[],
  onCall: (call: AuditCall) => boolean,
): Promise<AuditReading> {
  const reading = { lines: 0, unreadable: 0, firstUnreadable: '' };
  let goesOn = true;
  for (const file of files) {
    if (!goesOn) break;
    let number = 0;
    const onLine = (line: string | null): boolean => {
      number++;
      if (line === '') return true;
      reading.lines++;
      const call = line === null ? null : parseAuditLine(line);
      if (call !== null) return onCall(call);
      reading.unreadable++;
      reading.firstUnreadable ||= `${file}:${number}: ${line === null ? 'a line of more than 256 KiB' : plainText(line, SHOWN_CHARACTERS)}`;
      return true;
    };
    try {
      goesOn = await readLines(file, onLine);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      throw new UsageError(`${file}: ${reason}; name the audit log of a NameNode, plain or compressed by gzip`);
    }
  }
  return reading;
}

/** Lines without their ends; null for one that is too long. False when `onLine` wanted no more. */
async function readLines(file: string, onLine: (line: string | null) => boolean): Promise<boolean> {
  const stream = await openText(file);
  const rest = Buffer.allocUnsafe(MAX_LINE_BYTES);
  let restBytes = 0;
  let isTooLong = false;
  /** The end of a line, after what the chunks before had of it. */
  const endLine = (chunk: Buffer, start: number, end: number): boolean => {
    isTooLong ||= restBytes + end - start > MAX_LINE_BYTES;
    let line: string | null = null;
    if (!isTooLong && restBytes === 0) line = textOfLine(chunk, start, end);
    else if (!isTooLong) {
      chunk.copy(rest, restBytes, start, end);
      line = textOfLine(rest, 0, restBytes + end - start);
    }
    restBytes = 0;
    isTooLong = false;
    return onLine(line);
  };
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      if (!endLine(chunk, start, end)) return false;
      start = end + 1;
    }
    isTooLong ||= restBytes + chunk.length - start > MAX_LINE_BYTES;
    if (!isTooLong) restBytes += chunk.copy(rest, restBytes, start);
  }
  return (restBytes === 0 && !isTooLong) || endLine(rest, 0, 0);
}

function textOfLine(buffer: Buffer, start: number, end: number): string {
  return buffer.toString('utf8', start, end > start && buffer[end - 1] === CARRIAGE_RETURN ? end - 1 : end);
}

async function openText(file: string): Promise<NodeJS.ReadableStream> {
  const magic = Buffer.alloc(2);
  const handle = await open(file);
  try {
    await handle.read(magic, 0, magic.length, 0);
  } finally {
    await handle.close();
  }
  const raw = createReadStream(file, { highWaterMark: CHUNK_BYTES });
  // Errors of either stream come out of the last one.
  return magic.readUInt16BE() === GZIP_MAGIC ? pipeline(raw, createGunzip({ chunkSize: CHUNK_BYTES }), () => {}) : raw;
}
