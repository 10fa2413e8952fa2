import type { FastifyReply } from 'fastify';
import type { RouterServices } from '../../control/router-types.ts';
import type { RouterStatus } from '../../state-store/records.ts';
import type { HttpPart } from '../http-server.ts';
import { page } from './page.ts';

const ACTIVE = 'I am Active!';
const NOT_ACTIVE = 'I am not Active!';

/** What is looked at; nothing of it waits for a NameNode or for the State Store. */
export interface Health {
  readonly threads: RouterServices['threads'];
  /** '' before clients are served. */
  readonly rpcAddress: RouterServices['rpcAddress'];
  readonly isDraining: RouterServices['isDraining'];
  status(): RouterStatus;
}

/** `/isActive` as load balancers of Java routers ask it, `/healthz` (should it be restarted?) and `/readyz` (may clients be sent here?). */
export function healthPages(health: Health): HttpPart {
  return (app) => {
    page(app, '/isActive', async (_, reply) => {
      if (health.status() === 'RUNNING') return await sendText(reply, 200, ACTIVE);
      reply.header('content-type', 'text/html; charset=utf-8');
      return await reply.code(405).send(notActive());
    });
    page(app, '/healthz', async (_, reply) => sendReasons(reply, reasonsUnhealthy(health)));
    page(app, '/readyz', async (_, reply) => sendReasons(reply, reasonsNotReady(health)));
  };
}

/** A thread that died is started again within moments; one that is not there is worth a look. */
function reasonsUnhealthy({ threads }: Health): string[] {
  return threads()
    .filter(({ ready }) => !ready)
    .map(({ name }) => `the thread ${name} does not run`);
}

function reasonsNotReady(health: Health): string[] {
  const reasons = reasonsUnhealthy(health);
  if (health.isDraining()) reasons.push('the router is about to end');
  else if (health.rpcAddress() === '') reasons.push('the router has just started');
  else if (health.status() !== 'RUNNING') reasons.push(`the router is in state ${health.status()}`);
  return reasons;
}

function sendReasons(reply: FastifyReply, reasons: readonly string[]): FastifyReply {
  return sendText(reply, reasons.length === 0 ? 200 : 503, reasons.length === 0 ? 'ok\n' : `${reasons.join('\n')}\n`);
}

function sendText(reply: FastifyReply, status: number, text: string): FastifyReply {
  reply.header('content-type', 'text/plain; charset=utf-8');
  return reply.code(status).send(text);
}

function notActive(): string {
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Error 405 ${NOT_ACTIVE}</title></head><body>
<h2>HTTP ERROR 405 ${NOT_ACTIVE}</h2>
</body></html>
`;
}
