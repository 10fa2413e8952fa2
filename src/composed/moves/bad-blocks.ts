import { Failure } from '../../call/failure.ts';
import type { Plain } from '../../wire/messages.ts';
import { requireAll } from '../answer.ts';
import type { Composition, Outcome } from '../composition.ts';
import { Refused } from '../refused.ts';

/** reportBadBlocks of several block pools: each nameservice gets the blocks of its own, all at once; the first failure is the answer. */
export async function reportByPool(c: Composition): Promise<Outcome> {
  const { engine, method } = c;
  const groups = new Map<number, Plain[]>();
  for (const block of c.request()['blocks'] as Plain[]) {
    const pool = (block['b'] as Plain)['poolId'] as string;
    const nameservice = engine.blockPools.get(pool);
    if (nameservice === undefined) {
      const message = `Cannot locate a registered namenode for ${pool} from ${engine.settings.routerId}`;
      throw new Refused(Failure.IO, message);
    }
    const group = groups.get(nameservice);
    if (group === undefined) groups.set(nameservice, [block]);
    else group.push(block);
  }
  const asked = [...groups].map(([nameservice, blocks]) => ({
    request: c.other(method, { blocks }),
    target: { nameservice, path: null, prefixBytes: 0 },
  }));
  requireAll(await c.askEach(asked, { unreachedMs: engine.settings.callBudgetMs }));
  return c.write({});
}
