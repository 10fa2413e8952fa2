import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HttpServer } from '../../src/http/http-server.ts';
import { Deployment, namesIn } from '../support/deployment.ts';
import { HttpRig, mountBody } from '../support/http-rig.ts';
import { RouterProcess, type RouterProcessOptions } from '../support/router-process.ts';
import { waitUntil } from '../support/wait.ts';

const TOKEN = '0123456789abcdef0123456789abcdef';
const DRIVER = 'org.apache.hadoop.hdfs.server.federation.store.driver.impl.StateStoreFileImpl';

let root: string;
let tokens: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'switchyard-http-router-'));
  tokens = join(root, 'tokens');
  mkdirSync(join(root, 'store'));
  writeFileSync(tokens, `hdfs ${TOKEN}\n`, { mode: 0o600 });
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function store(): Record<string, string> {
  return {
    'dfs.federation.router.store.driver.class': DRIVER,
    'dfs.federation.router.store.driver.file.directory': join(root, 'store'),
  };
}

async function ask(router: RouterProcess, method: string, path: string, body?: object): Promise<Response> {
  return await fetch(`http://127.0.0.1:${router.httpPort}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

describe('a router with an HTTP server', () => {
  it('routes by what was added over HTTP as soon as that is answered, and so do the others', async () => {
    await using deployment = await Deployment.start(store(), 0);
    const keys = { 'switchyard.http.token.file': tokens };
    const [one, other] = [await deployment.add(keys, true), await deployment.add(keys, true)] as const;
    const destinations = [{ nameservice: 'ns1', path: '/in-ns1' }];
    const added = await ask(one, 'POST', '/mounts', { ...mountBody('/m'), destinations });
    expect(added.status).toBe(201);
    expect(await namesIn(one, '/')).toContain('m');
    await waitUntil(async () => (await namesIn(other, '/'))?.includes('m'), 'the other router has the mount entry');

    const nameservices = async (router: RouterProcess): Promise<Record<string, unknown>[]> => {
      const answer = await ask(router, 'GET', '/nameservices');
      return ((await answer.json()) as { nameservices: Record<string, unknown>[] }).nameservices;
    };
    await waitUntil(async () => {
      const states = (await nameservices(one)).flatMap(({ namenodes }) => namenodes as Record<string, unknown>[]);
      return states.every(({ state, takesCalls, safeMode }) => state === 'ACTIVE' && takesCalls && safeMode === false);
    }, 'the NameNodes are reported active');
    expect((await nameservices(one)).map(({ id, enabled }) => [id, enabled])).toEqual([
      ['ns0', true],
      ['ns1', true],
    ]);
    expect((await ask(one, 'PUT', '/nameservices/ns1', { enabled: false })).status).toBe(200);
    expect((await nameservices(one)).map(({ enabled }) => enabled)).toEqual([true, false]);
    expect((await ask(one, 'GET', '/resolve?path=/m/x')).status).toBe(404);
    expect((await ask(one, 'PUT', '/nameservices/ns1', { enabled: true })).status).toBe(200);
    expect(await (await ask(one, 'GET', '/resolve?path=/m/x')).json()).toEqual({
      path: '/m/x',
      locations: [{ nameservice: 'ns1', path: '/in-ns1/x' }],
    });

    const { routers } = await waitUntil(async () => {
      const answer = (await (await ask(one, 'GET', '/routers')).json()) as { routers: Record<string, unknown>[] };
      return answer.routers.length === 2 && answer;
    }, 'both routers are registered');
    expect(routers.filter(({ self }) => self)).toMatchObject([
      { adminAddress: expect.stringMatching(new RegExp(`^[^:]+:${one.adminPort}$`)) },
    ]);

    expect((await ask(one, 'DELETE', '/mount?path=/m')).status).toBe(204);
    // There is nothing left to list.
    expect(await namesIn(one, '/')).toBeNull();
  });

  it('without a State Store shows the mount points of the command line and changes none', async () => {
    await using router = await RouterProcess.start({
      nameservices: { ns0: [{ port: 1 }] },
      mounts: ['/a=ns0:/b'],
      keys: { 'switchyard.http.token.file': tokens },
      env: { HADOOP_USER_NAME: 'hdfs' },
      http: true,
    });
    const { mounts } = (await (await ask(router, 'GET', '/mounts')).json()) as { mounts: unknown[] };
    expect(mounts).toMatchObject([{ path: '/a', destinations: [{ nameservice: 'ns0', path: '/b' }] }]);
    expect((await ask(router, 'GET', '/mount?path=/a')).status).toBe(200);
    expect((await ask(router, 'GET', '/mount?path=/b')).status).toBe(404);
    expect((await ask(router, 'POST', '/mounts', mountBody('/x'))).status).toBe(503);
    expect((await ask(router, 'DELETE', '/mount?path=/a')).status).toBe(503);
    expect(await (await ask(router, 'GET', '/routers')).json()).toMatchObject({
      routers: [{ self: true, status: 'RUNNING' }],
    });
    expect((await ask(router, 'PUT', '/safemode', { on: true })).status).toBe(409);
    expect(await router.stop()).toBe(0);
  });

  it('does not start with a file of tokens that others may read, or on a port that is taken', async () => {
    const options: RouterProcessOptions = { nameservices: { ns0: [{ port: 1 }] }, mounts: ['/a=ns0:/b'], http: true };
    chmodSync(tokens, 0o644);
    await expect(RouterProcess.start({ ...options, keys: { 'switchyard.http.token.file': tokens } })).rejects.toThrow(
      `switchyard start: hdfs-rbf-site.xml:6: switchyard.http.token.file = ${JSON.stringify(tokens)}: others than its owner may use it (mode 0644); run chmod 0600 on it`,
    );
    await using rig = await HttpRig.start();
    await using holder = new HttpServer({ settings: rig.settings, parts: [], log: undefined as never });
    await holder.start();
    const args = ['--set', `dfs.federation.router.http-address=127.0.0.1:${holder.port}`];
    await expect(RouterProcess.start({ ...options, args })).rejects.toThrow(
      /ended before it was ready \(2\)[\s\S]*cannot listen on 127\.0\.0\.1:\d+ \(dfs\.federation\.router\.http-address\): .*EADDRINUSE/,
    );
  });
});
