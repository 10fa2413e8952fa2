import { answerBadBlocks } from '../../composed/moves/index.ts';
import { decode, messageType } from '../../wire/messages.ts';
import type { Call } from '../call.ts';
import { type Fields, visitDotted } from '../dotted.ts';
import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';
import type { Method } from '../method.ts';

/** By the nameservice that owns the block pool named in the request. */
export function answerByBlockPool(engine: Engine, call: Call): void {
  const method = call.method as Method;
  const pools = new Set<string>();
  try {
    const message = decode(
      messageType(method.request),
      call.frame,
      call.start + call.fields.bodyStart,
      call.start + call.fields.bodyEnd,
    );
    visitDotted(message as unknown as Fields, method.blockPool, (value) => {
      pools.add(value.toString());
      return undefined;
    });
  } catch (error) {
    engine.fail(call, Failure.MALFORMED, error instanceof Error ? error.message : String(error));
    return;
  }
  const nameservices = new Set<number>();
  for (const pool of pools) {
    const nameservice = engine.blockPools.get(pool);
    if (nameservice === undefined) {
      engine.fail(call, Failure.IO, `Cannot locate a registered namenode for ${pool} from ${engine.settings.routerId}`);
      return;
    }
    nameservices.add(nameservice);
  }
  const [only] = nameservices;
  if (only !== undefined && nameservices.size === 1) engine.forward(call, only);
  // Only reportBadBlocks names more than one, or none.
  else answerBadBlocks(engine, call);
}
