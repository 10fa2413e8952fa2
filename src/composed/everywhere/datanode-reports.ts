import type { Client } from '../../call/client.ts';
import type { Engine } from '../../call/engine.ts';
import { Failure } from '../../call/failure.ts';
import type { StrategyHandler } from '../../call/strategies/index.ts';
import type { Success } from '../answer.ts';
import { type Composition, compose } from '../composition.ts';
import { Refused } from '../refused.ts';
import {
  type DataNodeEntry,
  ReportError,
  readDataNodes,
  writeDataNodes,
  writeDataNodesBelow,
} from './datanode-entries.ts';
import { askRequired, forwardAlone } from './fan-out.ts';
import { everyNameservice } from './nameservices.ts';
import { SharedAnswers } from './shared-answers.ts';

/**
 * How long a report is shared with further calls of the same user. DataNodes tell their figures every three seconds, so nobody can see that a
 * report is this old.
 */
export const REPORT_KEPT_MS = 1_000;

const sharedReports = new WeakMap<Engine, SharedAnswers<Buffer>>();

/** A DataNode of a report, and the nameservice whose report it is. */
export interface ReportedDataNode {
  readonly entry: DataNodeEntry;
  readonly nameservice: number;
}

/**
 * getDatanodeReport and getSlowDatanodeReport: the DataNodes of all nameservices, each once, as the nameservice that heard from it last has it;
 * its rack is below `/NAMESERVICE`.
 */
export const answerDataNodeReport: StrategyHandler = (engine, call) => {
  const targets = everyNameservice(engine);
  if (targets.length === 0) {
    forwardAlone(engine, call, targets);
    return;
  }
  compose(engine, call, (c) =>
    shareReport(c, async () => {
      const newest = await mergeReports(engine, await askRequired(c, c.own, targets), false);
      const owners = new Map([...newest.values()].map(({ entry, nameservice }) => [entry, nameservice]));
      return await writeDataNodesBelow(owners.keys(), (entry) => engine.nameserviceName(owners.get(entry) ?? -1));
    }),
  );
};

/** getDatanodeStorageReport: the same with the storages of each node, racks as they are. */
export const answerStorageReport: StrategyHandler = (engine, call) => {
  const targets = everyNameservice(engine);
  if (forwardAlone(engine, call, targets)) return;
  compose(engine, call, (c) =>
    shareReport(c, async () => {
      const newest = await mergeReports(engine, await askRequired(c, c.own, targets), true);
      return await writeDataNodes([...newest.values()].map(({ entry }) => entry));
    }),
  );
};

/** What was reported before is no longer true: the administrator has changed which DataNodes belong to the cluster. */
export function forgetReports(engine: Engine): void {
  sharedReports.get(engine)?.forgetAll();
}

/** Which nodes a user may see, NameNodes decide: a report is shared only among calls of one user. */
async function shareReport(c: Composition, make: () => Promise<Buffer>): Promise<Buffer> {
  const { engine } = c;
  let shared = sharedReports.get(engine);
  if (shared === undefined) {
    shared = new SharedAnswers<Buffer>(engine, REPORT_KEPT_MS, (body) => body.length);
    sharedReports.set(engine, shared);
  }
  const client = c.call.client as Client;
  const { type = '' } = c.request();
  return await shared.get(client, `${c.method.name} ${String(type)} ${client.identity.user}`, make);
}

/** By address; of a node that several nameservices report, the newest. */
async function mergeReports(
  engine: Engine,
  answers: readonly Success[],
  nested: boolean,
): Promise<Map<string, ReportedDataNode>> {
  const newest = new Map<string, ReportedDataNode>();
  for (const { nameservice, body } of answers) {
    for (const entry of await readReport(engine, nameservice, body, nested)) {
      const known = newest.get(entry.address);
      if (known !== undefined && known.entry.lastUpdateMs >= entry.lastUpdateMs) continue;
      newest.set(entry.address, { entry, nameservice });
    }
  }
  return newest;
}

/** The DataNodes of one nameservice's report. Throws Refused when it cannot be read. */
export async function readReport(
  engine: Engine,
  nameservice: number,
  body: Buffer,
  nested = false,
): Promise<DataNodeEntry[]> {
  try {
    return await readDataNodes(body, nested);
  } catch (error) {
    if (!(error instanceof ReportError)) throw error;
    const where = engine.nameserviceName(nameservice);
    throw new Refused(
      Failure.IO,
      `The answer of the NameNode with its DataNodes cannot be read: that of ${where} is not valid: ${error.message}`,
    );
  }
}
