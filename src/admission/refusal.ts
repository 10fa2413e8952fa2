import type { Call } from '../call/call.ts';
import type { Engine } from '../call/engine.ts';
import { Failure } from '../call/failure.ts';
import type { AdmissionSettings } from '../shared/settings.ts';
import { ErrorDetail } from '../wire/reply-head.ts';

/** How a call that finds no room is answered. */
interface Busy {
  readonly className: string;
  readonly message: string;
  /** The client is to close its connection, and go elsewhere or come back. */
  readonly fatal: boolean;
}

const RETRY: Busy = { className: Failure.RETRIABLE, message: 'Server too busy', fatal: false };
const DISCONNECT: Busy = {
  className: Failure.RETRIABLE,
  message: 'Server too busy - disconnecting',
  fatal: true,
};
const FAIL_OVER: Busy = {
  className: Failure.STANDBY,
  message: 'Server too busy - disconnect and failover',
  fatal: true,
};

/**
 * Answers a call that was not let through, as a Java server does that backs off: `slow`, because calls take too long, or because the queue is
 * full. Without back-off a Java server leaves its clients waiting on their sockets; here they are told to go to another router.
 */
export function refuse(engine: Engine, settings: AdmissionSettings, call: Call, slow: boolean): void {
  if (!settings.backoff) {
    engine.overloaded(call);
    return;
  }
  const { className, message, fatal } = busyOf(settings, call.level, slow);
  // Of a part the composer decides; the connection is that of the whole call.
  if (call.composer !== null) engine.refuse(call, className, message, ErrorDetail.ERROR_RPC_SERVER);
  else engine.refuseBusy(call, className, message, fatal);
}

function busyOf({ levels, overflowFailover }: AdmissionSettings, level: number, slow: boolean): Busy {
  if (overflowFailover) return FAIL_OVER;
  return slow || level >= levels - 1 ? DISCONNECT : RETRY;
}
