import type { StrategyHandler } from '../../call/strategies/index.ts';
import { refuseUnsupported } from '../../call/strategies/refused.ts';
import { enabledNameservices } from './nameservices.ts';

/**
 * getDataEncryptionKey: a client keeps one key and uses it for every DataNode, and a DataNode knows only the keys of the block pools that it
 * serves. So there is an answer only where there is one nameservice.
 */
export const answerEncryptionKey: StrategyHandler = (engine, call) => {
  const [only, ...others] = enabledNameservices(engine);
  if (only === undefined || others.length > 0) refuseUnsupported(engine, call);
  else engine.forward(call, only);
};
