import type { Plain } from '../../wire/messages.ts';
import type { Composition, Outcome } from '../composition.ts';
import { clientPathsOf } from './client-path.ts';
import { nameserviceIdsOf } from './nameservice-ids.ts';
import { idIn, readPage } from './pages.ts';
import { reachOfAll } from './reach.ts';

/**
 * listEncryptionZones: of all nameservices, with the clients' paths of their roots. A zone whose root no mount point shows is left out: what a
 * client could do with a zone it does by the path of its root.
 */
export function listZones(c: Composition): Promise<Outcome> {
  return listByZone(c, 'zones');
}

/** listReencryptionStatus: the same. */
export function listReencryptions(c: Composition): Promise<Outcome> {
  return listByZone(c, 'statuses');
}

async function listByZone(c: Composition, field: string): Promise<Outcome> {
  const { engine, method } = c;
  const reach = reachOfAll(engine, await clientPathsOf(engine));
  const ids = nameserviceIdsOf(engine);
  const { entries, hasMore } = await readPage(c, {
    nameservices: reach.directories.keys(),
    after: idIn(c.request()),
    field,
    idOf: idIn,
    request: (nameservice, after) => ({
      request: c.other(method, { id: after }),
      target: { nameservice, path: null, prefixBytes: 0 },
    }),
    show: (entry, nameservice) => {
      const path = reach.clientPathOf(nameservice, entry['path'] as string);
      if (path === null) return null;
      const shown: Plain = { ...entry, id: ids.toClient(nameservice, idIn(entry)), path };
      const { lastFile } = entry;
      // Where a mount point hides it, the name of the last file says nothing to a client.
      if (typeof lastFile === 'string') shown['lastFile'] = reach.clientPathOf(nameservice, lastFile) ?? '';
      return shown;
    },
  });
  return c.write({ [field]: entries, hasMore });
}
