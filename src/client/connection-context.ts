import { SCAN_OK } from '../wire/call-scan.ts';
import { CallId, type ConnectionContext, scanConnectionContext } from '../wire/handshake.ts';
import { ErrorDetail } from '../wire/reply-head.ts';
import { ACCESS_CONTROL, fatal, RPC_SERVER_EXCEPTION } from './refusal.ts';

/** Longest user, real user and protocol name of a connection context: they are kept as long as the connection, here and at its worker. */
export const MAX_NAME_BYTES = 4096;
/** Longest connection context; all that is known of it are the three names. */
const MAX_CONTEXT_BYTES = 4 * MAX_NAME_BYTES;

/** Fills `context` from the frame's message; the last answer to the client when it cannot be accepted, else null. */
export function readContext(buffer: Buffer, start: number, end: number, context: ConnectionContext): Buffer | null {
  // Longer than its three names may be together: not even read.
  if (end - start > MAX_CONTEXT_BYTES) return nameTooLong(`The connection context of ${end - start} bytes`);
  if (scanConnectionContext(buffer, start, end, context) !== SCAN_OK) {
    return fatal(
      CallId.CONNECTION_CONTEXT,
      ErrorDetail.FATAL_DESERIALIZING_REQUEST,
      RPC_SERVER_EXCEPTION,
      'Error decoding IpcConnectionContextProto',
    );
  }
  if (context.user === '') {
    // A Java Router would run such a connection's calls as its own (super)user.
    return fatal(
      CallId.CONNECTION_CONTEXT,
      ErrorDetail.FATAL_UNAUTHORIZED,
      ACCESS_CONTROL,
      'The connection context names no user: SIMPLE authentication needs an effective user',
    );
  }
  if (isTooLong(context.user)) return nameTooLong('The effective user of the connection context');
  if (isTooLong(context.realUser)) return nameTooLong('The real user of the connection context');
  if (isTooLong(context.protocol)) return nameTooLong('The protocol of the connection context');
  return null;
}

function isTooLong(name: string): boolean {
  return Buffer.byteLength(name) > MAX_NAME_BYTES;
}

function nameTooLong(what: string): Buffer {
  return fatal(
    CallId.CONNECTION_CONTEXT,
    ErrorDetail.FATAL_UNAUTHORIZED,
    ACCESS_CONTROL,
    `${what} is too long: a name may have ${MAX_NAME_BYTES} bytes`,
  );
}
