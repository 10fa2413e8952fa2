/**
 * One simulated NameNode: a tree of its own that it changes (active) or that follows the journal (standby, observer), a retry cache, HA
 * state and safe mode. It executes calls that have been read; queues, delays and sockets are rpc-server.ts.
 */
import type { RpcCall } from '../control/rpc-server/call.ts';
import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import type { DataNode } from './datanodes.ts';
import type { Edit } from './journal.ts';
import type { Nameservice } from './nameservice.ts';
import { Namespace } from './namespace.ts';
import type { Administration, Category, HaState, NameNodeView, SafeModeAction, Site } from './operation.ts';
import type { ServedMethod } from './operations.ts';
import type { Caller } from './permission-check.ts';
import { RetryCache } from './retry-cache.ts';

const CLIENT_ID_BYTES = 16;

/** A call as it came out of its frame. */
export type IncomingCall = RpcCall<ServedMethod, Caller>;

/** How a call ended. */
export interface Outcome {
  /** Fields of the response message; null when the call failed. */
  readonly answer: Plain | null;
  readonly exception: RemoteException | null;
  /** False when the answer is that of an earlier execution, or when the call was refused for the NameNode's state. */
  readonly executed: boolean;
}

/** How far a NameNode that is not active stays behind the journal. */
export interface Tailing {
  readonly paused: boolean;
  /** The last so many transactions are not applied. */
  readonly lagTransactions: number;
  /** Edits are applied only when they are this old. */
  readonly lagMs: number;
}

export class NameNode implements NameNodeView {
  readonly id: string;
  readonly nameservice: Nameservice;
  readonly namespace: Namespace;
  readonly retryCache = new RetryCache();
  /** What the NameNode calls itself in texts. */
  readonly hostName: string;
  state: HaState;
  readonly administration: Administration;
  tailing: Tailing = { paused: false, lagTransactions: 0, lagMs: 0 };
  #safeMode = false;
  /** Position in the journal up to which the namespace is current. */
  #applied = 0;

  constructor(id: string, nameservice: Nameservice, state: HaState, hostName: string) {
    this.id = id;
    this.nameservice = nameservice;
    this.state = state;
    this.hostName = hostName;
    this.namespace = new Namespace(nameservice.options);
    this.administration = {
      checkpointTxId: 0,
      checkpointMs: nameservice.options.createdMs,
      restoresStorage: false,
    };
  }

  get blockPoolId(): string {
    return this.nameservice.blockPoolId;
  }
  get datanodes(): readonly DataNode[] {
    return this.nameservice.datanodes;
  }
  get clusterId(): string {
    return this.nameservice.options.clusterId;
  }
  get namespaceId(): number {
    return this.nameservice.namespaceId;
  }
  get createdMs(): number {
    return this.nameservice.options.createdMs;
  }
  get lastTxId(): number {
    return this.nameservice.journal.lastTxId;
  }
  get appliedPosition(): number {
    return this.#applied;
  }
  get safeMode(): boolean {
    return this.#safeMode;
  }

  groupsOf(user: string): readonly string[] {
    return this.nameservice.groupsOf(user);
  }

  setSafeMode(action: SafeModeAction): boolean {
    this.#safeMode = action === 'get' ? this.#safeMode : action === 'enter';
    return this.#safeMode;
  }

  transition(to: HaState): void {
    this.nameservice.transition(this, to);
  }

  /** The state id of replies: the last transaction that this NameNode has applied. */
  stateId(nowMs: number): number {
    this.tailEdits(nowMs);
    return this.namespace.txid;
  }

  /** Applies what the journal holds and tailing allows; `all`: whatever tailing says. */
  tailEdits(nowMs: number, all = false): void {
    const { journal } = this.nameservice;
    while (this.#applied < journal.end) {
      const edit = journal.at(this.#applied);
      if (edit === undefined || !(all || this.#isVisible(edit, nowMs))) {
        return;
      }
      this.#apply(edit);
      this.#applied++;
    }
  }

  #isVisible(edit: Edit, nowMs: number): boolean {
    const { paused, lagTransactions, lagMs } = this.tailing;
    return !paused && edit.txid <= this.lastTxId - lagTransactions && edit.timeMs + lagMs <= nowMs;
  }

  #apply(edit: Edit): void {
    const { namespace } = this;
    namespace.nowMs = edit.timeMs;
    namespace.replaying = true;
    try {
      const answer = edit.method.run(this.#site(edit.caller, edit.machine, true), edit.request);
      if (edit.retryKey !== '') {
        this.retryCache.store(edit.retryKey, answer, edit.timeMs);
      }
    } catch (error) {
      // An operation may have changed something (released a lease) before it was refused; so does its repetition.
      if (!(error instanceof RemoteException)) {
        throw error;
      }
    } finally {
      namespace.replaying = false;
    }
    if (namespace.txid !== edit.txid) {
      throw new Error(`${this.nameservice.id} ${this.id} has left the journal at transaction ${edit.txid}`);
    }
  }

  execute(call: IncomingCall, nowMs: number): Outcome {
    this.tailEdits(nowMs);
    let executed = false;
    try {
      this.#checkCategory(call.method.category);
      const retryKey = retryKeyOf(call);
      const known = retryKey === '' ? undefined : this.retryCache.find(retryKey, nowMs);
      if (known !== undefined) {
        return { answer: known, exception: null, executed };
      }
      executed = true;
      return { answer: this.#run(call, retryKey, nowMs), exception: null, executed };
    } catch (error) {
      if (error instanceof RemoteException) {
        return { answer: null, exception: error, executed };
      }
      throw error;
    }
  }

  #run(call: IncomingCall, retryKey: string, nowMs: number): Plain {
    const { namespace } = this;
    const { method, request, caller, machine } = call;
    const before = namespace.txid;
    namespace.nowMs = nowMs;
    try {
      const answer = method.run(this.#site(caller, machine, false), request);
      if (retryKey !== '' && namespace.txid !== before) {
        this.retryCache.store(retryKey, answer, nowMs);
      }
      return answer;
    } finally {
      if (namespace.txid !== before) {
        const edit = { txid: namespace.txid, method, request, caller, machine, timeMs: nowMs, retryKey };
        this.nameservice.journal.append(edit);
        this.#applied = this.nameservice.journal.end;
        this.nameservice.onEdit(nowMs);
      }
    }
  }

  #site(caller: Caller, machine: string, replaying: boolean): Site {
    return {
      namespace: this.namespace,
      namenode: this,
      caller,
      machine,
      settings: this.nameservice.options,
      checkSafeMode: (what) => {
        if (this.#safeMode && !replaying) {
          throw new RemoteException(
            JAVA.SAFE_MODE,
            `${what}. Name node is in safe mode.\nIt was turned on manually. Use "hdfs dfsadmin -safemode leave" ` +
              `to turn safe mode off. NamenodeHostName:${this.hostName}`,
          );
        }
      },
      checkCategory: (category) => {
        if (!replaying) {
          this.#checkCategory(category);
        }
      },
    };
  }

  #checkCategory(category: Category): void {
    const { state } = this;
    if (category === 'UNCHECKED' || state === 'active' || (state === 'observer' && category === 'READ')) {
      return;
    }
    throw new RemoteException(
      state === 'observer' && category === 'WRITE' ? JAVA.OBSERVER_RETRY : JAVA.STANDBY,
      `Operation category ${category} is not supported in state ${state}. Visit https://s.apache.org/sbnn-error`,
    );
  }
}

/** '' for calls that the retry cache does not know: not @AtMostOnce, or without a client id. */
function retryKeyOf(call: IncomingCall): string {
  const { method, clientId, callId } = call;
  if (!method.atMostOnce || clientId.length === 0) {
    return '';
  }
  if (clientId.length !== CLIENT_ID_BYTES) {
    throw new RemoteException(
      JAVA.ILLEGAL_ARGUMENT,
      `Invalid clientId - length is ${clientId.length} expected length ${CLIENT_ID_BYTES}`,
    );
  }
  return `${clientId.toString('hex')}:${callId}`;
}
