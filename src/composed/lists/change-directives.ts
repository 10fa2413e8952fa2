import type { Plain } from '../../wire/messages.ts';
import { type Answer, successesOf } from '../answer.ts';
import type { Composition, Outcome, Target } from '../composition.ts';
import { type Located, locate, requireTargets } from '../locate.ts';
import { noteDivergence } from '../locations/answers.ts';
import { longOf } from '../longs.ts';
import { Refused } from '../refused.ts';
import { failoverWaitMs } from '../waiting.ts';
import { INVALID_REQUEST, tellClientId } from './cache-directives.ts';
import { nameserviceIdsOf, type OwnId } from './nameservice-ids.ts';

/**
 * addCacheDirective: with several locations each nameservice caches what it has of the path, by a directive of its own. The id in the answer is
 * that of the first nameservice by name that took it.
 */
export async function addDirective(c: Composition): Promise<Outcome> {
  const { engine, method } = c;
  const request = c.request();
  const info = request['info'] as Plain;
  const located = locateDirective(c, info);
  if (located === null) throw new Refused(INVALID_REQUEST, 'No path specified.');
  const targets = [...requireTargets(located)].sort((a, b) => compareNames(c, a, b));
  const asked = targets.map((target) => ({
    request: c.other(method, { ...request, info: { ...info, path: pathAt(located, target) } }),
    target: { nameservice: target.nameservice, path: null, prefixBytes: 0 },
  }));
  const answers = (await c.askEach(asked, { unreachedMs: failoverWaitMs(engine) })).map((answer, i) =>
    inClientsWords(answer, pathAt(located, targets[i] as Target), located.path),
  );
  const [first] = successesOf(answers);
  noteDivergence(c, located.path, answers);
  const { nameservice, body } = first as (typeof answers)[number] & { ok: true };
  return c.write({ id: nameserviceIdsOf(engine).toClient(nameservice, longOf(c.read(body)['id'])) });
}

/** modifyCacheDirective: in the nameservice that the id names. A new path must lie there too. */
export async function modifyDirective(c: Composition): Promise<Outcome> {
  const { engine, method } = c;
  const request = c.request();
  const info = request['info'] as Plain;
  if (info['id'] === undefined) throw new Refused(INVALID_REQUEST, 'Must supply an ID.');
  const own = ownIdOf(c, longOf(info['id']));
  const located = locateDirective(c, info);
  const there: Plain = { ...info, id: own.id };
  let path = '';
  if (located !== null) {
    const target = requireTargets(located).find(({ nameservice }) => nameservice === own.nameservice);
    if (target === undefined) {
      const name = engine.nameserviceName(own.nameservice);
      const message = `Cache directive ${info['id']} is in ${name}, where ${located.path} is not: remove it and add another`;
      throw new Refused(INVALID_REQUEST, message);
    }
    path = pathAt(located, target);
    there['path'] = path;
  }
  return await askOwner(c, own, c.other(method, { ...request, info: there }), path, located?.path ?? '');
}

/** removeCacheDirective: in the nameservice that the id names, and in no other. */
export async function removeDirective(c: Composition): Promise<Outcome> {
  const own = ownIdOf(c, longOf(c.request()['id']));
  return await askOwner(c, own, c.other(c.method, { id: own.id }), '', '');
}

async function askOwner(
  c: Composition,
  { nameservice, id }: OwnId,
  request: Parameters<Composition['ask']>[0],
  path: string,
  clientPath: string,
): Promise<Buffer> {
  const target = { nameservice, path: null, prefixBytes: 0 };
  const answer = await c.ask(request, target, { unreachedMs: failoverWaitMs(c.engine) });
  const told = inClientsWords(answer, path, clientPath);
  if (told.ok) return told.body;
  throw tellClientId(c, { nameservice, id }, told.refused);
}

/** Throws Refused for an id that cannot be told to belong to a nameservice: another one's directive must not be hit. */
function ownIdOf({ engine }: Composition, id: bigint): OwnId {
  const own = nameserviceIdsOf(engine).fromClient(id);
  if (own !== null) return own;
  const why = 'ids name their nameservice here, as hdfs cacheadmin -listDirectives shows them';
  throw new Refused(INVALID_REQUEST, `No directive with ID ${id} found: ${why}.`);
}

function locateDirective({ engine, call, method }: Composition, info: Plain): Located | null {
  const { path } = info;
  return typeof path === 'string' ? locate(engine, call, Buffer.from(path), method.mountCheck) : null;
}

function pathAt(located: Located, { path }: Target): string {
  return path === null ? located.path : path.toString();
}

function inClientsWords(answer: Answer, path: string, clientPath: string): Answer {
  if (answer.ok || path === clientPath) return answer;
  const { className, message, detail } = answer.refused;
  return { ...answer, refused: new Refused(className, message.replaceAll(path, clientPath), detail) };
}

function compareNames({ engine }: Composition, a: Target, b: Target): number {
  return engine.nameserviceName(a.nameservice) < engine.nameserviceName(b.nameservice) ? -1 : 1;
}
