import { Counter } from '../../shared/counters.ts';
import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';
import { OwnReply } from '../own-reply.ts';

/** The answer of getServerDefaults, kept for all clients as the Java Router keeps it (`dfs.client.server-defaults.validity.period.ms`). */
interface KeptDefaults {
  readonly body: Buffer;
  readonly untilMs: number;
}

const kept = new WeakMap<Engine, KeptDefaults>();

/** getServerDefaults: every file that is written begins with it, so a nameservice that is slow or down must not hold up the others' writers. */
export function answerServerDefaults(engine: Engine, call: Call): void {
  const known = kept.get(engine);
  if (known !== undefined && engine.clock.nowMs < known.untilMs) {
    engine.counters.add(Counter.callsLocal);
    engine.succeed(call, known.body);
    return;
  }
  call.composer = new KeptReply(engine);
  answerAnyNameservice(engine, call);
}

class KeptReply extends OwnReply {
  protected change(_call: Call, buffer: Buffer, start: number, end: number): Buffer {
    const body = Buffer.from(buffer.subarray(start, end));
    kept.set(this.engine, { body, untilMs: this.engine.clock.nowMs + this.engine.settings.serverDefaultsMs });
    return body;
  }
}

/**
 * Answered alike by every nameservice: by the default one, and while that has no NameNode to answer by the others in order of their names.
 * A nameservice without NameNodes (one that only a mount point names) is not asked.
 */
export function answerAnyNameservice(engine: Engine, call: Call): void {
  const { block } = engine;
  let order = orderOf(engine);
  if (block.anyDisabled) order = order.filter((nameservice) => !block.isDisabled(nameservice));
  const first = order[0];
  if (first === undefined) {
    engine.fail(call, Failure.IO, 'No namespace available.');
    return;
  }
  call.alternatives = order;
  engine.forward(call, first);
}

const orders = new WeakMap<Engine, readonly number[]>();

function orderOf(engine: Engine): readonly number[] {
  let order = orders.get(engine);
  if (order === undefined) {
    const preferred = engine.settings.defaultNameservice;
    order = engine.topology.nameservices
      .map((_, index) => index)
      .filter((index) => (engine.topology.nameservices[index]?.namenodes.length ?? 0) > 0)
      .sort(
        (a, b) =>
          Number(b === preferred) - Number(a === preferred) ||
          (engine.nameserviceName(a) < engine.nameserviceName(b) ? -1 : 1),
      );
    orders.set(engine, order);
  }
  return order;
}
