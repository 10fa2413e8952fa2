import { isatty } from 'node:tty';
import pino from 'pino';

/** The log of this process; one line of JSON each, or coloured text on a terminal. */
export type Log = pino.Logger;

const STDERR = 2;

/** A log to stderr from `level` up. Lines are written before the call returns: none is lost when the process ends. */
export async function createLog(level: string, pretty: boolean = isatty(STDERR)): Promise<Log> {
  const options: pino.LoggerOptions = { level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime };
  if (!pretty) return pino(options, pino.destination({ dest: STDERR, sync: true }));
  // Loaded only where it is seen: it costs as much to start as pino itself.
  const { default: prettify } = await import('pino-pretty');
  return pino(options, prettify({ destination: STDERR, sync: true, ignore: 'pid', translateTime: 'SYS:HH:MM:ss.l' }));
}
