import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';
import type { Method, Strategy } from '../method.ts';
import { answerAnyNameservice, answerServerDefaults } from './any-nameservice.ts';
import { answerByBlockPool } from './block-pool.ts';
import { answerByDeepPaths } from './deep-paths.ts';
import { answerEnclosingRoot } from './enclosing-root.ts';
import { answerLocally } from './local.ts';
import { answerListing } from './mount-listing.ts';
import { answerStatus } from './mount-status.ts';
import { answerNamedNameservices } from './named-nameservices.ts';
import { answerOnePath } from './one-path.ts';
import { refuseLater, refuseUnsupported } from './refused.ts';
import { answerTwoPaths } from './two-paths.ts';

/** Takes a call that has just arrived (or whose mount table changed) and brings it on its way: `engine.forward`, `succeed` or `fail`. */
export type StrategyHandler = (engine: Engine, call: Call) => void;

const HANDLERS: Readonly<Record<Strategy, StrategyHandler>> = {
  'one-path': answerOnePath,
  'two-paths': answerTwoPaths,
  'block-pool': answerByBlockPool,
  'named-nameservices': answerNamedNameservices,
  'any-nameservice': answerAnyNameservice,
  local: answerLocally,
  refused: refuseUnsupported,
  later: refuseLater,
};

/** Methods with a way of their own: the router completes their answers, or keeps them. */
const OWN_WAY: Readonly<Record<string, StrategyHandler>> = {
  getFileInfo: answerStatus,
  getListing: answerListing,
  getServerDefaults: answerServerDefaults,
  getEnclosingRoot: answerEnclosingRoot,
};

export function handlerOf(method: Method): StrategyHandler {
  if (method.protocol === 0 && Object.hasOwn(OWN_WAY, method.name)) return OWN_WAY[method.name] as StrategyHandler;
  if (method.deepPaths.length > 0 && (method.strategy === 'one-path' || method.strategy === 'two-paths'))
    return answerByDeepPaths;
  return HANDLERS[method.strategy];
}
