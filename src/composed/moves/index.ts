import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import type { Method } from '../../call/method.ts';
import { compose } from '../composition.ts';
import type { Handlers } from '../handlers.ts';
import { reportByPool } from './bad-blocks.ts';
import { concatFiles } from './concat.ts';
import { move } from './rename.ts';
import { linkBetween } from './symlink.ts';

export const MOVE_HANDLERS: Handlers = {};

/** A method of two paths, one of which has several locations. */
export function answerMove(engine: Engine, call: Call): void {
  compose(engine, call, (call.method as Method).name === 'createSymlink' ? linkBetween : move);
}

/** concat, with a path that has several locations. */
export function answerConcat(engine: Engine, call: Call): void {
  compose(engine, call, concatFiles);
}

/** Blocks of several block pools in one call. */
export function answerBadBlocks(engine: Engine, call: Call): void {
  compose(engine, call, reportByPool);
}
