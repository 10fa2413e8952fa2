import type { StrategyHandler } from '../call/strategies/index.ts';

/** Ways of single methods, by `PROTOCOL.METHOD` as the manual names them; what is not named goes the way of its strategy. */
export type Handlers = Readonly<Record<string, StrategyHandler>>;
