import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import { refuseLater } from '../../call/strategies/refused.ts';
import type { Handlers } from '../handlers.ts';

export const MOVE_HANDLERS: Handlers = {};

/** A method of two paths, one of which lies on a mount with several destinations. */
export function answerMove(engine: Engine, call: Call): void {
  refuseLater(engine, call);
}
