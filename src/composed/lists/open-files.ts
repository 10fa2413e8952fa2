import type { Plain } from '../../wire/messages.ts';
import type { Composition, Outcome } from '../composition.ts';
import { pathOf } from '../locate.ts';
import { clientPathsOf } from './client-path.ts';
import { nameserviceIdsOf } from './nameservice-ids.ts';
import { idIn, readPage } from './pages.ts';
import { reachOf } from './reach.ts';

/**
 * listOpenFiles: of all nameservices that have a part in the path, each file once, with the path under which clients see it. Files that no mount
 * point shows are left out: no path of this namespace is theirs, and the NameNode's would be another file's.
 */
export async function listOpenFiles(c: Composition): Promise<Outcome> {
  const { engine, call, method } = c;
  const paths = await clientPathsOf(engine);
  const reach = reachOf(engine, call, pathOf(call), paths);
  const ids = nameserviceIdsOf(engine);
  const request = c.request();
  const { entries, hasMore } = await readPage(c, {
    nameservices: reach.directories.keys(),
    after: idIn(request),
    field: 'entries',
    idOf: idIn,
    request: (nameservice, after) => ({
      request: c.other(method, { ...request, id: after, path: reach.path }),
      target: reach.targetOf(nameservice),
    }),
    show: (entry, nameservice) => {
      const path = reach.clientPathOf(nameservice, entry['path'] as string);
      return path === null ? null : { ...entry, id: ids.toClient(nameservice, idIn(entry)), path };
    },
  });
  return c.write({ entries, hasMore, types: request['types'] as Plain[] });
}
