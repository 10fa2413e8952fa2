import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import type { Method } from '../../call/method.ts';
import { type Composition, compose, type Outcome } from '../composition.ts';
import { reportByPool } from './bad-blocks.ts';
import { concatFiles } from './concat.ts';
import { move } from './rename.ts';
import { linkBetween } from './symlink.ts';

/** A method of two paths, one of which has several locations. */
export function answerMove(engine: Engine, call: Call): void {
  compose(engine, call, (call.method as Method).name === 'createSymlink' ? linkBetween : move);
}

/** Methods whose paths are in lists or embedded messages, when one of these has several locations. */
const DEEP: Readonly<Record<string, (c: Composition) => Promise<Outcome>>> = {
  concat: concatFiles,
};

/** A method of `deepPaths`, one of which has several locations. False: it cannot be answered. */
export function answerDeepPaths(engine: Engine, call: Call): boolean {
  const { name } = call.method as Method;
  if (!Object.hasOwn(DEEP, name)) return false;
  compose(engine, call, DEEP[name] as (c: Composition) => Promise<Outcome>);
  return true;
}

/** Blocks of several block pools in one call. */
export function answerBadBlocks(engine: Engine, call: Call): void {
  compose(engine, call, reportByPool);
}
