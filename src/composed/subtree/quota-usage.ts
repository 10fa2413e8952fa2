import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import type { MountQuota } from '../../mount/entry.ts';
import { limitsAt } from '../../mount/quota.ts';
import type { MountSnapshot } from '../../mount/snapshot.ts';
import type { Plain } from '../../wire/messages.ts';
import { type Composition, compose, type Outcome } from '../composition.ts';
import { locate, pathOf } from '../locate.ts';
import { strayTrashBelow } from '../trash.ts';
import { limitOf, totalOf, totalWithDirectories, typesOf } from './counts.ts';
import { forwardAlone } from './forward-alone.ts';
import { gatherSubtree, type Subtree } from './gather.ts';
import { regionsOf } from './regions.ts';

/**
 * getQuotaUsage: counted as getContentSummary counts, but never without a nameservice. The limits of a mount point are those of mount
 * records (its own, and for kinds that it does not limit the nearest above) when the router's quotas are on; else, and for other paths,
 * those of the path's own directory.
 */
export function answerQuotaUsage(engine: Engine, call: Call): void {
  if (!forwardAlone(engine, call)) compose(engine, call, addUsage);
}

async function addUsage(c: Composition): Promise<Outcome> {
  const { engine } = c;
  const located = locate(engine, c.call, pathOf(c.call), false);
  const limits = engine.settings.quotaEnabled && located.atMount ? mountLimits(engine) : null;
  const regions = regionsOf(engine, located, strayTrashBelow(engine, c.call, located.path));
  const needsOwn = located.targets.length === 1 && regions.every(({ isTrash }, i) => i === 0 || isTrash);
  const subtree = await gatherSubtree(c, located, regions, { method: 'getQuotaUsage', partial: false, needsOwn });
  if (limits === null && subtree.whole !== null) return subtree.whole;
  return c.write({ usage: usageOf(subtree, limits) });
}

/** Directly after `locate` found a mount point. */
function mountLimits({ resolver }: Engine): MountQuota {
  return limitsAt(resolver.snapshot as MountSnapshot, resolver.mount);
}

function usageOf(subtree: Subtree, limits: MountQuota | null): Plain {
  const usage: Plain = {
    fileAndDirectoryCount: totalWithDirectories(subtree, 'fileAndDirectoryCount'),
    spaceConsumed: totalOf(subtree, 'spaceConsumed'),
    quota: limits?.namespaceQuota ?? limitOf(subtree, 'quota'),
    spaceQuota: limits?.spaceQuota ?? limitOf(subtree, 'spaceQuota'),
  };
  const types = limits === null ? typesOf(subtree) : limitedTypes(subtree, limits);
  if (types !== undefined) usage['typeQuotaInfos'] = types;
  return usage;
}

/** As `typesOf`, with the limits of mount records in place of the NameNodes'. */
function limitedTypes(subtree: Subtree, limits: MountQuota): Plain | undefined {
  const consumed = new Map<string, Plain>();
  for (const info of (typesOf(subtree)?.['typeQuotaInfo'] ?? []) as Plain[]) {
    consumed.set(info['type'] as string, { ...info, quota: -1n });
  }
  for (const { type, quota } of limits.types) {
    consumed.set(type, { type, quota, consumed: consumed.get(type)?.['consumed'] ?? 0n });
  }
  return consumed.size === 0 ? undefined : { typeQuotaInfo: [...consumed.values()] };
}
