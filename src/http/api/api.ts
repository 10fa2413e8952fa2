import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  FastifySchemaValidationError,
} from 'fastify';
import type { AdminCaller } from '../../admin/access.ts';
import type { Log } from '../../control/log.ts';
import { JAVA } from '../../control/rpc-server/remote-exception.ts';
import type { HttpPart } from '../http-server.ts';
import type { Login } from '../login.ts';
import { HttpRefusal } from '../refusal.ts';
import { mountRoutes } from './mount-routes.ts';
import { nameserviceRoutes } from './nameservice-routes.ts';
import { observerRoutes } from './observer-routes.ts';
import { describeApi } from './openapi.ts';
import type { ApiParts } from './parts.ts';
import { queueRoutes } from './queue-routes.ts';
import { quotaRoutes } from './quota-routes.ts';
import { type AnyRoute, API, type ApiCall, isChange, isInPath } from './route.ts';
import { routerRoutes } from './router-routes.ts';
import { object } from './schema.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
/** Of a URL in the log. */
const MAX_LOGGED_CHARACTERS = 2_000;
/** Where a request carries who asks, from its headers on. */
const CALLER = 'apiCaller';

export interface ApiOptions {
  readonly parts: ApiParts;
  readonly login: Pick<Login, 'callerOf'>;
  /** Of this program. */
  readonly version: string;
  readonly log: Log;
}

/** All that can be asked of the API, its own description included. */
export function apiRoutes(parts: ApiParts, version: string): AnyRoute[] {
  const routes: AnyRoute[] = [
    ...mountRoutes(parts),
    ...quotaRoutes(parts),
    ...nameserviceRoutes(parts),
    ...observerRoutes(parts),
    ...queueRoutes(parts),
    ...routerRoutes(parts),
    {
      method: 'GET',
      path: '/openapi.json',
      operation: 'describeApi',
      summary: 'this document',
      answer: { type: 'object', description: 'an OpenAPI 3.1 document' },
      run: () => document,
    },
  ];
  const document = describeApi(routes, version);
  return routes;
}

/** The API as a part of the HTTP server. */
export function api({ parts, login, version, log }: ApiOptions): HttpPart {
  return (app) => {
    app.decorateRequest(CALLER, null);
    app.setSchemaErrorFormatter((errors, place) => new Error(describeMistake(errors[0] ?? {}, place)));
    app.setReplySerializer(toJson);
    const routes = apiRoutes(parts, version);
    for (const route of routes) addRoute(app, route, login, log);
    for (const [path, own] of Map.groupBy(routes, (route) => route.path)) refuseOthers(app, path, own);
  };
}

function addRoute(app: FastifyInstance, route: AnyRoute, login: ApiOptions['login'], log: Log): void {
  const { method, path, body, maxBodyBytes, status = 200 } = route;
  const run = route.run as (call: ApiCall<object, unknown>) => unknown;
  app.route({
    method,
    url: urlOf(path),
    schema: { ...parameterSchemas(route), ...(body === undefined ? {} : { body }) },
    ...(maxBodyBytes === undefined ? {} : { bodyLimit: maxBodyBytes }),
    // Before the body is read: it is nobody's who may not send it.
    onRequest: async (request, reply) => {
      const caller = await login.callerOf(request.headers, isChange(route));
      request.setDecorator(CALLER, caller);
      if (isChange(route)) reply.raw.once('close', () => logChange(request, reply, caller, log));
    },
    preValidation: async ({ query }) => readNumbers(query as Record<string, unknown>, route),
    handler: async (request, reply) => {
      const caller = request.getDecorator<AdminCaller>(CALLER);
      const query = { ...(request.query as object), ...(request.params as object) };
      reply.code(status);
      const { ip: address, body: given } = request;
      const answer = await run({ caller, query, body: given, address, reply });
      return status === 204 ? null : answer;
    },
  });
}

/** Status null: the client has gone before the answer. */
function logChange({ method, url, ip }: FastifyRequest, { raw }: FastifyReply, { user }: AdminCaller, log: Log): void {
  const request = `${method} ${url.slice(0, MAX_LOGGED_CHARACTERS)}`;
  log.info({ user, address: ip, request, status: raw.writableFinished ? raw.statusCode : null }, 'HTTP: a change');
}

/** Other methods of a path that is there. */
function refuseOthers(app: FastifyInstance, path: string, own: readonly AnyRoute[]): void {
  const allowed = own.map(({ method }): string => method);
  if (allowed.includes('GET')) allowed.push('HEAD');
  app.route({
    method: METHODS.filter((method) => !allowed.includes(method)),
    url: urlOf(path),
    onRequest: async ({ method }, reply) => {
      reply.header('allow', allowed.join(', '));
      const why = `${method} does nothing at ${API}${path}`;
      throw new HttpRefusal(405, JAVA.UNSUPPORTED, why, `use ${own.map((route) => route.method).join(' or ')}`);
    },
    handler: async () => null,
  });
}

function urlOf(path: string): string {
  return API + path.replace(/\{(\w+)\}/g, ':$1');
}

function parameterSchemas(route: AnyRoute): FastifySchema {
  const parameters = Object.entries(route.parameters ?? {});
  const schemaOf = (isPath: boolean): object => {
    const own = parameters.filter(([name]) => isInPath(route, name) === isPath);
    const required = own.filter(([, { isRequired }]) => isRequired === true).map(([name]) => name);
    return object(Object.fromEntries(own.map(([name, { schema }]) => [name, schema])), required);
  };
  return { params: schemaOf(true), querystring: schemaOf(false) };
}

/** A query is text: where a number is meant, the text of one becomes it, and everything else is refused by the schema. */
function readNumbers(query: Record<string, unknown>, { parameters = {} }: AnyRoute): void {
  for (const [name, { schema }] of Object.entries(parameters)) {
    const text = query[name];
    if (schema['type'] === 'integer' && typeof text === 'string' && /^\d{1,9}$/.test(text)) query[name] = Number(text);
  }
}

/** How messages call the parts of a request. */
const PLACES: Readonly<Record<string, string>> = { querystring: 'query', params: 'path' };

/** `body.destinations.0.path must have …`. */
function describeMistake(error: Partial<FastifySchemaValidationError>, place: string): string {
  const { instancePath = '', message = 'is not as it should be', params = {} } = error;
  const where = `${PLACES[place] ?? place}${instancePath.replaceAll('/', '.')}`;
  const { additionalProperty, allowedValues } = params as { additionalProperty?: string; allowedValues?: unknown[] };
  if (additionalProperty !== undefined) return `${where} has a field '${additionalProperty}', which nobody knows`;
  return allowedValues === undefined ? `${where} ${message}` : `${where} must be one of ${allowedValues.join(', ')}`;
}

/** JSON text; 64-bit values are numbers where those are exact, else text. */
function toJson(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (typeof each !== 'bigint') return each;
    return Number.isSafeInteger(Number(each)) ? Number(each) : String(each);
  });
}
