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
import type { Namespace } from './namespace.ts';
import type { Administration, Category, HaState, NameNodeView, SafeModeAction, Site } from './operation.ts';
import type { ServedMethod } from './operations.ts';
import type { Caller } from './permission-check.ts';
import { Replica } from './replica.ts';
import { SafeMode } from './safe-mode.ts';
import { Tailing } from './tailing.ts';

const CLIENT_ID_BYTES = 16;
/** What a NameNode whose start has not ended answers as it always does. */
const ANSWERED_WHILE_STARTING: ReadonlySet<string> = new Set([
  'msync',
  'getECTopologyResultForPolicies',
  'getGroupsForUser',
  'refreshUserToGroupsMappings',
  'refreshSuperUserGroupsConfiguration',
]);
/** Of category WRITE, but nothing goes to the journal. */
const WRITES_NO_EDIT: ReadonlySet<string> = new Set(['msync', 'renewLease']);

/** A call as it came out of its frame. */
export type IncomingCall = RpcCall<ServedMethod, Caller>;

/** How a call ended. */
export interface Outcome {
  /** Fields of the response message; null when the call failed. */
  readonly answer: Plain | null;
  readonly exception: RemoteException | null;
  /** False when the answer is that of an earlier execution, or when the call was refused for the NameNode's state. */
  readonly executed: boolean;
  /** There is no answer at all: the connection is closed. */
  readonly isLost: boolean;
}

/** What a NameNode is like after a start. */
export interface Startup {
  /** So many calls are refused because the start has not ended. */
  readonly notStartedCalls: number;
  /** After those so many calls find it in safe mode, without places of blocks. */
  readonly safeModeCalls: number;
}

/** The journal took no edit: a real NameNode dies over it, and its clients get no answer. */
class FencedError extends Error {
  override readonly name = 'FencedError';
}

export class NameNode implements NameNodeView {
  readonly id: string;
  readonly nameservice: Nameservice;
  replica: Replica;
  /** What the NameNode calls itself in texts. */
  readonly hostName: string;
  state: HaState;
  readonly administration: Administration;
  readonly tailing: Tailing;
  /** False: located blocks have no DataNodes. */
  hearsBlockReports = true;
  readonly #safeMode = new SafeMode();
  #fenced = false;
  /** Last transaction that was written, be it to no journal. */
  #writtenTxId = 0;
  #notStartedCalls = 0;

  constructor(id: string, nameservice: Nameservice, state: HaState, hostName: string) {
    this.id = id;
    this.nameservice = nameservice;
    this.state = state;
    this.hostName = hostName;
    this.replica = new Replica(nameservice.options);
    this.tailing = new Tailing(nameservice.options.seed, nameservice.id, id);
    this.administration = {
      checkpointTxId: 0,
      checkpointMs: nameservice.options.createdMs,
      restoresStorage: false,
    };
  }

  get namespace(): Namespace {
    return this.replica.namespace;
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
    return this.state === 'active' ? this.#seenTxId : this.nameservice.journal.lastTxId;
  }
  get safeMode(): boolean {
    return this.#safeMode.isOn;
  }
  get safeModeTip(): string {
    let blocks = 0;
    for (const file of this.namespace.files()) {
      blocks += file.blocks.length;
    }
    return this.#safeMode.tip(blocks);
  }
  get fenced(): boolean {
    return this.#fenced;
  }
  get knowsPlaces(): boolean {
    return this.hearsBlockReports && !this.#safeMode.isStartup;
  }
  /** Last transaction applied or written. */
  get #seenTxId(): number {
    return Math.max(this.namespace.txid, this.#writtenTxId);
  }

  groupsOf(user: string): readonly string[] {
    return this.nameservice.groupsOf(user);
  }

  describeSafeMode(what: string): string {
    return `${what}. Name node is in safe mode.\n${this.safeModeTip} NamenodeHostName:${this.hostName}`;
  }

  setSafeMode(action: SafeModeAction): boolean {
    return this.#safeMode.change(action);
  }

  transition(to: HaState): void {
    this.nameservice.transition(this, to);
  }

  /** Takes a state, in touch with the journal. Transactions that were written to no journal are forgotten. */
  enter(state: HaState): void {
    this.state = state;
    this.#fenced = false;
    this.#writtenTxId = 0;
  }

  /** An active that the journal takes nothing from any more; it has written `unsynced` transactions that nobody else will ever see. */
  fence(unsynced: number): void {
    this.#fenced = true;
    this.#writtenTxId = this.namespace.txid + unsynced;
  }

  beginStartup({ notStartedCalls, safeModeCalls }: Startup): void {
    this.#notStartedCalls = notStartedCalls;
    this.#safeMode.beginStartup(safeModeCalls);
  }

  /** The state id of replies: the last transaction that this NameNode has applied, or written. */
  stateId(nowMs: number): number {
    this.tailEdits(nowMs);
    return this.#seenTxId;
  }

  /** Applies what the journal holds and tailing allows; `all`: whatever tailing says. */
  tailEdits(nowMs: number, all = false): void {
    const { journal } = this.nameservice;
    for (let edit = this.#nextEdit(); edit !== undefined; edit = this.#nextEdit()) {
      if (!all && !this.tailing.isVisible(edit, journal.lastTxId, nowMs)) {
        return;
      }
      this.replay(edit, this.replica);
      this.tailing.onApplied();
    }
  }

  /** After how many milliseconds it may apply an edit, if nothing else happens; Infinity: something else has to happen. */
  msUntilEdit(nowMs: number): number {
    const edit = this.#nextEdit();
    return edit === undefined
      ? Number.POSITIVE_INFINITY
      : this.tailing.msUntilVisible(edit, this.nameservice.journal.lastTxId, nowMs);
  }

  /** The edit that comes next; undefined when there is none, or the NameNode is fenced and follows nobody. */
  #nextEdit(): Edit | undefined {
    return this.#fenced ? undefined : this.nameservice.journal.at(this.replica.position);
  }

  /** Applies the next edit of a replica. */
  replay(edit: Edit, replica: Replica): void {
    replica.apply(edit, this.#site(replica, edit.method, edit.caller, edit.machine, true));
  }

  execute(call: IncomingCall, nowMs: number): Outcome {
    this.tailEdits(nowMs);
    let executed = false;
    try {
      this.#checkStarted(call.method);
      this.#checkCategory(call.method.category, call.method);
      const retryKey = retryKeyOf(call);
      const known = retryKey === '' ? undefined : this.replica.retryCache.find(retryKey, nowMs);
      if (known !== undefined) {
        return { answer: known, exception: null, executed, isLost: false };
      }
      executed = true;
      return { answer: this.#run(call, retryKey, nowMs), exception: null, executed, isLost: false };
    } catch (error) {
      if (error instanceof RemoteException) {
        return { answer: null, exception: error, executed, isLost: false };
      }
      if (error instanceof FencedError) {
        return { answer: null, exception: null, executed: false, isLost: true };
      }
      throw error;
    }
  }

  #run(call: IncomingCall, retryKey: string, nowMs: number): Plain {
    const { namespace, retryCache } = this.replica;
    const { method, request, caller, machine } = call;
    const before = namespace.txid;
    namespace.nowMs = nowMs;
    try {
      const answer = method.run(this.#site(this.replica, method, caller, machine, false), request);
      if (retryKey !== '' && namespace.txid !== before) {
        retryCache.store(retryKey, answer, nowMs);
      }
      return answer;
    } finally {
      if (namespace.txid !== before) {
        const edit = { txid: namespace.txid, method, request, caller, machine, timeMs: nowMs, retryKey };
        this.nameservice.journal.append(edit);
        this.replica.position = this.nameservice.journal.end;
        this.nameservice.onEdit(nowMs);
      }
      this.#safeMode.onCall();
    }
  }

  #site(replica: Replica, method: ServedMethod, caller: Caller, machine: string, replaying: boolean): Site {
    return {
      namespace: replica.namespace,
      namenode: this,
      caller,
      machine,
      settings: this.nameservice.options,
      checkSafeMode: (what) => {
        if (this.safeMode && !replaying) {
          throw this.#safeModeException(what);
        }
      },
      checkCategory: (category) => {
        if (!replaying) {
          this.#checkCategory(category, method);
        }
      },
    };
  }

  /** Clients of an active that is about to be ready are told to come again. */
  #safeModeException(what: string): RemoteException {
    const text = this.describeSafeMode(what);
    return this.state === 'active' && this.#safeMode.isStartup
      ? new RemoteException(JAVA.RETRIABLE, `${JAVA.SAFE_MODE}: ${text}`)
      : new RemoteException(JAVA.SAFE_MODE, text);
  }

  #checkStarted(method: ServedMethod): void {
    if (this.#notStartedCalls > 0 && !ANSWERED_WHILE_STARTING.has(method.name)) {
      this.#notStartedCalls--;
      throw new RemoteException(JAVA.RETRIABLE, 'NameNode still not started');
    }
  }

  #checkCategory(category: Category, method: ServedMethod): void {
    const { state } = this;
    const isRead = category === 'UNCHECKED' || category === 'READ';
    if (this.#fenced && !isRead && !WRITES_NO_EDIT.has(method.name)) {
      throw new FencedError(`${this.nameservice.id} ${this.id} cannot write ${method.name} to the journal`);
    }
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
