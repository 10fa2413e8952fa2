/**
 * The state ids of requests, as a NameNode judges them while it reads a call (GlobalStateIdContext). Only coordinated calls are looked at,
 * and only while `dfs.namenode.state.context.enabled` is on.
 */
import { JAVA } from '../control/rpc-server/remote-exception.ts';
import type { HaState } from './operation.ts';

/** An observer that is further behind than this refuses coordinated calls instead of letting them wait. */
const MAX_BEHIND_TRANSACTIONS = 160_000n;

/** Why a call is answered before it is queued. */
export interface Refusal {
  readonly javaClass: typeof JAVA.STANDBY | typeof JAVA.RETRIABLE;
  readonly message: string;
}

/**
 * The transaction that the call has to wait for, whatever the NameNode is by then. `stateId` null: the request has none; `serverStateId`
 * is the NameNode's own.
 */
export function align(state: HaState, stateId: bigint | null, serverStateId: number): bigint | Refusal {
  if (stateId === null) {
    return state !== 'observer'
      ? 0n
      : {
          javaClass: JAVA.STANDBY,
          message:
            'Observer Node received request without stateId. This mostly likely is because client is not configured ' +
            'with ObserverReadProxyProvider',
        };
  }
  const server = BigInt(serverStateId);
  if (state === 'active' && stateId > server) {
    return server;
  }
  // The difference wraps, as in Java.
  if (state === 'observer' && BigInt.asIntN(64, stateId - server) > MAX_BEHIND_TRANSACTIONS) {
    return {
      javaClass: JAVA.RETRIABLE,
      message: `Observer Node is too far behind: serverStateId = ${server} clientStateId = ${stateId}`,
    };
  }
  return stateId;
}
