import type { Client } from '../../call/client.ts';
import type { Engine } from '../../call/engine.ts';
import type { StrategyHandler } from '../../call/strategies/index.ts';
import type { Plain } from '../../wire/messages.ts';
import { tellingFailure } from '../answer.ts';
import { type Composition, compose, type Target } from '../composition.ts';
import { Refused } from '../refused.ts';
import { clientMethod } from '../request.ts';
import { readReport } from './datanode-reports.ts';
import { forwardAlone } from './fan-out.ts';
import { everyNameservice, nameOfTarget } from './nameservices.ts';
import { SharedAnswers } from './shared-answers.ts';

/** A balancer asks for the blocks of one DataNode after the other. */
export const OWNERS_KEPT_MS = 10_000;
/** Memory of one DataNode's row, roughly. */
const ROW_BYTES = 200;

const ILLEGAL_ARGUMENT = 'org.apache.hadoop.HadoopIllegalArgumentException';

/** Which nameservice is asked for the blocks of a DataNode. */
interface Owners {
  /** By uuid: the first in the topology's order that knows it. */
  readonly nameservices: ReadonlyMap<string, number>;
  /** Why a nameservice is missing, null when all have answered. */
  readonly missing: Refused | null;
}

const owners = new WeakMap<Engine, SharedAnswers<Owners>>();

/** getBlocks: by the nameservice that knows the DataNode. */
export const answerBlocks: StrategyHandler = (engine, call) => {
  const targets = everyNameservice(engine);
  if (!forwardAlone(engine, call, targets)) compose(engine, call, (c) => findOwner(c, targets));
};

async function findOwner(c: Composition, targets: readonly Target[]): Promise<Target> {
  const { engine } = c;
  const datanode = c.request()['datanode'] as Plain;
  const uuid = String(datanode['datanodeUuid']);
  let shared = owners.get(engine);
  if (shared === undefined) {
    shared = new SharedAnswers<Owners>(engine, OWNERS_KEPT_MS, ({ nameservices }) => nameservices.size * ROW_BYTES);
    owners.set(engine, shared);
  }
  const client = c.call.client as Client;
  const key = client.identity.user;
  const wasKept = shared.has(key);
  let found = await shared.get(client, key, () => askOwners(c, targets));
  if (wasKept && !found.nameservices.has(uuid)) {
    // It may have come since.
    shared.forget(key);
    found = await shared.get(client, key, () => askOwners(c, targets));
  }
  const nameservice = found.nameservices.get(uuid);
  if (nameservice !== undefined) return { nameservice, path: null, prefixBytes: 0 };
  if (found.missing !== null) throw found.missing;
  const { ipAddr, hostName, xferPort } = datanode;
  const asked = targets.map((target) => nameOfTarget(engine, target)).join(', ');
  throw new Refused(ILLEGAL_ARGUMENT, `Datanode ${ipAddr}:${xferPort} (${hostName}, ${uuid}) not found in ${asked}.`);
}

async function askOwners(c: Composition, targets: readonly Target[]): Promise<Owners> {
  const request = c.other(clientMethod('getDatanodeReport'), { type: 'ALL' });
  const answers = await c.askAll(request, targets);
  const nameservices = new Map<string, number>();
  for (const answer of answers) {
    if (!answer.ok) {
      if (!answer.unavailable) throw answer.refused;
      continue;
    }
    for (const { uuid } of await readReport(c.engine, answer.nameservice, answer.body)) {
      if (!nameservices.has(uuid)) nameservices.set(uuid, answer.nameservice);
    }
  }
  return { nameservices, missing: tellingFailure(answers) };
}
