import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import { refuseLater } from '../../call/strategies/refused.ts';
import type { Handlers } from '../handlers.ts';

export const LOCATION_HANDLERS: Handlers = {};

/** A method of one path whose mount has several destinations. */
export function answerAtLocations(engine: Engine, call: Call): void {
  refuseLater(engine, call);
}
