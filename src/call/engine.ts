import { Admission } from '../admission/admission.ts';
import { type AdmissionWords, createAdmissionMemory, openAdmissionMemory } from '../admission/shared/memory.ts';
import type { AcceptorLink, CallFields, ClientIdentity, WorkerSide } from '../handoff/link.ts';
import { NO_FIGURES, type OrderFigures } from '../mount/order/figures.ts';
import type { QuotaUsage } from '../mount/quota.ts';
import { NameNodeConnection } from '../namenode/connection.ts';
import { type CallOwner, NameNodePool } from '../namenode/pool.ts';
import { ObserverReads } from '../observer/observer-reads.ts';
import type { ObserverWords } from '../observer/shared/memory.ts';
import { StateField } from '../observer/state-field.ts';
import { SharedBudget } from '../shared/byte-budget.ts';
import { Clock } from '../shared/clock.ts';
import { ControlBlock, NameNodeState, SafeModeLevel } from '../shared/control-block.ts';
import { Counter, type Counters, MethodCount } from '../shared/counters.ts';
import type { AdmissionSettings, Settings, Topology } from '../shared/settings.ts';
import { TimerWheel, type WheelEntry } from '../shared/timer-wheel.ts';
import { copyBlock, LastBlock } from '../wire/block.ts';
import { NameIndex } from '../wire/name-index.ts';
import { Status } from '../wire/reply-head.ts';
import type { ReplyScan } from '../wire/reply-scan.ts';
import type { RequestSplice } from '../wire/splice.ts';
import { textOf } from '../wire/text.ts';
import { Answers } from './answer.ts';
import { Attempts } from './attempts.ts';
import { Call, CallPool, type Composer, copyFields, Place, SLAB_BYTES } from './call.ts';
import { Client } from './client.ts';
import { Deadline } from './deadline.ts';
import { detailOf, Failure, READ_ONLY } from './failure.ts';
import type { Method } from './method.ts';
import { METHODS } from './methods.ts';
import { Outgoing } from './outgoing.ts';
import { Resolver } from './resolve.ts';
import { handlerOf, type StrategyHandler } from './strategies/index.ts';

/** Calls in a worker that belong to one nameservice, queued and in flight; beyond it they are answered with StandbyException. */
export const MAX_CALLS_PER_NAMESERVICE = 32_768;
/** Lines for the log; what is beyond is left out. */
const MAX_NOTES_PER_SECOND = 5;
const WHEEL_TICK_MS = 20;
const UNFIT = [
  'org.apache.hadoop.ipc.StandbyException',
  'org.apache.hadoop.ipc.ObserverRetryOnActiveException',
  'org.apache.hadoop.ipc.RetriableException',
] as const;
const NOT_STARTED = Buffer.from('NameNode still not started');
/** A StandbyException of observers. */
const WITHOUT_STATE_ID = Buffer.from('Observer Node received request without stateId');

/**
 * The life of a call in a worker: taken from the acceptor, resolved, given to a NameNode, answered. All of it runs on the worker's thread,
 * in the event that drives it; the places a call can be in stand in call.ts.
 */
export class Engine implements WorkerSide, CallOwner {
  readonly settings: Settings;
  readonly topology: Topology;
  readonly clock = new Clock();
  readonly wheel: TimerWheel;
  readonly block: ControlBlock;
  readonly counters: Counters;
  readonly budget: SharedBudget;
  readonly pool: NameNodePool;
  readonly resolver: Resolver;
  readonly attempts: Attempts;
  readonly answers: Answers;
  /** Null when no nameservice takes part in reads from observers. */
  readonly observers: ObserverReads | null;
  /** Who goes to a nameservice, and when. */
  readonly admission: Admission;
  readonly calls = new CallPool();
  /** Nameservice of each block pool id, learned from NameNodes by the main thread. */
  readonly blockPools = new Map<string, number>();
  /** What the orders LOCAL and SPACE go by. */
  figures: OrderFigures = NO_FIGURES;
  readonly nameserviceBytes: readonly Buffer[];
  readonly #handlers: readonly StrategyHandler[];
  /** By acceptor and connection. */
  readonly #clients: (Client | null)[][] = [];
  readonly #links: AcceptorLink[] = [];
  readonly #counts: Int32Array;
  readonly #unfit = new NameIndex(UNFIT);
  readonly #outgoing: Outgoing;
  /** What calls lie in when they are handed over. */
  readonly #received = new LastBlock();
  readonly #note: (text: string) => void;
  #notes = 0;
  #notesSinceMs = 0;
  #flushAsked = false;
  /** Clock and safe mode were read since the last flush. */
  #clockIsFresh = false;
  /** A SafeModeLevel. */
  #safeMode: number = SafeModeLevel.OFF;

  /** `note` writes a line to the log of the process. */
  constructor(
    settings: Settings,
    topology: Topology,
    control: SharedArrayBuffer,
    counters: Counters,
    note: (text: string) => void = () => {},
    observers: ObserverWords | null = null,
    admission: AdmissionWords = openAdmissionMemory(createAdmissionMemory(topology, 1, 1), topology, 0),
  ) {
    this.settings = settings;
    this.#note = note;
    this.topology = topology;
    const nameservices = topology.nameservices.length;
    this.block = new ControlBlock(control, nameservices);
    this.counters = counters;
    this.budget = new SharedBudget(this.block, counters, settings.memoryBytes);
    this.wheel = new TimerWheel(this.clock, WHEEL_TICK_MS, (entry) => this.#onDue(entry));
    this.pool = new NameNodePool(settings, topology, this.clock, this.wheel, this.budget, counters, this);
    this.resolver = new Resolver(settings, topology, this.block);
    this.#counts = new Int32Array(nameservices);
    this.attempts = new Attempts(this, nameservices);
    this.nameserviceBytes = topology.nameservices.map((nameservice) => Buffer.from(nameservice.id));
    this.#outgoing = new Outgoing(settings);
    this.#handlers = METHODS.map(handlerOf);
    this.observers =
      observers === null ? null : new ObserverReads(this, settings.observers, observers.state, observers.figures);
    this.admission = new Admission(this, settings.admission, admission);
    this.answers = new Answers(this.observers === null ? null : new StateField(this.observers, topology));
  }

  // --- from the acceptor

  addLink(link: AcceptorLink): void {
    this.#links.push(link);
    this.#clients[link.acceptor] = [];
  }

  /** The acceptor's thread is gone: so are its clients. */
  removeLink(link: AcceptorLink): void {
    const clients = this.#clients[link.acceptor] ?? [];
    for (const client of clients) if (client !== null && client !== undefined) this.#leave(client);
    this.#clients[link.acceptor] = [];
    this.#links.splice(this.#links.indexOf(link), 1);
    this.answers.forget(link);
    // NameNodes' replies that waited behind those of its clients.
    this.pool.resumeHeld();
    this.flushSoon();
  }

  onOpen(link: AcceptorLink, connection: number, generation: number, identity: ClientIdentity): void {
    const user = this.pool.userOf(identity.user);
    user.clients++;
    (this.#clients[link.acceptor] as (Client | null)[])[connection] = new Client(
      link,
      connection,
      generation,
      identity,
      user,
    );
  }

  onClose(link: AcceptorLink, connection: number, generation: number): void {
    const clients = this.#clients[link.acceptor] as (Client | null)[];
    const client = clients[connection];
    if (client === null || client === undefined || client.generation !== generation) return;
    clients[connection] = null;
    this.#leave(client);
  }

  onCall(link: AcceptorLink, fields: CallFields, frame: Buffer, start: number, end: number, owned: boolean): void {
    const client = (this.#clients[link.acceptor] as (Client | null)[])[fields.connection];
    if (!this.#clockIsFresh) {
      // Nothing else reads the clock while no NameNode is connected.
      this.#clockIsFresh = true;
      this.clock.tick();
      this.#safeMode = this.block.safeMode;
    }
    const call = this.calls.take();
    copyFields(fields, call.fields);
    call.startedMs = this.clock.nowMs;
    call.method = METHODS[fields.method] as Method;
    call.epoch = this.resolver.epoch;
    if (client === null || client === undefined || client.generation !== fields.generation) {
      // Its close record came first: nobody waits for an answer any more.
      this.calls.give(call);
      this.answers.dropAt(link, fields.connection, fields.generation, fields.slot);
      return;
    }
    call.client = client;
    if (call.method.effect === 'write') this.admission.coalescing.noteWrite(client);
    this.counters.add(MethodCount.calls + fields.method);
    const length = end - start;
    if (length <= SLAB_BYTES) {
      const block = this.#received.of(frame);
      call.frame = call.slab.bytes;
      call.start = call.slabStart;
      if (block === null) frame.copy(call.frame, call.start, start, end);
      else copyBlock(call.slab, call.start, block, start, end);
    } else {
      if (!this.budget.claim(length)) {
        call.frame = frame;
        call.start = start;
        call.end = end;
        this.overloaded(call);
        return;
      }
      call.claimedBytes = length;
      if (owned) {
        call.frame = frame;
        call.start = start;
      } else {
        call.frame = Buffer.allocUnsafeSlow(length);
        call.start = 0;
        frame.copy(call.frame, 0, start, end);
      }
    }
    call.end = call.start + length;
    if (this.#safeMode !== SafeModeLevel.OFF && this.#isStopped(call)) return;
    this.handle(call);
  }

  onReplySpace(link: AcceptorLink): void {
    this.clock.tick();
    this.answers.resume(link);
    this.pool.resumeHeld();
    this.flushSoon();
  }

  onDrained(): void {
    this.flush();
  }

  // --- the way to a NameNode

  /** The method's strategy takes the call. An error in it ends this call, not the thread and the calls of others. */
  handle(call: Call): void {
    try {
      (this.#handlers[call.fields.method] as StrategyHandler)(this, call);
    } catch (error) {
      this.noteBroken(call, error);
      // In any other place it has been answered, or somebody is going to.
      if (call.place === Place.RESOLVING) this.fail(call, Failure.IO, describeBroken(call, error));
    }
  }

  /** The strategies' last step: the call goes to this nameservice. */
  forward(call: Call, nameservice: number): void {
    this.assign(call, nameservice);
    if ((this.#counts[nameservice] as number) > MAX_CALLS_PER_NAMESERVICE) {
      this.overloaded(call);
      return;
    }
    const bytes = this.#outgoing.excessiveBytes(call);
    if (bytes > 0) {
      // The NameNode would close the connection, with the calls of others on it.
      this.fail(
        call,
        Failure.RPC_SERVER,
        `${(call.method as Method).name} would be a request of ${bytes} bytes with what the router adds, the limit is ${this.settings.maxRequestBytes} (ipc.maximum.data.length)`,
      );
      return;
    }
    this.counters.add(Counter.callsForwarded);
    this.enter(call);
  }

  /** The call has its nameservice: it goes to a NameNode as soon as it is let through. */
  enter(call: Call): void {
    if (this.admission.admits(call)) this.attempts.route(call);
  }

  /** A part of a composed call: the same client, a frame and an answer of its own. `frame` holds one request without its length prefix. */
  makePart(
    whole: Call,
    part: number,
    fields: CallFields,
    frame: Buffer,
    method: Method = whole.method as Method,
  ): Call {
    const call = this.calls.take();
    copyFields(fields, call.fields);
    call.fields.connection = whole.fields.connection;
    call.fields.generation = whole.fields.generation;
    call.fields.slot = whole.fields.slot;
    call.fields.method = method.index;
    call.client = whole.client;
    call.method = method;
    call.part = part;
    call.whole = whole;
    call.ofActive = !(whole.method as Method).coordinated;
    call.startedMs = whole.startedMs;
    call.level = whole.level;
    call.frame = frame;
    call.start = 0;
    call.end = frame.length;
    return call;
  }

  /** Ends a call with an exception of the router's own. */
  fail(call: Call, className: string, message: string): void {
    this.refuse(call, className, message, detailOf(className));
  }

  /** As `fail`, with the detail (a value of RpcErrorCodeProto) that goes with it: the exception may be a NameNode's. */
  refuse(call: Call, className: string, message: string, detail: number): void {
    const composer = call.composer;
    if (composer !== null) composer.onFailure(call, className, message);
    else {
      if (className === Failure.NO_RESOLUTION || className === Failure.NO_LOCATION) {
        this.counters.add(Counter.callsUnresolved);
      } else if (className === Failure.IO && message.endsWith(READ_ONLY)) this.counters.add(Counter.callsReadOnly);
      this.answers.fail(call, className, message, detail);
    }
    this.free(call);
  }

  /** Ends a call that finds no room, as a Java server does; `fatal`: and its connection with it. */
  refuseBusy(call: Call, className: string, message: string, fatal: boolean): void {
    this.answers.failBusy(call, className, message, fatal);
    this.free(call);
  }

  /** Ends a call that met a defect of the router. */
  breakOff(call: Call, error: unknown): void {
    this.noteBroken(call, error);
    this.fail(call, Failure.IO, describeBroken(call, error));
  }

  /** Ends a call with an answer of the router's own: an encoded response message. */
  succeed(call: Call, body: Buffer): void {
    this.answers.succeed(call, body);
    this.free(call);
  }

  /** The call has been answered. */
  free(call: Call): void {
    if (call.caller !== null) this.admission.settle(call);
    this.assign(call, -1);
    if (call.claimedBytes > 0) {
      this.budget.release(call.claimedBytes);
      call.claimedBytes = 0;
    }
    this.calls.give(call);
  }

  /** What is used under mount points with limits; new figures are a new object. */
  set quotaUsage(usage: QuotaUsage) {
    this.resolver.quotas.usage = usage;
  }

  /** Other settings of admission, for all calls from here on and those that wait. */
  refreshAdmission(settings: AdmissionSettings): void {
    this.admission.refresh(settings);
    this.flushSoon();
  }

  nameserviceName(nameservice: number): string {
    return this.topology.nameservices[nameservice]?.id ?? `#${nameservice}`;
  }

  // --- from the NameNode connections

  prepareSplice(call: Call): RequestSplice {
    call.sentMs = this.clock.nowMs;
    this.counters.add(MethodCount.requests + call.fields.method);
    if (this.observers !== null) this.observers.onWritten(call);
    return this.#outgoing.prepare(call);
  }

  onReleased(call: Call): void {
    if (this.observers !== null) this.observers.onReleased(call);
  }

  onReply(call: Call, scan: ReplyScan, buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    if (this.answers.holds(call)) return false;
    this.admission.onAnswer(call, scan.status);
    if (scan.status === Status.SUCCESS) {
      if (!scan.hasStateId && this.attempts.isByObserver(call)) {
        this.#release(call);
        this.attempts.onUnfit(call, NameNodeState.OBSERVER);
        return true;
      }
      if (this.observers !== null && !this.observers.onSuccess(call, scan)) {
        this.#release(call);
        this.observers.goOn(call);
        return true;
      }
      const composer = call.composer;
      if (composer !== null) {
        this.attempts.prove(call);
        this.#release(call);
        this.#compose(composer, call, scan, buffer, start, end);
      } else {
        const method = call.method as Method;
        if (call.followers !== null) this.admission.coalescing.succeed(call, scan, buffer, end);
        if (method.namespaceIn === '') {
          this.answers.passSuccess(call, scan, buffer, start, end, owned);
        } else {
          const field = method.namespaceIn === 'fs' ? 1 : 2;
          this.answers.passWithNamespace(
            call,
            scan,
            buffer,
            end,
            field,
            this.nameserviceBytes[call.nameservice] as Buffer,
          );
        }
        this.attempts.prove(call);
        this.#release(call);
      }
      this.free(call);
      return true;
    }
    const unfit = this.#unfit.find(buffer, scan.classStart, scan.classEnd);
    if (this.observers !== null && !this.observers.onError(call, unfit, scan, buffer)) {
      this.#release(call);
      this.observers.goOn(call);
      return true;
    }
    if (unfit >= 0 && (unfit < 2 || startsWith(NOT_STARTED, buffer, scan.messageStart, scan.messageEnd))) {
      this.#release(call);
      const isObserver = unfit === 1 || startsWith(WITHOUT_STATE_ID, buffer, scan.messageStart, scan.messageEnd);
      this.attempts.onUnfit(call, isObserver ? NameNodeState.OBSERVER : NameNodeState.STANDBY);
      return true;
    }
    if (call.composer !== null) {
      this.#release(call);
      this.#compose(call.composer, call, scan, buffer, start, end);
    } else {
      this.#release(call);
      if (call.followers !== null) this.admission.coalescing.fail(call, scan, buffer);
      this.answers.passError(call, scan, buffer);
    }
    this.free(call);
    return true;
  }

  noteBroken(call: Call, error: unknown): void {
    this.counters.add(Counter.callsBroken);
    this.note(`${describeBroken(call, error)}${error instanceof Error ? `\n${error.stack}` : ''}`);
  }

  /** As with handlers, an error in a composer ends its call alone. */
  #compose(composer: Composer, call: Call, scan: ReplyScan, buffer: Buffer, start: number, end: number): void {
    try {
      composer.onReply(call, scan, buffer, start, end);
    } catch (error) {
      this.noteBroken(call, error);
      composer.onFailure(call, Failure.IO, describeBroken(call, error));
    }
  }

  errorOf(scan: ReplyScan, buffer: Buffer): { className: string; message: string } {
    return {
      className: textOf(buffer, scan.classStart, scan.classEnd) || Failure.IO,
      message: textOf(buffer, scan.messageStart, scan.messageEnd),
    };
  }

  describeError(scan: ReplyScan, buffer: Buffer): string {
    const { className, message } = this.errorOf(scan, buffer);
    return `${className}: ${message.split('\n', 1)[0] ?? ''}`;
  }

  flushSoon(): void {
    if (this.#flushAsked) return;
    this.#flushAsked = true;
    setImmediate(this.#flushLater);
  }

  /** A line for the log; only a few a second. */
  note(text: string): void {
    const now = this.clock.nowMs;
    if (now - this.#notesSinceMs > 1000) {
      this.#notesSinceMs = now;
      this.#notes = 0;
    }
    if (++this.#notes <= MAX_NOTES_PER_SECOND) this.#note(text);
  }

  /** End of the turn: NameNode sockets and reply rings, one write and one bell each. */
  flush(): void {
    this.#clockIsFresh = false;
    this.admission.pump();
    this.pool.flush();
    for (let i = 0; i < this.#links.length; i++) (this.#links[i] as AcceptorLink).flush();
  }

  close(): void {
    this.pool.close();
    this.wheel.close();
  }

  readonly #flushLater = (): void => {
    this.#flushAsked = false;
    this.flush();
  };

  #onDue(entry: WheelEntry): void {
    this.flushSoon();
    if (entry instanceof Call) this.attempts.wake(entry);
    else if (entry instanceof NameNodeConnection || entry instanceof Deadline) entry.onDue();
    else if (entry === this.pool.sweep) {
      this.pool.onSweep();
      this.attempts.lookForActives();
      this.admission.onSweep();
    }
  }

  #release(call: Call): void {
    if (call.connection !== null) call.connection.release(call);
  }

  /** Counts the call to this nameservice, -1 for none. */
  assign(call: Call, nameservice: number): void {
    if (call.gate !== null) this.admission.onLeft(call);
    if (call.followers !== null) this.admission.onLeaderLeft(call);
    if (call.nameservice >= 0) this.#counts[call.nameservice] = (this.#counts[call.nameservice] as number) - 1;
    call.nameservice = nameservice;
    call.leavesObservers = false;
    call.observersTried = 0;
    call.refreshWaits = 0;
    call.olderFrom = -1;
    call.olderTxid = -1;
    call.takesOlder = false;
    if (nameservice >= 0) this.#counts[nameservice] = (this.#counts[nameservice] as number) + 1;
  }

  /** In safe mode: whether it stops this call, which is then answered so that its client tries another router. */
  #isStopped(call: Call): boolean {
    const { category } = call.method as Method;
    if (category !== 'WRITE' && !(category === 'READ' && this.#safeMode === SafeModeLevel.READS_TOO)) return false;
    this.counters.add(Counter.callsRefused);
    this.counters.add(Counter.callsInSafeMode);
    const message = `Router ${this.settings.routerId} is in safe mode and cannot handle ${category} requests`;
    this.fail(call, Failure.STANDBY, message);
    return true;
  }

  /** Ends a call for which there is no room. */
  overloaded(call: Call): void {
    const where = call.nameservice < 0 ? '' : ` for NS: ${this.nameserviceName(call.nameservice)}`;
    this.fail(call, Failure.STANDBY, `Router ${this.settings.routerId} is overloaded${where}`);
  }

  #leave(client: Client): void {
    client.gone = true;
    this.pool.leave(client.user);
  }
}

/** For the client, who passes it on: the text is all that is known of the error. */
function describeBroken(call: Call, error: unknown): string {
  return `${(call.method as Method).name} failed inside the router: ${error instanceof Error ? error.message : error}`;
}

function startsWith(text: Buffer, buffer: Buffer, start: number, end: number): boolean {
  return end - start >= text.length && buffer.compare(text, 0, text.length, start, start + text.length) === 0;
}
