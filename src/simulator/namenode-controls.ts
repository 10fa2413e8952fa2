/** Control requests for one NameNode that need more than a line. */
import { RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { LagRequest, RestartRequest } from './control-requests.ts';
import { ControlError } from './control-requests.ts';
import type { NameNode } from './name-node.ts';
import type { HaState } from './operation.ts';
import { checkLag, wholeNumber } from './options.ts';
import type { RpcServer } from './rpc-server.ts';
import { MAX_SERVICE_MS } from './service-time.ts';
import type { Lag } from './tailing.ts';

export function checkRunning({ running, namenode }: RpcServer): void {
  if (!running) {
    throw new ControlError(`${nameOf(namenode)} is stopped; start it first`);
  }
}

export function transition(server: RpcServer, to: HaState): void {
  checkRunning(server);
  try {
    server.namenode.transition(to);
  } catch (error) {
    throw error instanceof RemoteException ? new ControlError(error.message) : error;
  }
}

export function fence(namenode: NameNode, unsynced: number): void {
  wholeNumber('unsynced transactions', unsynced, 0, Number.MAX_SAFE_INTEGER);
  const { nameservice } = namenode;
  if (nameservice.active() !== namenode) {
    throw new ControlError(`${nameOf(namenode)} is not the active of its nameservice; only that one can be fenced`);
  }
  nameservice.fence(namenode, unsynced);
}

export async function restart(server: RpcServer, request: RestartRequest): Promise<void> {
  const { loseTransactions = 0, notStartedCalls = 0, safeModeCalls = 0, paused } = request;
  wholeNumber('transactions to lose', loseTransactions, 0, Number.MAX_SAFE_INTEGER);
  wholeNumber('calls before the start has ended', notStartedCalls, 0, Number.MAX_SAFE_INTEGER);
  wholeNumber('calls in safe mode', safeModeCalls, 0, Number.MAX_SAFE_INTEGER);
  checkRunning(server);
  const { namenode } = server;
  const { nameservice } = namenode;
  if (loseTransactions > 0 && (nameservice.active() === namenode || !nameservice.keepsImage)) {
    throw new ControlError(
      `${nameOf(namenode)} cannot lose transactions: only standbys and observers of nameservices with observers can; ` +
        'those that an active has not written to the journal are lost anyway',
    );
  }
  await server.stop();
  nameservice.restart(namenode, loseTransactions, Date.now());
  if (paused !== undefined) {
    namenode.tailing.configure({ ...namenode.tailing.lag, paused });
  }
  namenode.beginStartup({ notStartedCalls, safeModeCalls });
  await server.start(server.port);
}

export function setLag(namenode: NameNode, request: LagRequest): void {
  const { paused = false, lagTransactions = 0, randomTransactions = 0, lagMs = 0, lagTime } = request;
  if (!(lagMs >= 0 && lagMs <= MAX_SERVICE_MS)) {
    throw new ControlError(`lag of ${lagMs} ms: a number from 0 to ${MAX_SERVICE_MS}`);
  }
  const lag: Lag = { paused, lagTransactions, randomTransactions, lagTime: lagTime ?? { kind: 'constant', ms: lagMs } };
  checkLag(lag);
  // What could be seen so far stays seen.
  namenode.tailEdits(Date.now());
  namenode.tailing.configure(lag);
  namenode.nameservice.notify();
}

function nameOf(namenode: NameNode): string {
  return `${namenode.nameservice.id} ${namenode.id}`;
}
