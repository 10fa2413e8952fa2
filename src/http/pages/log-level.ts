import { requireSuperuser } from '../../admin/access.ts';
import type { Log } from '../../control/log.ts';
import type { HttpPart } from '../http-server.ts';
import type { Login } from '../login.ts';
import { escapeMarkup, page, parameter } from './page.ts';

/** `hadoop daemonlog` prints the lines that begin so, without their markup. */
const OUTPUT = '<!-- OUTPUT -->';
/** Levels of log4j, and those here. */
const LEVELS: ReadonlyMap<string, string> = new Map([
  ['OFF', 'silent'],
  ['FATAL', 'fatal'],
  ['ERROR', 'error'],
  ['WARN', 'warn'],
  ['INFO', 'info'],
  ['DEBUG', 'debug'],
  ['TRACE', 'trace'],
  ['ALL', 'trace'],
]);

/** `/logLevel?log=NAME[&level=LEVEL]`: the level of this router's log. To change it takes the token of a superuser, as every change does. */
export function logLevel(log: Log, login: Pick<Login, 'callerOf'>): HttpPart {
  return (app) => {
    page(app, '/logLevel', async (request, reply) => {
      const name = parameter(request, 'log')?.trim() ?? '';
      const level = parameter(request, 'level')?.trim() ?? '';
      const lines: string[] = [];
      const tell = (what: string, value: string): void =>
        void lines.push(`${OUTPUT}${what}: <b>${escapeMarkup(value)}</b><br />`);
      if (name !== '') {
        tell('Submitted Class Name', name);
        tell('Log Class', 'pino: one log of the whole router, whatever the name');
        if (level !== '') {
          tell('Submitted Level', level);
          const known = LEVELS.get(level.toUpperCase());
          if (known === undefined) tell('Bad Level ', level);
          else {
            const caller = await login.callerOf(request.headers, true);
            requireSuperuser(caller);
            const before = log.level;
            log.level = known;
            const said = { user: caller.user, address: request.ip, before, level: known };
            // Said at either level, unless both say nothing.
            log.fatal(said, 'the level of the log was changed');
            lines.push(`${OUTPUT}Setting Level to ${level.toUpperCase()} ...<br />`);
          }
        }
        tell('Effective Level', log4jNameOf(log.level));
      }
      reply.header('content-type', 'text/html; charset=utf-8');
      return pageOf(lines);
    });
  };
}

function log4jNameOf(level: string): string {
  return [...LEVELS].find(([, own]) => own === level)?.[0] ?? level.toUpperCase();
}

function pageOf(lines: readonly string[]): string {
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Log Level</title></head><body>
<h1>Log Level</h1>
<p>GET /logLevel?log=switchyard shows the level of this router's log; with &amp;level=DEBUG and the header Authorization: Bearer TOKEN of a
superuser it is changed. Levels: ${[...LEVELS.keys()].join(', ')}.</p>
${lines.length === 0 ? '' : `<h2>Results</h2>\n${lines.join('\n')}\n`}</body></html>
`;
}
