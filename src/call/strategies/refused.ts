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

/** Its answer would have to be merged from several nameservices, which this release does not do (the manual lists these methods). */
export function refuseLater(engine: Engine, call: Call): void {
  engine.counters.add(Counter.callsUnsupported);
  engine.fail(
    call,
    Failure.UNSUPPORTED,
    `Operation "${(call.method as Method).name}" is not supported over several nameservices`,
  );
}
