import type { StrategyHandler } from '../../call/strategies/index.ts';
import { compose } from '../composition.ts';
import { answerByRule, forwardAlone } from './fan-out.ts';
import { allTrue } from './merges.ts';
import { enabledNameservices, everyNameNode, everyNameservice } from './nameservices.ts';

const MERGE = allTrue('result');

/**
 * setSafeMode: a checked one is for active NameNodes. An unchecked one, which `dfsadmin -safemode` sends, is for every NameNode: a standby in
 * safe mode would become an active one in safe mode.
 */
export const answerSafeMode: StrategyHandler = (engine, call) => {
  if (enabledNameservices(engine).length === 0) {
    forwardAlone(engine, call, []);
    return;
  }
  compose(engine, call, async (c) => {
    const checked = c.request()['checked'] === true;
    const targets = checked ? everyNameservice(engine) : everyNameNode(engine);
    const [only] = targets;
    if (only !== undefined && targets.length === 1) return only;
    return await answerByRule(c, targets, { asks: checked ? 'nameservice' : 'namenode', needs: 'all', merge: MERGE });
  });
};
