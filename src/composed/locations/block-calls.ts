import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import type { Method } from '../../call/method.ts';
import { SEVERAL } from '../../call/resolve.ts';
import { resolvePath } from '../../call/strategies/one-path.ts';
import { EmbeddedField } from '../../wire/embedded-field.ts';
import { messageType } from '../../wire/messages.ts';
import { textOf } from '../../wire/text.ts';
import { type Composition, compose, type Outcome, type Target } from '../composition.ts';
import { type Located, locate, pathOf, requireTargets } from '../locate.ts';
import { findOpenFile } from './open-file.ts';

const pool = new EmbeddedField();
/** Field numbers of `Method.blockPool`, by method index. */
const poolFields = new Map<number, readonly [field: number, inner: number]>();
/** Bytes of the block pool ids of each nameservice, by the map that they were made from. */
const poolBytes = new WeakMap<ReadonlyMap<string, number>, { readonly size: number; readonly ids: Buffer[] }>();

/**
 * addBlock, complete, abandonBlock, getAdditionalDatanode: the block that the client has tells its nameservice, which also holds when the
 * mount point leads elsewhere since the file was opened. With the path that the file has there; a nameservice where the mount has none gets
 * the client's path, beside which it looks at the number of the file, and refuses a file that the client has not open.
 */
export function answerBlockCall(engine: Engine, call: Call): void {
  const nameservice = resolvePath(engine, call);
  if (nameservice === SEVERAL) {
    compose(engine, call, async (c) => {
      const located = locate(engine, call, pathOf(call), c.method.mountCheck);
      return await findByPool(c, located);
    });
    return;
  }
  if (nameservice < 0) return;
  const owner = ownerOf(engine, call, nameservice);
  if (owner !== nameservice) {
    call.path = null;
    call.pathPrefixBytes = 0;
  }
  engine.forward(call, owner);
}

async function findByPool(c: Composition, located: Located): Promise<Outcome> {
  const { engine, call } = c;
  const targets = requireTargets(located);
  const owner = ownerOf(engine, call, -1);
  if (targets.length === 1 && owner < 0) return targets[0] as Target;
  if (owner < 0) return await findOpenFile(c, located);
  const owned = targets.filter(({ nameservice }) => nameservice === owner);
  const [only] = owned;
  if (only === undefined) return { nameservice: owner, path: null, prefixBytes: 0 } satisfies Target;
  return owned.length === 1 ? only : await findOpenFile(c, { ...located, targets: owned });
}

/** Nameservice of the block pool in the request; `otherwise` when it names none or one that is unknown here. */
function ownerOf(engine: Engine, call: Call, otherwise: number): number {
  const { frame, fields } = call;
  const [field, inner] = fieldsOf(call.method as Method);
  if (!pool.find(frame, call.start + fields.bodyStart, call.start + fields.bodyEnd, field, inner)) return otherwise;
  const expected = otherwise < 0 ? undefined : poolsOf(engine.blockPools)[otherwise];
  if (expected !== undefined && pool.equals(frame, expected)) return otherwise;
  return engine.blockPools.get(textOf(frame, pool.start, pool.end)) ?? otherwise;
}

function poolsOf(pools: ReadonlyMap<string, number>): readonly Buffer[] {
  const kept = poolBytes.get(pools);
  if (kept !== undefined && kept.size === pools.size) return kept.ids;
  const ids: Buffer[] = [];
  for (const [id, nameservice] of pools) ids[nameservice] = Buffer.from(id);
  poolBytes.set(pools, { size: pools.size, ids });
  return ids;
}

function fieldsOf(method: Method): readonly [number, number] {
  const known = poolFields.get(method.index);
  if (known !== undefined) return known;
  const [outer = '', inner = ''] = method.blockPool.split('.');
  const field = messageType(method.request).fields[outer]?.resolve();
  const embedded = messageType('hadoop.hdfs.ExtendedBlockProto').fields[inner];
  if (field === undefined || embedded === undefined) throw new Error(`${method.name} has no ${method.blockPool}`);
  const found = [field.id, embedded.id] as const;
  poolFields.set(method.index, found);
  return found;
}
