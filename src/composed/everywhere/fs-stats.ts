import type { Client } from '../../call/client.ts';
import type { Engine } from '../../call/engine.ts';
import type { StrategyHandler } from '../../call/strategies/index.ts';
import type { Plain } from '../../wire/messages.ts';
import { requireAll } from '../answer.ts';
import { type Composition, compose } from '../composition.ts';
import { amountOf, longOf } from '../longs.ts';
import { Refused } from '../refused.ts';
import { clientMethod } from '../request.ts';
import { readAnswer } from '../unreadable.ts';
import { failoverWaitMs } from '../waiting.ts';
import type { DataNodeEntry } from './datanode-entries.ts';
import { readReport } from './datanode-reports.ts';
import { askRequired, forwardAlone } from './fan-out.ts';
import { addUp } from './merges.ts';
import { everyNameservice } from './nameservices.ts';
import { SharedAnswers } from './shared-answers.ts';

/** Which DataNodes nameservices share, and how full these are, changes slowly. As `dfs.federation.router.dn-report.cache-expire`. */
export const OVERLAP_KEPT_MS = 10_000;

/** What the sum over all nameservices counts more than once. */
interface Overlap {
  readonly capacityBytes: bigint;
  readonly usedBytes: bigint;
  readonly remainingBytes: bigint;
}

const NO_OVERLAP: Overlap = { capacityBytes: 0n, usedBytes: 0n, remainingBytes: 0n };

const overlaps = new WeakMap<Engine, SharedAnswers<Overlap>>();

/**
 * getFsStats: the sums over all nameservices, with the disks of each DataNode counted once. Anybody may ask for the sums (`hdfs dfs -df`), but
 * only superusers for the DataNodes: these the router asks for as itself. Where its user may not, shared nodes count for each nameservice.
 */
export const answerFsStats: StrategyHandler = (engine, call) => {
  const targets = everyNameservice(engine);
  if (forwardAlone(engine, call, targets)) return;
  compose(engine, call, async (c) => {
    const answers = await askRequired(c, c.own, targets);
    const sums = addUp(answers.map((answer) => readAnswer(c, answer)));
    const overlap = await overlapOf(c);
    return c.write({
      ...sums,
      ...without(sums, 'capacity', overlap.capacityBytes),
      ...without(sums, 'used', overlap.usedBytes),
      ...without(sums, 'remaining', overlap.remainingBytes),
    });
  });
};

function without(sums: Plain, field: string, bytes: bigint): Plain {
  return { [field]: amountOf(longOf(sums[field]) - bytes) };
}

async function overlapOf(c: Composition): Promise<Overlap> {
  const { engine } = c;
  let shared = overlaps.get(engine);
  if (shared === undefined) {
    shared = new SharedAnswers<Overlap>(engine, OVERLAP_KEPT_MS, () => 0);
    overlaps.set(engine, shared);
  }
  return await shared.get(c.call.client as Client, '', () => askOverlap(c));
}

async function askOverlap(c: Composition): Promise<Overlap> {
  const { engine } = c;
  const targets = everyNameservice(engine);
  const request = c.other(clientMethod('getDatanodeReport'), { type: 'LIVE' });
  try {
    const options = { unreachedMs: failoverWaitMs(engine), asRouter: true };
    const reports = requireAll(await c.askAll(request, targets, options));
    const inService = new Map<string, DataNodeEntry[]>();
    for (const { nameservice, body } of reports) {
      for (const entry of await readReport(engine, nameservice, body)) {
        if (!entry.isInService) continue;
        const others = inService.get(entry.address);
        if (others === undefined) inService.set(entry.address, [entry]);
        else others.push(entry);
      }
    }
    return [...inService.values()].reduce(addOverlap, NO_OVERLAP);
  } catch (error) {
    if (!(error instanceof Refused) || (c.call.client as Client).gone) throw error;
    const why = `${error.className}: ${error.message.split('\n', 1)[0] ?? ''}`;
    engine.note(
      `getFsStats counts DataNodes that serve several nameservices for each of them, because ${engine.settings.routerUser} cannot read the DataNode reports: ${why}`,
    );
    return NO_OVERLAP;
  }
}

/** NameNodes count the disks of nodes in service only; of one node they are those that were reported last. */
function addOverlap(sum: Overlap, entries: readonly DataNodeEntry[]): Overlap {
  if (entries.length < 2) return sum;
  let { capacityBytes, usedBytes, remainingBytes } = sum;
  const newest = entries.reduce((a, b) => (b.lastUpdateMs > a.lastUpdateMs ? b : a));
  for (const entry of entries) {
    if (entry === newest) continue;
    capacityBytes += entry.capacityBytes;
    usedBytes += entry.usedBytes;
    remainingBytes += entry.remainingBytes;
  }
  return { capacityBytes, usedBytes, remainingBytes };
}
