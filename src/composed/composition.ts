import { type Call, leave, Place } from '../call/call.ts';
import type { Client } from '../call/client.ts';
import type { Engine } from '../call/engine.ts';
import { Failure } from '../call/failure.ts';
import type { Method } from '../call/method.ts';
import { translateReplyPaths } from '../call/strategies/reply-paths.ts';
import { Counter, MethodCount } from '../shared/counters.ts';
import { decodePlain, encode, messageType, type Plain } from '../wire/messages.ts';
import type { Answer, Failed } from './answer.ts';
import { Part } from './part.ts';
import { Refused } from './refused.ts';
import { otherRequest, ownRequest, type Request, withDerivedId } from './request.ts';
import { routerAsClient } from './router-client.ts';

/** Requests of one composed call that are on their way at one time; the others wait in line. */
export const MAX_PARTS_AT_ONCE = 64;

/** Where a request goes: a nameservice, and what takes the place of the client's paths there (null: they stay). */
export interface Target {
  readonly nameservice: number;
  readonly path: Buffer | null;
  /** Bytes of the mount's own target at the front of `path`. */
  readonly prefixBytes: number;
  readonly path2?: Buffer | null;
  readonly prefix2Bytes?: number;
  /** This NameNode of the nameservice and no other. */
  readonly namenode?: number;
  /** Which of the mount's locations in that nameservice it is, from 0; left out for 0. What the ids of a request depend on. */
  readonly place?: number;
}

/** What a composed call ends with: its response message, or the nameservice that is to answer the client's own request. */
export type Outcome = Buffer | Target;

export interface AskOptions {
  /**
   * After this time a nameservice that could not be reached counts as unavailable. Left out: `dfs.federation.router.client.mount-status.time-out`
   * when others can answer instead, so that a sick nameservice is not felt.
   */
  readonly unreachedMs?: number;
  /** After this time a nameservice that has not answered counts as unavailable, reached or not. Left out: it is waited for. */
  readonly unansweredMs?: number;
  /** In the router's own name, for what the router must know and the client need not be allowed to ask. */
  readonly asRouter?: boolean;
}

/**
 * A call whose answer is made from the answers to several requests. Runs on the worker's thread, but over many events: nothing of the mount
 * snapshot may be kept over an `await` (its memory is used again), only plain data taken from it.
 */
export class Composition {
  readonly engine: Engine;
  readonly call: Call;
  readonly method: Method;
  /** Bytes claimed for requests and answers; given back when the last part has ended. */
  #claimed: number[] = [];
  /** On their way, with somebody waiting for each. */
  readonly #parts = new Set<Call>();
  #lack: Refused | null = null;
  /** Those that wait for one of the parts to end. */
  #line: (() => void)[] = [];
  #done = false;
  /** Several parts were on their way at one time. */
  #isFannedOut = false;
  #own: Request | null = null;
  /** Requests that may change something, by method and target: further ones take ids of their own. */
  readonly #changes = new Map<string, number>();
  /** Nameservices that could not be reached, by how long each was waited for: they are not waited for as long again for every location. */
  readonly #silent = new Map<number, { readonly unreachedMs: number; readonly answer: Failed }>();

  constructor(engine: Engine, call: Call) {
    this.engine = engine;
    this.call = call;
    this.method = call.method as Method;
  }

  /** The client's request, as it goes to each of its targets. */
  get own(): Request {
    if (this.#own === null) {
      this.#claim(this.call.end - this.call.start);
      this.#own = ownRequest(this.call);
    }
    return this.#own;
  }

  /** As `otherRequest`, within the memory limit. */
  other(method: Method, message: object): Request {
    const request = otherRequest(this.call, method, message);
    this.#claim(request.frame.length);
    return request;
  }

  /** The client's request message. Throws Refused when it cannot be read. */
  request(): Plain {
    const { call, method } = this;
    try {
      const { bodyStart, bodyEnd } = call.fields;
      return decodePlain(messageType(method.request), call.frame, call.start + bodyStart, call.start + bodyEnd);
    } catch (error) {
      throw new Refused(Failure.MALFORMED, error instanceof Error ? error.message : String(error));
    }
  }

  /** A response message of a method (the client's own one when left out). */
  read(body: Buffer, method: Method = this.method): Plain {
    try {
      return decodePlain(messageType(method.response), body);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Refused(Failure.IO, `The answer of the NameNode to ${method.name} cannot be read: ${why}`);
    }
  }

  /** Bytes of a response message for the client. */
  write(response: object): Buffer {
    return encode(messageType(this.method.response), response);
  }

  /** Sends one request to one nameservice. Never rejects. */
  async ask(request: Request, target: Target, options: AskOptions = {}): Promise<Answer> {
    const [answer] = await this.askAll(request, [target], options);
    return answer as Answer;
  }

  /** Sends one request to several targets at once; the answers in their order. Never rejects. */
  async askAll(request: Request, targets: readonly Target[], options: AskOptions = {}): Promise<Answer[]> {
    return await this.askEach(
      targets.map((target) => ({ request, target })),
      options,
    );
  }

  /** Sends requests to a target each, at most MAX_PARTS_AT_ONCE at one time; the answers in their order. Never rejects. */
  async askEach(
    asked: readonly { readonly request: Request; readonly target: Target }[],
    options: AskOptions = {},
  ): Promise<Answer[]> {
    const answers: Answer[] = new Array<Answer>(asked.length);
    let next = 0;
    const askNext = async (): Promise<void> => {
      while (next < asked.length) {
        const at = next++;
        const { request, target } = asked[at] as (typeof asked)[number];
        answers[at] = await this.#sendInLine(request, target, options);
      }
    };
    await Promise.all(Array.from({ length: Math.min(MAX_PARTS_AT_ONCE, asked.length) }, askNext));
    return answers;
  }

  /**
   * A read for one of whose answers there was no memory: what the others make would be taken for the answer of nameservices that are all there.
   * Null for writes: what has been done stays done.
   */
  get lack(): Refused | null {
    return this.#lack;
  }

  /** The client's request goes to the target under the client's own ids, in a part and on the byte path alike. */
  hasOwnIds({ place = 0 }: Target): boolean {
    return this.method.retry !== 'AtMostOnce' || place === 0;
  }

  /** Ends the call; `parts` that are still on their way end by themselves. */
  finish(end: () => void): void {
    const { engine, call } = this;
    leave(call, Place.COMPOSING);
    try {
      end();
    } catch (error) {
      // In any other place it has been answered, or somebody is going to.
      if (call.place === Place.RESOLVING) engine.breakOff(call, error);
      else engine.noteBroken(call, error);
    }
    this.#done = true;
    // The call may be another's by now: what they bring is not for it.
    for (const part of this.#parts) part.whole = null;
    for (const wake of this.#line.splice(0)) wake();
    this.#release();
    engine.flushSoon();
  }

  /** Whoever asks in this call, at most MAX_PARTS_AT_ONCE are on their way. */
  async #sendInLine(request: Request, target: Target, options: AskOptions): Promise<Answer> {
    while (this.#parts.size >= MAX_PARTS_AT_ONCE && !this.#done) {
      await new Promise<void>((resolve) => this.#line.push(resolve));
    }
    return await this.#send(request, target, options);
  }

  #send(request: Request, target: Target, options: AskOptions): Promise<Answer> {
    const { engine, call } = this;
    const { nameservice } = target;
    if (this.#done) {
      // The call may be another's by now: what still stood in line is not sent.
      const refused = new Refused(Failure.IO, 'The call was answered without this part of it');
      return Promise.resolve({ ok: false, nameservice, refused, unavailable: true });
    }
    if (nameservice >= engine.topology.nameservices.length) {
      const refused = new Refused(Failure.IO, describeUnregistered(engine, call, nameservice));
      return Promise.resolve({ ok: false, nameservice, refused, unavailable: true });
    }
    engine.clock.tick();
    const untilMs = call.startedMs + engine.settings.callBudgetMs;
    if (engine.clock.nowMs >= untilMs) {
      const message = `${request.method.name} was not sent to ${engine.nameserviceName(nameservice)}: the call has taken ${engine.settings.callBudgetMs} ms`;
      const refused = new Refused(Failure.STANDBY, message);
      return Promise.resolve({ ok: false, nameservice, refused, unavailable: true });
    }
    const unreachedMs = options.unreachedMs ?? engine.settings.mountStatusTimeoutMs;
    const silent = target.namenode === undefined ? this.#silent.get(nameservice) : undefined;
    if (silent !== undefined && unreachedMs <= silent.unreachedMs) return Promise.resolve(silent.answer);
    return new Promise((resolve) => {
      const limits = {
        unreachedMs,
        untilMs: Math.min(untilMs, engine.clock.nowMs + (options.unansweredMs ?? Number.POSITIVE_INFINITY)),
      };
      const part = new Part(engine, nameservice, limits, (answer) => {
        this.#parts.delete(sent);
        if (!answer.ok && answer.unavailable && answer.uncertain !== true && target.namenode === undefined) {
          this.#silent.set(nameservice, { unreachedMs, answer });
        }
        this.#line.shift()?.();
        resolve(answer.ok && !this.#tryClaim(answer.body.length) ? this.#overloaded(nameservice) : answer);
        this.#release();
      });
      const { method, frame, fields } = this.#withId(request, target);
      const sent = engine.makePart(call, 0, fields, frame, method);
      sent.path = target.path;
      sent.pathPrefixBytes = target.prefixBytes;
      sent.path2 = target.path2 ?? null;
      sent.path2PrefixBytes = target.prefix2Bytes ?? 0;
      sent.onlyNamenode = target.namenode ?? -1;
      if (options.asRouter === true) sent.client = routerAsClient(engine, call.client as Client);
      sent.composer = part;
      if (this.#parts.size > 0 && !this.#isFannedOut) {
        this.#isFannedOut = true;
        engine.counters.add(MethodCount.fanOuts + method.index);
      }
      this.#parts.add(sent);
      engine.counters.add(Counter.partsSent);
      part.send(sent);
      engine.flushSoon();
    });
  }

  /**
   * The client's own ids for its own method at the first of the mount's locations in a nameservice. Everything else gets ids that come from
   * what it is, not from when it is sent: a repeated call is to meet the same ones in each retry cache, whatever has been done before.
   */
  #withId(request: Request, target: Target): Request {
    const { method } = request;
    if (method.retry !== 'AtMostOnce') return request;
    const { nameservice, path, place = 0 } = target;
    const key = `${method.index} ${nameservice} ${place} ${path === null ? '' : path.toString('latin1')}`;
    const before = this.#changes.get(key) ?? 0;
    this.#changes.set(key, before + 1);
    return before === 0 && place === 0 && method === this.method ? request : withDerivedId(request, before, path);
  }

  #claim(bytes: number): void {
    if (!this.#tryClaim(bytes)) throw this.#noMemory();
  }

  #tryClaim(bytes: number): boolean {
    if (!this.engine.budget.claim(bytes)) return false;
    this.#claimed.push(bytes);
    return true;
  }

  #noMemory(): Refused {
    return new Refused(Failure.STANDBY, `Router ${this.engine.settings.routerId} is overloaded: no memory`);
  }

  #overloaded(nameservice: number): Answer {
    const refused = this.#noMemory();
    if (this.method.effect === 'read') this.#lack ??= refused;
    return { ok: false, nameservice, refused, unavailable: true };
  }

  #release(): void {
    if (!this.#done || this.#parts.size > 0) return;
    for (const bytes of this.#claimed) this.engine.budget.release(bytes);
    this.#claimed = [];
  }
}

/**
 * Takes a call out of the engine's hands until `run` has its outcome. What `run` throws ends the call: Refused with that exception, anything
 * else as a defect, which is noted.
 */
export function compose(engine: Engine, call: Call, run: (composition: Composition) => Promise<Outcome>): void {
  const composition = new Composition(engine, call);
  call.place = Place.COMPOSING;
  run(composition)
    .then(
      (outcome) =>
        composition.finish(() => {
          engine.clock.tick();
          const { lack } = composition;
          if (lack !== null) engine.refuse(call, lack.className, lack.message, lack.detail);
          else if (Buffer.isBuffer(outcome)) engine.succeed(call, outcome);
          else forwardTo(engine, call, outcome);
        }),
      (error: unknown) =>
        composition.finish(() => {
          if (error instanceof Refused) engine.refuse(call, error.className, error.message, error.detail);
          else engine.breakOff(call, error);
        }),
    )
    // A defect in how calls end: the thread and the calls of others go on.
    .catch((error: unknown) => engine.noteBroken(call, error));
}

/** Numbers of nameservices behind those of the topology are good for one mount table. */
function describeUnregistered(engine: Engine, call: Call, nameservice: number): string {
  const { snapshot } = engine.resolver;
  const isKnown = snapshot !== null && snapshot.epoch === call.epoch && nameservice < snapshot.nameserviceCount;
  const name = isKnown ? snapshot.nameserviceName(nameservice) : 'a nameservice of the mount table before';
  return `Cannot locate a registered namenode for ${name} from ${engine.settings.routerId}`;
}

function forwardTo(engine: Engine, call: Call, target: Target): void {
  if (target.nameservice >= engine.topology.nameservices.length) {
    engine.fail(call, Failure.IO, describeUnregistered(engine, call, target.nameservice));
    return;
  }
  call.byPath = true;
  call.path = target.path;
  call.pathPrefixBytes = target.prefixBytes;
  call.path2 = target.path2 ?? null;
  call.path2PrefixBytes = target.prefix2Bytes ?? 0;
  const { replyPaths } = call.method as Method;
  if (call.composer === null && call.path !== null && replyPaths.length > 0) translateReplyPaths(engine, call);
  engine.forward(call, target.nameservice);
}
