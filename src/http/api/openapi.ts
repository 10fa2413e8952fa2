/** The OpenAPI document of the API, made from its table of routes. */
import { type AnyRoute, API, isChange, isInPath } from './route.ts';
import { REFUSAL, type Schema } from './schema.ts';

/** Name of the security scheme in the document. */
const TOKEN = 'token';
const DESCRIPTION = `Administration of a router, with the rules and permissions of its admin port. Reading takes no token; whoever sends one reads as
its user. Changes take a token out of the file that switchyard.http.token.file names.`;

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: Schema;
  readonly servers: readonly Schema[];
  /** By path and method in lower case. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Schema>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>>; readonly securitySchemes: Schema };
}

/** `version`: of this program. */
export function describeApi(routes: readonly AnyRoute[], version: string): OpenApiDocument {
  const types = new Types();
  const paths: Record<string, Record<string, Schema>> = {};
  for (const route of routes) {
    const methods = paths[route.path] ?? {};
    paths[route.path] = methods;
    methods[route.method.toLowerCase()] = describeRoute(route, types);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Switchyard', version, description: DESCRIPTION, license: { name: 'Apache-2.0' } },
    servers: [{ url: API }],
    paths,
    components: { schemas: types.schemas, securitySchemes: { [TOKEN]: { type: 'http', scheme: 'bearer' } } },
  };
}

function describeRoute(route: AnyRoute, types: Types): Schema {
  const { operation, summary, parameters = {}, body, status = 200, answer, refusals = {} } = route;
  const described = Object.entries(parameters).map(([name, { schema, isRequired, summary: description }]) => ({
    name,
    in: isInPath(route, name) ? 'path' : 'query',
    required: isRequired === true,
    description,
    schema,
  }));
  const refusal = (description: string): Schema => ({ description, content: json(types.refer(REFUSAL)) });
  const own = Object.entries(refusals).map(([code, description]) => [code, refusal(description)]);
  return {
    operationId: operation,
    summary,
    parameters: described,
    ...(body === undefined ? {} : { requestBody: { required: true, content: json(types.refer(body)) } }),
    responses: {
      [status]: { description: 'done', ...(answer === undefined ? {} : { content: json(types.refer(answer)) }) },
      ...Object.fromEntries(own),
      default: refusal('refused'),
    },
    security: isChange(route) ? [{ [TOKEN]: [] }] : [{}, { [TOKEN]: [] }],
  };
}

function json(schema: Schema): Schema {
  return { 'application/json': { schema } };
}

/** Schemas with a title, each once, under that name. */
class Types {
  readonly schemas: Record<string, Schema> = {};

  /** The schema with a reference in place of each part that has a title. */
  refer(schema: Schema): Schema {
    const { title } = schema;
    if (typeof title !== 'string') return this.#referParts(schema);
    if (this.schemas[title] === undefined) {
      const { title: _, ...rest } = schema;
      this.schemas[title] = this.#referParts(rest);
    }
    return { $ref: `#/components/schemas/${title}` };
  }

  #referParts(schema: Schema): Schema {
    const parts: Record<string, unknown> = { ...schema };
    if (isSchema(schema['items'])) parts['items'] = this.refer(schema['items']);
    const { properties } = schema;
    if (isSchema(properties)) {
      const entries = Object.entries(properties).map(([name, part]) => [name, this.refer(part as Schema)]);
      parts['properties'] = Object.fromEntries(entries);
    }
    return parts;
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null;
}
