import type { StrategyHandler } from '../../call/strategies/index.ts';
import { NO_TXID } from '../../observer/rules.ts';
import { Figure } from '../../observer/shared/figures.ts';
import { successesOf } from '../answer.ts';
import { compose } from '../composition.ts';
import { everyNameservice } from './nameservices.ts';

const EMPTY = Buffer.alloc(0);
/** A nameservice that takes longer does not hold up the others; its state id is missing in the answer. */
const PATIENCE_MS = 5000;

/**
 * Asks the active NameNodes of all nameservices whose observers serve reads, at once; the answer's header brings the client their state ids.
 * One that does not answer is not in it, not even with what the client had: reads there go on as if it had not asked. Without such nameservices there is nothing to wait for.
 */
export const answerMsync: StrategyHandler = (engine, call) => {
  const { observers } = engine;
  const targets =
    observers === null
      ? []
      : everyNameservice(engine).filter((t) => observers.settings.enabled[t.nameservice] === true);
  for (const { nameservice } of targets) observers?.figures.add(nameservice, Figure.clientMsyncs);
  const [only] = targets;
  if (only === undefined) engine.succeed(call, EMPTY);
  else if (targets.length === 1) engine.forward(call, only.nameservice);
  else {
    compose(engine, call, async (c) => {
      const answers = await c.askAll(c.own, targets, { unansweredMs: PATIENCE_MS });
      successesOf(answers);
      for (const { ok, nameservice } of answers) if (!ok) call.noteState(nameservice, NO_TXID);
      return EMPTY;
    });
  }
};
