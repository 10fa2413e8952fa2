import { connect } from 'node:net';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { apiRoutes } from '../../src/http/api/api.ts';
import { HttpRig, mountBody } from '../support/http-rig.ts';
import { nextEvent } from '../support/wait.ts';

const LIMITS = { numRuns: 300, interruptAfterTimeLimit: 20_000 };

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('/', '/a', '/a/b', '//x', '/x/', '/..', '/a_b', '/a:b', '/.reserved', 'ns0'),
);
const limit = fc.oneof(
  fc.nat(),
  fc.maxSafeInteger(),
  fc.constantFrom(null, '10t', '9'.repeat(19), '0', -1, 1.5, 2 ** 60),
);

/** Mount entries as they may be, and as they may not. */
const mount = fc.record(
  {
    path: text,
    destinations: fc.array(fc.record({ nameservice: text, path: text }, { requiredKeys: [] }), { maxLength: 3 }),
    order: fc.constantFrom('HASH', 'HASH_ALL', 'SPACE', 'NOPE'),
    readOnly: fc.boolean(),
    faultTolerant: fc.boolean(),
    owner: text,
    group: text,
    mode: fc.constantFrom('0755', '1777', '9', ''),
    quota: fc.record(
      { namespace: limit, space: limit, storageTypes: fc.dictionary(text, limit) },
      { requiredKeys: [] },
    ),
    dateCreated: fc.anything(),
  },
  { requiredKeys: [] },
);

/** What the log tells of defects. */
function defects(rig: HttpRig): string[] {
  return rig.lines.filter((line) => line.includes('a request failed'));
}

it('requests with any values are done or refused, and what is stored can be listed', async () => {
  await using rig = await HttpRig.start();
  const routes = apiRoutes(rig.parts, '1').filter(({ path }) => path !== '/openapi.json');
  const body = fc.oneof(
    mount,
    mount.map((fields) => ({ ...mountBody('/p'), ...fields })),
    fc.array(mount, { maxLength: 3 }).map((mounts) => ({ mounts })),
    fc.record({ enabled: fc.boolean(), on: fc.boolean() }, { requiredKeys: [] }),
    fc.jsonValue(),
  );
  const query = fc.dictionary(fc.constantFrom('path', 'limit', 'after', 'x'), fc.oneof(text, fc.nat().map(String)), {
    maxKeys: 3,
  });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...routes), text, query, body, async (route, id, parameters, given) => {
      const { method, path } = route;
      const search = new URLSearchParams(parameters);
      const url = `${path.replace('{id}', encodeURIComponent(id.toWellFormed()))}?${search}`;
      const { status, body: answer } = await rig.ask(method, url, route.body === undefined ? undefined : given);
      expect(status).not.toBe(500);
      if (status >= 400) expect(answer.RemoteException.message).not.toBe('');
      const { body: listed } = await rig.ask('GET', '/mounts?limit=10000');
      expect(listed.total).toBe(rig.admin.store?.records('MountTable').size);
    }),
    LIMITS,
  );
  expect(defects(rig)).toEqual([]);
  // Another router can read all of it.
  expect((await rig.ask('POST', '/mounts/refresh')).status).toBe(204);
  expect(rig.admin.store?.problems).toEqual([]);
});

it('whatever bytes come, the HTTP server goes on', async () => {
  await using rig = await HttpRig.start();
  const bytes = fc.uint8Array({ maxLength: 300 }).map((each) => Buffer.from(each));
  const head = fc
    .tuple(fc.constantFrom('GET', 'POST', 'TRACE', 'X'), text, fc.constantFrom('1.1', '1.0', '9.9'))
    .map(([method, path, version]) => `${method} /api/v1/mounts${encodeURI(path.toWellFormed())} HTTP/${version}\r\n`);
  const length = fc.constantFrom('content-length: 5', 'content-length: x', 'transfer-encoding: chunked', 'a: b');
  const streams = fc.oneof(
    bytes,
    fc.tuple(head, bytes).map(([line, more]) => Buffer.concat([Buffer.from(line), more])),
    fc
      .tuple(head, length, bytes)
      .map(([line, field, more]) => Buffer.concat([Buffer.from(`${line}host: x\r\n${field}\r\n\r\n`), more])),
  );
  await fc.assert(
    fc.asyncProperty(streams, async (stream) => {
      const socket = connect(rig.server.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.resume();
      const closed = nextEvent(socket, 'close', 'the end of the connection');
      socket.end(stream);
      await closed;
    }),
    LIMITS,
  );
  expect((await rig.ask('GET', '/safemode')).status).toBe(200);
  expect(defects(rig)).toEqual([]);
});
