import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import { Failure } from '../../call/failure.ts';
import { SEVERAL } from '../../call/resolve.ts';
import type { Plain } from '../../wire/messages.ts';
import { bodyOf } from '../answer.ts';
import { type Composition, compose, type Outcome } from '../composition.ts';
import { pathOf } from '../locate.ts';
import { Refused } from '../refused.ts';
import { failoverWaitMs } from '../waiting.ts';
import { clientPathsOf } from './client-path.ts';
import { nameserviceIdsOf } from './nameservice-ids.ts';
import { MAX_PAGES } from './pages.ts';
import { reachOf } from './reach.ts';

/** `TAG:COOKIE`: the nameservice whose list goes on, and the cookie that its NameNode gave. */
const COOKIE = /^(\d+):(.*)$/s;

/** listCorruptFileBlocks: forwarded where a NameNode's paths are the client's and nothing is mounted below; else file by file with its client's path. */
export function answerCorruptFiles(engine: Engine, call: Call): void {
  const { resolver } = engine;
  const { pathStart, pathEnd } = call.fields;
  const nameservice = resolver.resolve(call, call.frame, call.start + pathStart, call.start + pathEnd, false);
  const isAlone = !resolver.mountsBelow && nameservice !== SEVERAL && !(nameservice >= 0 && resolver.path !== null);
  if (!isAlone) compose(engine, call, listCorruptFiles);
  else if (nameservice < 0) engine.fail(call, resolver.className, resolver.message);
  else {
    call.byPath = true;
    engine.forward(call, nameservice);
  }
}

/**
 * One nameservice after the other. Clients stop at an empty answer, so one comes only at the end. Files that no mount point shows are left out,
 * and those of directories whose names only begin as the path does.
 */
async function listCorruptFiles(c: Composition): Promise<Outcome> {
  const { engine, call, method } = c;
  const reach = reachOf(engine, call, pathOf(call), await clientPathsOf(engine));
  const ids = nameserviceIdsOf(engine);
  const given = c.request()['cookie'];
  const [, tagGiven = '0', cookieGiven = ''] = typeof given === 'string' ? (COOKIE.exec(given) ?? []) : [];
  let lastCookie = '';
  let pages = 0;
  for (const nameservice of ids.inOrder(reach.directories.keys())) {
    const tag = ids.tagOf(nameservice);
    if (tag < Number(tagGiven)) continue;
    let cookie = tag === Number(tagGiven) ? cookieGiven : '';
    for (;;) {
      const request = c.other(method, cookie === '' ? { path: reach.path } : { path: reach.path, cookie });
      const options = { unreachedMs: failoverWaitMs(engine) };
      const body = bodyOf(await c.ask(request, reach.targetOf(nameservice), options));
      const corrupt = c.read(body)['corrupt'] as Plain;
      const found = corrupt['files'] as string[];
      const before = cookie;
      cookie = corrupt['cookie'] as string;
      lastCookie = `${tag}:${cookie}`;
      const files = found.flatMap((path) => reach.clientPathOf(nameservice, path) ?? []);
      if (files.length > 0) return c.write({ corrupt: { files, cookie: lastCookie } });
      if (found.length === 0 || cookie === before) break;
      if (++pages >= MAX_PAGES) {
        const name = engine.nameserviceName(nameservice);
        const what = `${MAX_PAGES} pages of ${name} hold no file that can be seen below ${reach.path}`;
        throw new Refused(Failure.IO, `${method.name}: ${what}; ask a NameNode of ${name}`);
      }
    }
  }
  return c.write({ corrupt: { files: [], cookie: lastCookie } });
}
