import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import type { Plain } from '../../wire/messages.ts';
import { type Composition, compose, type Outcome } from '../composition.ts';
import { locate, pathOf } from '../locate.ts';
import { strayTrashBelow } from '../trash.ts';
import { isFile, limitOf, totalOf, totalWithDirectories, typesOf } from './counts.ts';
import { forwardAlone } from './forward-alone.ts';
import { gatherSubtree, type Subtree } from './gather.ts';
import { regionsOf } from './regions.ts';

const SUMS = [
  'length',
  'fileCount',
  'spaceConsumed',
  'snapshotLength',
  'snapshotFileCount',
  'snapshotDirectoryCount',
  'snapshotSpaceConsumed',
] as const;

/**
 * getContentSummary of what a client sees below a path, as one plain tree would have it: every file and directory once, also one that two
 * mount points lead to (what it takes on disks it takes once), nothing that a mount point hides, and a directory for each mount point and
 * each directory above one that no nameservice has. Limits and erasure coding policy are those of the path's own directory.
 */
export function answerContentSummary(engine: Engine, call: Call): void {
  if (!forwardAlone(engine, call)) compose(engine, call, summarize);
}

async function summarize(c: Composition): Promise<Outcome> {
  const located = locate(c.engine, c.call, pathOf(c.call), false);
  const regions = regionsOf(c.engine, located, strayTrashBelow(c.engine, c.call, located.path));
  const partial = c.engine.settings.allowPartialListing && (regions.length > 1 || located.targets.length > 1);
  const isOne = regions.every(({ isTrash }, i) => i === 0 || isTrash);
  const needsOwn = isOne && located.targets.length === 1;
  const subtree = await gatherSubtree(c, located, regions, { method: 'getContentSummary', partial, needsOwn });
  const file = isOne ? fileOf(subtree, located.everywhere) : undefined;
  if (file !== undefined) return c.write({ summary: file });
  return subtree.whole ?? c.write({ summary: summaryOf(subtree) });
}

/** The file that the path is: where directories exist everywhere any file hides them, else what the first location has counts. */
function fileOf({ own }: Subtree, everywhere: boolean): Plain | undefined {
  return (everywhere ? own : own.slice(0, 1)).find(isFile);
}

function summaryOf(subtree: Subtree): Plain {
  const summary: Plain = {
    directoryCount: totalWithDirectories(subtree, 'directoryCount'),
    quota: limitOf(subtree, 'quota'),
    spaceQuota: limitOf(subtree, 'spaceQuota'),
    erasureCodingPolicy: policyOf(subtree),
  };
  for (const field of SUMS) summary[field] = totalOf(subtree, field);
  const types = typesOf(subtree);
  if (types !== undefined) summary['typeQuotaInfos'] = types;
  return summary;
}

/** Empty when the directory has none. */
function policyOf({ own }: Subtree): string {
  for (const summary of own) {
    const policy = (summary['erasureCodingPolicy'] as string | undefined) ?? '';
    if (policy !== '') return policy;
  }
  return '';
}
