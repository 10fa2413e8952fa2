import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { JAVA } from '../../control/rpc-server/remote-exception.ts';
import { HttpRefusal } from '../refusal.ts';

const OTHERS = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'] as const;
/** Longest parameter of a page's query. */
const MAX_PARAMETER_CHARACTERS = 1_256;

/** Something to GET; other methods are answered with 405. */
export function page(
  app: FastifyInstance,
  url: string,
  answer: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  app.get(url, answer);
  app.route({
    method: [...OTHERS],
    url,
    onRequest: async ({ method }, reply) => {
      reply.header('allow', 'GET, HEAD');
      throw new HttpRefusal(405, JAVA.UNSUPPORTED, `${method} does nothing at ${url}`, 'use GET');
    },
    handler: async () => null,
  });
}

/** A parameter of the query, the first of several as servlets have it; null: it is not there. Throws HttpRefusal for a very long one. */
export function parameter({ query }: FastifyRequest, name: string): string | null {
  const value = (query as Record<string, unknown>)[name];
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof first !== 'string') return null;
  if (first.length <= MAX_PARAMETER_CHARACTERS) return first;
  throw new HttpRefusal(
    400,
    JAVA.ILLEGAL_ARGUMENT,
    `the parameter '${name}' has ${first.length} characters`,
    `send at most ${MAX_PARAMETER_CHARACTERS}`,
  );
}

/** Text as it may stand in HTML and XML, attributes included; characters that XML does not allow are left out. */
export function escapeMarkup(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
      .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '')
      .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
  );
}
