import { Counter } from '../../shared/counters.ts';
import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';
import type { Method } from '../method.ts';

/** No router serves it; the text is the Java Router's. */
export function refuseUnsupported(engine: Engine, call: Call): void {
  engine.counters.add(Counter.callsUnsupported);
  engine.fail(call, Failure.UNSUPPORTED, `Operation "${(call.method as Method).name}" is not supported`);
}
