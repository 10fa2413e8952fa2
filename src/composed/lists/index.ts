import type { StrategyHandler } from '../../call/strategies/index.ts';
import { type Composition, compose, type Outcome } from '../composition.ts';
import { everywhere, forwardAlone, type Rule } from '../everywhere/fan-out.ts';
import { everyNameservice } from '../everywhere/nameservices.ts';
import type { Handlers } from '../handlers.ts';
import { listDirectives } from './cache-directives.ts';
import { listPools } from './cache-pools.ts';
import { addDirective, modifyDirective, removeDirective } from './change-directives.ts';
import { answerCorruptFiles } from './corrupt-files.ts';
import { addPolicies, uniteCodecs, unitePolicies } from './erasure-coding.ts';
import { answerLinkTarget } from './link-target.ts';
import { listOpenFiles } from './open-files.ts';
import { listSnapshottable } from './snapshottable.ts';
import { answerZoneOfPath } from './zone-of-path.ts';
import { listReencryptions, listZones } from './zones.ts';

const done: Rule = { asks: 'nameservice', needs: 'all', merge: null };

export const LIST_HANDLERS: Handlers = {
  'ClientProtocol.listOpenFiles': composed(listOpenFiles),
  'ClientProtocol.getSnapshottableDirListing': composed(listSnapshottable),
  'ClientProtocol.listEncryptionZones': composed(listZones),
  'ClientProtocol.listReencryptionStatus': composed(listReencryptions),
  'ClientProtocol.listCorruptFileBlocks': answerCorruptFiles,
  'ClientProtocol.getLinkTarget': answerLinkTarget,
  'ClientProtocol.getEZForPath': answerZoneOfPath,
  'ClientProtocol.listCachePools': ofAll(listPools),
  'ClientProtocol.addCachePool': everywhere(done),
  'ClientProtocol.modifyCachePool': everywhere(done),
  'ClientProtocol.removeCachePool': everywhere(done),
  'ClientProtocol.addCacheDirective': composed(addDirective),
  'ClientProtocol.modifyCacheDirective': composed(modifyDirective),
  'ClientProtocol.removeCacheDirective': composed(removeDirective),
  'ClientProtocol.listCacheDirectives': composed(listDirectives),
  'ClientProtocol.getErasureCodingPolicies': everywhere({ ...done, merge: unitePolicies }),
  'ClientProtocol.getErasureCodingCodecs': everywhere({ ...done, merge: uniteCodecs }),
  'ClientProtocol.addErasureCodingPolicies': ofAll(addPolicies),
  'ClientProtocol.removeErasureCodingPolicy': everywhere(done),
  'ClientProtocol.enableErasureCodingPolicy': everywhere(done),
  'ClientProtocol.disableErasureCodingPolicy': everywhere(done),
};

function composed(run: (c: Composition) => Promise<Outcome>): StrategyHandler {
  return (engine, call) => compose(engine, call, run);
}

/** Of all nameservices; where there is one, the call is its own. */
function ofAll(run: (c: Composition) => Promise<Outcome>): StrategyHandler {
  return (engine, call) => {
    if (!forwardAlone(engine, call, everyNameservice(engine))) compose(engine, call, run);
  };
}
