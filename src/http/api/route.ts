import type { FastifyReply } from 'fastify';
import type { AdminCaller } from '../../admin/access.ts';
import { JAVA } from '../../control/rpc-server/remote-exception.ts';
import { HttpRefusal } from '../refusal.ts';
import type { Schema } from './schema.ts';

/** Where the API begins. */
export const API = '/api/v1';

/** One request, checked against what its route takes. */
export interface ApiCall<Query, Body> {
  readonly caller: AdminCaller;
  readonly query: Query;
  readonly body: Body;
  /** Of the client. */
  readonly address: string;
  readonly reply: FastifyReply;
}

/**
 * One thing that can be asked of the API: what it takes and gives, as JSON schemas, and what it does. GET reads, everything else changes
 * something. The routes are one table, from which requests are checked and the OpenAPI document is made.
 */
export interface ApiRoute<Query = never, Body = never> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `API`; a parameter is written `{id}`. */
  readonly path: string;
  /** Name of the operation for programs that are generated from the document. */
  readonly operation: string;
  readonly summary: string;
  /** Parameters of the path and of the query. */
  readonly parameters?: Readonly<Record<string, Parameter>>;
  readonly body?: Schema;
  readonly maxBodyBytes?: number;
  /** 200 unless given; 204 has no answer. */
  readonly status?: 201 | 204;
  readonly answer?: Schema;
  /** Statuses of refusals that are this route's own, with what each means. */
  readonly refusals?: Readonly<Record<number, string>>;
  /** Gives the answer; refusals are RemoteException or HttpRefusal. `call.query` has the parameters of the path, too. */
  run(call: ApiCall<Query, Body>): unknown;
}

export interface Parameter {
  readonly schema: Schema;
  readonly isRequired?: true;
  readonly summary: string;
}

/** A route of the table, of which what it takes is known by its schemas only. */
export type AnyRoute = ApiRoute<never, never>;

/** Why changes are refused: 403. */
export const NOT_ALLOWED = 'this user may not do it';
export const NOT_SUPERUSER = 'this user is not a superuser';

/** Refuses a request for one of the things that GET `all` lists: 404. */
export function notFound(message: string, all: string): never {
  throw new HttpRefusal(404, JAVA.FILE_NOT_FOUND, message, `GET ${API}${all} lists those that there are`);
}

export function isChange({ method }: Pick<AnyRoute, 'method'>): boolean {
  return method !== 'GET';
}

export function isInPath(route: Pick<AnyRoute, 'path'>, parameter: string): boolean {
  return route.path.includes(`{${parameter}}`);
}
