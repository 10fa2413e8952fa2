/** What the log of calls keeps of a call. */
import { messageOf, textOf, textsOf } from '../control/rpc-server/fields.ts';
import type { Plain } from '../wire/messages.ts';
import type { LoggedCall } from './call-log.ts';
import type { IncomingCall, NameNode, Outcome } from './name-node.ts';

export function loggedCall(namenode: NameNode, call: IncomingCall, outcome: Outcome): Omit<LoggedCall, 'sequence'> {
  const { method, request } = call;
  return {
    nameservice: namenode.nameservice.id,
    namenode: namenode.id,
    user: call.caller.user,
    realUser: call.realUser,
    protocol: method.protocol,
    method: method.name,
    path: pathOf(request),
    path2: textOf(request, 'dst'),
    clientId: call.clientId.toString('hex'),
    callId: call.callId,
    retryCount: call.retryCount,
    callerContext: call.callerContext,
    callerSignature: call.callerSignature,
    stateId: call.stateId === null ? null : String(call.stateId),
    exception: outcome.exception?.javaClass ?? '',
    executed: outcome.executed,
    clientPort: call.clientPort,
  };
}

/** Fields that hold the first path of a request, in different messages. */
const PATH_FIELDS = ['src', 'path', 'trg', 'filename', 'snapshotRoot', 'zone'] as const;

function pathOf(request: Plain): string {
  for (const field of PATH_FIELDS) {
    const path = textOf(request, field);
    if (path !== '') {
      return path;
    }
  }
  return textOf(messageOf(request, 'info') ?? {}, 'path') || (textsOf(request, 'paths')[0] ?? '');
}
