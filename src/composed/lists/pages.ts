import { Failure } from '../../call/failure.ts';
import type { Plain } from '../../wire/messages.ts';
import { requireAll } from '../answer.ts';
import type { Composition, Target } from '../composition.ts';
import { longOf } from '../longs.ts';
import { Refused } from '../refused.ts';
import type { Request } from '../request.ts';
import { failoverWaitMs } from '../waiting.ts';
import { nameserviceIdsOf } from './nameservice-ids.ts';

/** Nameservices that are asked at one time for what the pages before did not fill. */
export const MAX_ASKED_AHEAD = 16;
/** A page that has so many entries is not filled further; one nameservice alone may give more. */
export const FULL_PAGE_ENTRIES = 1_000;
/** Pages of NameNodes for one page of a client; more are needed only where next to nothing of a nameservice is shown. */
export const MAX_PAGES = 1_000;

/** A list in the order of ids that clients read page by page, over several nameservices. */
export interface PagedList {
  readonly nameservices: Iterable<number>;
  /** Id of the last entry that the client has, 0 at the start. */
  readonly after: bigint;
  /** For entries with larger ids in this nameservice. */
  request: (nameservice: number, after: bigint) => { readonly request: Request; readonly target: Target };
  /** Name of the list in the response; `hasMore` stands beside it. */
  readonly field: string;
  idOf: (entry: Plain) => bigint;
  /** The entry as clients see it, null when they do not. */
  show: (entry: Plain, nameservice: number) => Plain | null;
}

export interface ShownPage {
  readonly entries: Plain[];
  readonly hasMore: boolean;
}

interface Position {
  readonly nameservice: number;
  readonly after: bigint;
}

/**
 * The next page: nameservice after nameservice, so that the id of its last entry says where to go on. It is empty only at the end of the list,
 * for clients stop at an empty one. Throws Refused when a nameservice cannot be asked.
 */
export async function readPage(c: Composition, list: PagedList): Promise<ShownPage> {
  const ids = nameserviceIdsOf(c.engine);
  const waiting: Position[] = [];
  for (const nameservice of ids.inOrder(list.nameservices)) {
    const after = ids.positionOf(list.after, nameservice);
    if (after !== null) waiting.push({ nameservice, after });
  }
  const entries: Plain[] = [];
  let pages = 0;
  for (let at = 0, ahead = 1; at < waiting.length; ahead = Math.min(ahead * 2, MAX_ASKED_AHEAD)) {
    const asked = waiting.slice(at, at + ahead);
    at += asked.length;
    for (const [i, first] of (await askPages(c, list, asked)).entries()) {
      const { nameservice } = asked[i] as Position;
      let page = first;
      for (;;) {
        for (const entry of page.entries) {
          const shown = list.show(entry, nameservice);
          if (shown !== null) entries.push(shown);
        }
        const last = page.entries.at(-1);
        if (!page.hasMore || last === undefined) break;
        if (entries.length > 0) return { entries, hasMore: true };
        if (++pages >= MAX_PAGES) throw tooMany(c, nameservice);
        page = (await askPages(c, list, [{ nameservice, after: list.idOf(last) }]))[0] as ShownPage;
      }
    }
    if (entries.length >= FULL_PAGE_ENTRIES && at < waiting.length) return { entries, hasMore: true };
  }
  return { entries, hasMore: false };
}

async function askPages(c: Composition, list: PagedList, positions: readonly Position[]): Promise<ShownPage[]> {
  const asked = positions.map(({ nameservice, after }) => list.request(nameservice, after));
  const answers = requireAll(await c.askEach(asked, { unreachedMs: failoverWaitMs(c.engine) }));
  return answers.map(({ body }) => {
    const response = c.read(body);
    return { entries: response[list.field] as Plain[], hasMore: response['hasMore'] === true };
  });
}

/** `id` of a request or an entry. */
export function idIn(message: Plain): bigint {
  return longOf(message['id']);
}

function tooMany(c: Composition, nameservice: number): Refused {
  const name = c.engine.nameserviceName(nameservice);
  const message = `${c.method.name}: ${MAX_PAGES} pages of ${name} hold nothing that a mount point shows; ask a NameNode of ${name}`;
  return new Refused(Failure.IO, message);
}
