import type { NameNode } from '../namenode/namenode.ts';
import { NameNodeState } from '../shared/control-block.ts';
import { type Call, CallQueue, leave, Place } from './call.ts';
import { Deadline } from './deadline.ts';
import type { Engine } from './engine.ts';
import { Failure } from './failure.ts';
import type { Method } from './method.ts';

/** NameNodes that may end, or end their connections, while they treat one call alone; then the call counts as the reason. */
export const MAX_LOST_ALONE = 2;
/** How long another NameNode is waited for that says it is the active one, and how often all are asked meanwhile. */
const SUCCESSOR_WITHIN_MS = 3000;
const ASK_AGAIN_MS = 500;

/**
 * Calls that were alone on their connection when the NameNode ended it without an answer. Either the call is the reason, and goes nowhere
 * else; or the NameNode is: it has ended, or it has lost the journal to another one and does not know. All NameNodes of the nameservice are
 * asked for their state, which executes nothing:
 *
 *   the NameNode is silent, or says it is not active  the next one gets the call
 *   another one says that it is active                that one gets the call, alone
 *   the NameNode has changed something since          the call is the reason
 *   none of it, for `SUCCESSOR_WITHIN_MS`             the call is the reason
 *
 * So a call can end two NameNodes at the most. One question at a time for each nameservice, whatever the number of calls.
 */
export class LostAlone {
  readonly #engine: Engine;
  readonly #questions: readonly Question[];

  constructor(engine: Engine, nameservices: number) {
    this.#engine = engine;
    this.#questions = Array.from({ length: nameservices }, (_, n) => new Question(() => this.#ask(n)));
  }

  /** Takes the call: it goes on or ends when the NameNodes have answered. */
  take(call: Call): void {
    if (call.lostAlone++ === 0) call.lostAloneMs = this.#engine.clock.nowMs;
    const question = this.#questions[call.nameservice] as Question;
    this.#engine.admission.stepAside(call);
    call.place = Place.PROBING;
    question.next.push(call);
    // An answer that was on its way before the connection ended says nothing about the end.
    if (question.unanswered === 0 && question.again.wheelSlot < 0) this.#ask(call.nameservice);
  }

  #ask(nameservice: number): void {
    const question = this.#questions[nameservice] as Question;
    const { pool } = this.#engine;
    const namenodes = pool.namenodes[nameservice] as readonly NameNode[];
    question.asked = question.next;
    question.next = new CallQueue();
    question.unanswered = namenodes.length;
    namenodes.forEach((namenode, i) => {
      pool.probe(namenode, (state) => {
        question.states[i] = state;
        const { nowMs } = this.#engine.clock;
        if (state === null && !namenode.isAlive(nowMs, this.#engine.settings.connectTimeoutMs))
          pool.noteSilent(namenode, `${namenode.address} does not say its state`);
        if (--question.unanswered === 0) this.#settle(nameservice, question);
      });
    });
  }

  #settle(nameservice: number, question: Question): void {
    const { asked, next, states } = question;
    const hasNew = next.length > 0;
    for (let call = asked.shift(); call !== null; call = asked.shift()) this.#decide(call, states, next);
    if (hasNew) this.#ask(nameservice);
    else if (next.length > 0) this.#engine.wheel.add(question.again, ASK_AGAIN_MS);
  }

  #decide(call: Call, states: readonly (number | null)[], again: CallQueue): void {
    const { attempts, block, clock, pool } = this.#engine;
    const { nameservice, namenode } = call;
    leave(call, Place.PROBING);
    const own = states[namenode] as number | null;
    if (call.lostAlone >= MAX_LOST_ALONE) {
      this.#fail(call);
      return;
    }
    if (own === null || own === NameNodeState.STANDBY || own === NameNodeState.OBSERVER) {
      block.clearActive(nameservice, namenode);
      block.proveState(nameservice, namenode, own ?? NameNodeState.UNAVAILABLE);
      call.suspect = false;
      attempts.goOn(call);
      return;
    }
    const successor = states.findIndex((state, i) => i !== namenode && state === NameNodeState.ACTIVE);
    if (successor >= 0 && call.onlyNamenode < 0) {
      block.clearActive(nameservice, namenode);
      block.proveState(nameservice, namenode, NameNodeState.UNKNOWN);
      block.proveState(nameservice, successor, NameNodeState.ACTIVE);
      call.suspect = true;
      call.tried = 1 << namenode;
      attempts.goOn(call);
      return;
    }
    const { provedMs } = (pool.namenodes[nameservice] as readonly NameNode[])[namenode] as NameNode;
    const mayFailOver = states.length > 1 && call.onlyNamenode < 0 && provedMs <= call.lostAloneMs;
    if (!mayFailOver || clock.nowMs - call.lostAloneMs + ASK_AGAIN_MS > SUCCESSOR_WITHIN_MS) {
      this.#fail(call);
      return;
    }
    call.place = Place.PROBING;
    again.push(call);
  }

  #fail(call: Call): void {
    this.#engine.fail(
      call,
      Failure.IO,
      `The connection that carried ${(call.method as Method).name} alone ended without an answer (${call.lastTrouble}); the call is not sent again`,
    );
  }
}

/** What the NameNodes of one nameservice are asked. */
class Question {
  /** Calls that it was asked for, and those that have come since or ask again. */
  asked = new CallQueue();
  next = new CallQueue();
  unanswered = 0;
  /** What each NameNode said, null for nothing. */
  readonly states: (number | null)[] = [];
  readonly again: Deadline;

  constructor(ask: () => void) {
    this.again = new Deadline(ask);
  }
}
