import { EVERYWHERE_HANDLERS } from '../../composed/everywhere/index.ts';
import { LIST_HANDLERS } from '../../composed/lists/index.ts';
import { LOCATION_HANDLERS } from '../../composed/locations/index.ts';
import { SUBTREE_HANDLERS } from '../../composed/subtree/index.ts';
import { VIEW_HANDLERS } from '../../composed/view/index.ts';
import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';
import type { Method, Strategy } from '../method.ts';
import { PROTOCOLS } from '../methods.ts';
import { answerAnyNameservice, answerServerDefaults } from './any-nameservice.ts';
import { answerByBlockPool } from './block-pool.ts';
import { answerByDeepPaths } from './deep-paths.ts';
import { answerEnclosingRoot } from './enclosing-root.ts';
import { answerLocally } from './local.ts';
import { answerNamedNameservices } from './named-nameservices.ts';
import { answerOnePath } from './one-path.ts';
import { refuseUnsupported } from './refused.ts';
import { answerTwoPaths } from './two-paths.ts';

/** Takes a call that has just arrived (or whose mount table changed) and brings it on its way: `engine.forward`, `succeed` or `fail`. */
export type StrategyHandler = (engine: Engine, call: Call) => void;

const HANDLERS: Readonly<Partial<Record<Strategy, StrategyHandler>>> = {
  'one-path': answerOnePath,
  'two-paths': answerTwoPaths,
  'block-pool': answerByBlockPool,
  'named-nameservices': answerNamedNameservices,
  'any-nameservice': answerAnyNameservice,
  local: answerLocally,
  refused: refuseUnsupported,
};

/** Methods with a way of their own, by `PROTOCOL.METHOD`: the router completes or merges their answers, or keeps them. */
const OWN_WAY: Readonly<Record<string, StrategyHandler>> = {
  'ClientProtocol.getServerDefaults': answerServerDefaults,
  'ClientProtocol.getEnclosingRoot': answerEnclosingRoot,
  ...LOCATION_HANDLERS,
  ...VIEW_HANDLERS,
  ...SUBTREE_HANDLERS,
  ...EVERYWHERE_HANDLERS,
  ...LIST_HANDLERS,
};

export function handlerOf(method: Method): StrategyHandler {
  const name = `${PROTOCOLS[method.protocol]?.simpleName}.${method.name}`;
  if (Object.hasOwn(OWN_WAY, name)) return OWN_WAY[name] as StrategyHandler;
  if (method.deepPaths.length > 0 && (method.strategy === 'one-path' || method.strategy === 'two-paths'))
    return answerByDeepPaths;
  const handler = HANDLERS[method.strategy];
  if (handler === undefined) throw new Error(`nothing answers ${name}, whose strategy is ${method.strategy}`);
  return handler;
}
