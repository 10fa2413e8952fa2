import type { Plain } from '../../wire/messages.ts';
import type { Composition, Outcome } from '../composition.ts';
import { locate, requireTargets } from '../locate.ts';
import { longOf } from '../longs.ts';
import { Refused } from '../refused.ts';
import { clientPathsOf } from './client-path.ts';
import { nameserviceIdsOf, type OwnId } from './nameservice-ids.ts';
import { idIn, readPage } from './pages.ts';
import { reachOfAll } from './reach.ts';

export const INVALID_REQUEST = 'org.apache.hadoop.fs.InvalidRequestException';

interface Sought {
  /** By nameservice: the only path there that can have one, null for any. */
  readonly paths: ReadonlyMap<number, string | null>;
  clientPathOf: (nameservice: number, path: string) => string | null;
}

/**
 * listCacheDirectives: of all nameservices, or of those that have the filter's path, in the order of ids that name their nameservice. A directive
 * whose path no mount point shows is left out.
 */
export async function listDirectives(c: Composition): Promise<Outcome> {
  const { engine, method } = c;
  const request = c.request();
  const filter = request['filter'] as Plain;
  const { id: _, ...ownFilter } = filter;
  const ids = nameserviceIdsOf(engine);
  const sought = await seek(c, filter['path']);
  const wanted = filter['id'] === undefined ? null : longOf(filter['id']);
  const only = wanted === null ? null : ids.fromClient(wanted);
  if (wanted !== null && (only === null || !sought.paths.has(only.nameservice))) {
    throw new Refused(INVALID_REQUEST, `Did not find requested id ${wanted}`);
  }
  const page = readPage(c, {
    nameservices: only === null ? sought.paths.keys() : [only.nameservice],
    after: only === null ? idIn({ id: request['prevId'] ?? 0 }) : 0n,
    field: 'elements',
    idOf: (entry) => idIn(entry['info'] as Plain),
    request: (nameservice, after) => {
      const path = sought.paths.get(nameservice) ?? null;
      const there: Plain = { ...ownFilter };
      delete there['path'];
      if (path !== null) there['path'] = path;
      if (only !== null) there['id'] = only.id;
      return {
        request: c.other(method, { prevId: after, filter: there }),
        target: { nameservice, path: null, prefixBytes: 0 },
      };
    },
    show: ({ info, ...entry }, nameservice) => {
      const own = info as Plain;
      const path = sought.clientPathOf(nameservice, own['path'] as string);
      return path === null ? null : { ...entry, info: { ...own, id: ids.toClient(nameservice, idIn(own)), path } };
    },
  });
  try {
    const { entries, hasMore } = await page;
    return c.write({ elements: entries, hasMore });
  } catch (error) {
    throw only !== null && error instanceof Refused ? tellClientId(c, only, error) : error;
  }
}

/** NameNodes write `No directive with ID 7 found.` or `Did not find requested id 7`: the number becomes the client's. */
export function tellClientId({ engine }: Composition, { nameservice, id }: OwnId, refused: Refused): Refused {
  const clientId = nameserviceIdsOf(engine).toClient(nameservice, id);
  const text = refused.message.replace(
    new RegExp(`\\b(id:? )${id}\\b`, 'gi'),
    (_, word: string) => `${word}${clientId}`,
  );
  return new Refused(refused.className, text, refused.detail);
}

async function seek(c: Composition, path: Plain['path'] | undefined): Promise<Sought> {
  const { engine, call, method } = c;
  const index = await clientPathsOf(engine);
  if (typeof path !== 'string') {
    const reach = reachOfAll(engine, index);
    const paths = new Map([...reach.directories.keys()].map((nameservice) => [nameservice, null]));
    return { paths, clientPathOf: (nameservice, there) => reach.clientPathOf(nameservice, there) };
  }
  const located = locate(engine, call, Buffer.from(path), method.mountCheck);
  const paths = new Map<number, string | null>();
  const places = new Set<string>();
  for (const { nameservice, path: target } of requireTargets(located)) {
    const there = target === null ? located.path : target.toString();
    places.add(`${nameservice}:${there}`);
    // With two destinations in one nameservice all of it is looked through.
    paths.set(nameservice, paths.has(nameservice) ? null : there);
  }
  return {
    paths,
    clientPathOf: (nameservice, there) => (places.has(`${nameservice}:${there}`) ? located.path : null),
  };
}
