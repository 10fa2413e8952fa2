import { readFileSync } from 'node:fs';
import fastify from 'fastify';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { DecayScheduler } from '../../src/admission/scheduler/decay-scheduler.ts';
import { api, apiRoutes } from '../../src/http/api/api.ts';
import { describeApi, type OpenApiDocument } from '../../src/http/api/openapi.ts';
import { API } from '../../src/http/api/route.ts';
import { CHECKS } from '../../src/http/http-server.ts';
import { FIGURES } from '../../src/observer/shared/figures.ts';
import type { SchedulerSettings } from '../../src/shared/settings.ts';
import { ROUTER_USER } from '../support/admin-rig.ts';
import { type Answer, HttpRig, mountBody, TOKENS, VERSION } from '../support/http-rig.ts';

type Json = Readonly<Record<string, unknown>>;

const TWO_LEVELS: SchedulerSettings = {
  periodMs: 5_000,
  factor: 0.5,
  thresholds: [0.5],
  serviceUsers: [],
  identity: 'user',
  weightedCost: null,
  responseTimesMs: null,
  topUsers: 10,
};

/** Checks values against schemas of the document, by the validator that the server has. */
class Checker {
  readonly #document: OpenApiDocument;
  readonly #app = fastify({ ajv: { customOptions: CHECKS } });
  readonly #urls = new Map<string, string>();

  constructor(document: OpenApiDocument) {
    this.#document = document;
  }

  /** Before the first check. */
  add(name: string, schema: unknown): void {
    const url = `/${this.#urls.size}`;
    this.#urls.set(name, url);
    this.#app.post(url, { schema: { body: this.#resolve(schema) } }, async () => 'fits');
  }

  async mistakeOf(name: string, value: unknown): Promise<string> {
    const url = this.#urls.get(name);
    if (url === undefined) throw new Error(`the document has no schema for ${name}`);
    const answer = await this.#app.inject({ method: 'POST', url, payload: value as object });
    return answer.body === 'fits' ? '' : answer.body;
  }

  /** With what references stand for in their place. */
  #resolve(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.#resolve(each));
    if (typeof schema !== 'object' || schema === null) return schema;
    const { $ref } = schema as { $ref?: string };
    if ($ref !== undefined) {
      const [, name = ''] = /^#\/components\/schemas\/(\w+)$/.exec($ref) ?? [];
      const found = this.#document.components.schemas[name];
      if (found === undefined) throw new Error(`${$ref} is not in the document`);
      return this.#resolve(found);
    }
    return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, this.#resolve(value)]));
  }
}

function operations(document: OpenApiDocument): [name: string, operation: Json][] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Json] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
}

function schemaOf(content: unknown): unknown {
  return (content as { content?: { 'application/json': { schema: unknown } } }).content?.['application/json'].schema;
}

describe('the OpenAPI document', () => {
  it('is served, and has exactly the routes that are served', async () => {
    await using rig = await HttpRig.start();
    const { status, body } = await rig.ask('GET', '/openapi.json', undefined, '');
    expect(status).toBe(200);
    const routes = apiRoutes(rig.parts, VERSION);
    expect(body).toEqual(JSON.parse(JSON.stringify(describeApi(routes, VERSION))));
    expect(body.info).toMatchObject({ title: 'Switchyard', version: VERSION });
    expect(body.servers).toEqual([{ url: API }]);

    const served: string[] = [];
    const app = fastify({ ajv: { customOptions: CHECKS } });
    app.addHook('onRoute', ({ method, url }) => {
      // Methods that are refused come in lists; HEAD comes with GET.
      if (!Array.isArray(method) && method !== 'HEAD') served.push(`${method} ${url}`);
    });
    api({ parts: rig.parts, login: rig.login, version: VERSION, log: pino({ enabled: false }) })(app);
    await app.ready();
    const described = operations(body).map(([name]) => name.replace(' ', ` ${API}`).replace(/\{(\w+)\}/g, ':$1'));
    expect(described.toSorted()).toEqual(served.toSorted());
    expect(described.length).toBeGreaterThan(15);
    await app.close();
  });

  it('is whole: names of their own, parameters where the path has them, references that lead somewhere', async () => {
    await using rig = await HttpRig.start();
    const document = describeApi(apiRoutes(rig.parts, VERSION), VERSION);
    const names = operations(document).map(([, { operationId }]) => operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const [name, operation] of operations(document)) {
      const inPath = [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
      const parameters = operation['parameters'] as { name: string; in: string; required: boolean; schema: Json }[];
      const own = parameters.filter((parameter) => parameter.in === 'path');
      expect(
        own.map((parameter) => parameter.name),
        name,
      ).toEqual(inPath);
      for (const parameter of own) expect(parameter.required, name).toBe(true);
      const isGet = name.startsWith('GET ');
      expect(operation['security'], name).toEqual(isGet ? [{}, { token: [] }] : [{ token: [] }]);
      expect(Object.keys(operation['responses'] as object), name).toContain('default');
    }
    const text = JSON.stringify(document);
    for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      expect(Object.keys(document.components.schemas)).toContain(name);
    }
    for (const name of Object.keys(document.components.schemas)) {
      expect(text, name).toContain(`"#/components/schemas/${name}"`);
    }
  });

  it('says of each figure of observer reads what it counts', async () => {
    await using rig = await HttpRig.start();
    const { components } = describeApi(apiRoutes(rig.parts, VERSION), VERSION);
    const { properties } = components.schemas['ObserverFigures'] as { properties: Record<string, Json> };
    expect(Object.keys(properties)).toEqual(FIGURES);
    for (const [name, { description }] of Object.entries(properties)) expect(description, name).toMatch(/\w/);
  });

  it('describes what is sent and answered, refusals too', async () => {
    await using rig = await HttpRig.start();
    await rig.admin.register();
    await rig.admin.store?.load('RouterState', true);
    const document = describeApi(apiRoutes(rig.parts, VERSION), VERSION);
    const checker = new Checker(document);
    for (const [name, { requestBody, responses }] of operations(document)) {
      if (requestBody !== undefined) checker.add(`${name} body`, schemaOf(requestBody));
      for (const [status, response] of Object.entries(responses as object)) {
        const schema = schemaOf(response);
        if (schema !== undefined) checker.add(`${name} ${status}`, schema);
      }
    }
    const asked = new Set<string>();
    const ask = async (name: string, query = '', body?: object): Promise<Answer> => {
      const [method = '', path = ''] = name.split(' ');
      const answer = await rig.ask(method, path.replace('{id}', 'ns1') + query, body);
      const { responses = {} } = (document.paths[path]?.[method.toLowerCase()] ?? {}) as { responses?: Json };
      const status = responses[answer.status] === undefined ? 'default' : String(answer.status);
      if (body !== undefined) expect(await checker.mistakeOf(`${name} body`, body), `${name} body`).toBe('');
      if (answer.body !== null) expect(await checker.mistakeOf(`${name} ${status}`, answer.body), name).toBe('');
      if (answer.status < 300) asked.add(name);
      return answer;
    };
    const quota = { namespace: '9223372036854775807', space: '1t', storageTypes: { SSD: 5 } };
    await ask('POST /mounts', '', mountBody('/x', { quota }));
    await ask('POST /mounts', '', mountBody('/x'));
    await ask('POST /mounts/batch', '', { mounts: [mountBody('/x'), mountBody('/y')] });
    await ask('POST /mounts/refresh');
    await ask('GET /mounts', '?limit=1');
    await ask('GET /mount', '?path=/x');
    await ask('GET /mount', '?path=/none');
    await ask('GET /quotas');
    await ask('PUT /mount', '?path=/x', mountBody('/x'));
    await ask('PATCH /mount', '?path=/x', { readOnly: true });
    await ask('PUT /mount/quota', '?path=/x', quota);
    await ask('DELETE /mount/quota', '?path=/x');
    await ask('DELETE /mount', '?path=/x');
    await ask('GET /nameservices');
    await ask('GET /nameservices/{id}');
    await ask('PUT /nameservices/{id}', '', { enabled: false });
    await ask('GET /observers');
    await ask('GET /queues');
    rig.schedulerReport = new DecayScheduler(TWO_LEVELS).report();
    await ask('GET /queues');
    await ask('GET /routers');
    await ask('GET /safemode');
    await ask('PUT /safemode', '', { on: true });
    await ask('GET /resolve', '?path=/x');
    await ask('POST /proxy-users/refresh');
    await ask('GET /openapi.json');
    expect([...asked].sort()).toEqual(
      operations(document)
        .map(([name]) => name)
        .sort(),
    );
    // The checker does find mistakes.
    expect(await checker.mistakeOf('GET /safemode 200', { on: 1 })).toContain('must be boolean');
    expect(await checker.mistakeOf('GET /safemode 200', { on: true, more: 1 })).not.toBe('');
    expect(await checker.mistakeOf('GET /mount 200', mountBody('/x'))).toContain('must have required property');
  });

  it('has the routes that stand in the manual', async () => {
    await using rig = await HttpRig.start();
    const page = readFileSync(new URL('../../src/manual/admin.md', import.meta.url), 'utf8');
    const told = [...page.matchAll(/^\| `([A-Z]+ \/\S+)` \|/gm)].map(([, name]) => name);
    const described = operations(describeApi(apiRoutes(rig.parts, VERSION), VERSION)).map(([name]) => name);
    expect(told.toSorted()).toEqual(described.toSorted());
  });

  it('is of a server that has tokens in no answer', async () => {
    await using rig = await HttpRig.start();
    const { body } = await rig.ask('GET', '/openapi.json', undefined, ROUTER_USER);
    for (const token of Object.values(TOKENS)) expect(JSON.stringify(body)).not.toContain(token);
  });
});
