import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';

/**
 * Answered alike by every nameservice: by the default one, and while that has no NameNode to answer by the others in order of their names.
 * A nameservice without NameNodes (one that only a mount point names) is not asked.
 */
export function answerAnyNameservice(engine: Engine, call: Call): void {
  const order = orderOf(engine);
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
