import type { Call } from '../../call/call.ts';
import type { Client } from '../../call/client.ts';
import type { Engine } from '../../call/engine.ts';
import { Failure } from '../../call/failure.ts';
import { answerOnePath } from '../../call/strategies/one-path.ts';
import { type Composition, compose, type Outcome } from '../composition.ts';
import { locate, pathOf } from '../locate.ts';
import { Refused } from '../refused.ts';
import { cutCells } from './cells.ts';
import { regionsOf } from './regions.ts';

/**
 * setQuota: at the locations of the path. Refused where a limit would not hold for what is seen below the path: mount points there that
 * lead outside its own directory; and for mount points when the router's quotas are on, whose limits are those of mount records.
 */
export function answerSetQuota(engine: Engine, call: Call): void {
  const { resolver, settings } = engine;
  const { pathStart, pathEnd } = call.fields;
  resolver.resolve(call, call.frame, call.start + pathStart, call.start + pathEnd, false);
  if (settings.quotaEnabled && resolver.atMount) {
    const user = describeUser(call.client as Client);
    const message = `Permission denied: ${user} is not allowed to change quota of ${pathOf(call).toString()}`;
    engine.fail(call, Failure.ACCESS_CONTROL, message);
  } else if (resolver.mountsBelow) compose(engine, call, setOnOwn);
  else answerOnePath(engine, call);
}

/** A path with mount points below it: its own directory, when that is all there is below it. */
async function setOnOwn(c: Composition): Promise<Outcome> {
  const located = locate(c.engine, c.call, pathOf(c.call), false);
  const cells = cutCells(regionsOf(c.engine, located));
  const [only] = located.targets;
  const isElsewhere = cells.some(({ weight, topOf }) => weight > 0 && !topOf.some(({ region }) => region === 0));
  if (only === undefined || located.targets.length > 1 || isElsewhere) {
    const message = `The quota of ${located.path} cannot be set: mount points below it lead to other directories, which no limit of its own would count; set quotas of the mount points (hdfs dfsrouteradmin -setQuota)`;
    throw new Refused(Failure.UNSUPPORTED, message);
  }
  return only;
}

/** As Java prints a user. */
function describeUser({ identity: { user, realUser } }: Client): string {
  return realUser === '' ? `${user} (auth:SIMPLE)` : `${user} (auth:PROXY) via ${realUser} (auth:SIMPLE)`;
}
