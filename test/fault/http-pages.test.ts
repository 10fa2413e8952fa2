import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Configuration } from '../../src/config/configuration.ts';
import type { ThreadView } from '../../src/control/router-types.ts';
import { HttpServer } from '../../src/http/http-server.ts';
import { conf } from '../../src/http/pages/conf.ts';
import { type Health, healthPages } from '../../src/http/pages/health.ts';
import { logLevel } from '../../src/http/pages/log-level.ts';
import { stacks } from '../../src/http/pages/stacks.ts';
import { HttpRig, TOKENS } from '../support/http-rig.ts';
import { RouterProcess } from '../support/router-process.ts';
import { waitUntil } from '../support/wait.ts';
import { findFreePort } from '../support/zookeeper-server.ts';

const DRIVER = 'org.apache.hadoop.hdfs.server.federation.store.driver.impl.StateStoreFileImpl';
const SECRETS = ['hush-1', 'hush-2', 'hush-3', 'hush-4', 'hush-5', 'hush-6'] as const;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'switchyard-pages-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

type Part = ConstructorParameters<typeof HttpServer>[0]['parts'][number];

interface Page {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
}

/** A server of one part. */
class PageServer implements AsyncDisposable {
  readonly server: HttpServer;
  readonly rig: HttpRig;

  private constructor(server: HttpServer, rig: HttpRig) {
    this.server = server;
    this.rig = rig;
  }

  static async start(make: (rig: HttpRig) => Part): Promise<PageServer> {
    const rig = await HttpRig.start();
    const log = pino({ level: 'silent' });
    const server = new HttpServer({ settings: { ...rig.settings, port: 0 }, parts: [make(rig)], log });
    await server.start();
    return new PageServer(server, rig);
  }

  async get(path: string, options: RequestInit = {}): Promise<Page> {
    const answer = await fetch(`http://127.0.0.1:${this.server.port}${path}`, options);
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
    await this.rig[Symbol.asyncDispose]();
  }
}

describe('/conf', () => {
  function configuration(): Configuration {
    const secrets = {
      'fs.s3a.secret.key': SECRETS[0],
      'hadoop.zk.auth': `digest:me:${SECRETS[1]}`,
      'some.password': SECRETS[2],
      'my.own.jewel.x': SECRETS[3],
      'state-store-mysql.connection.url': `jdbc:mysql://u:${SECRETS[4]}@h/db?password=${SECRETS[5]}&x=1`,
    };
    const properties = Object.entries({
      ...secrets,
      'odd.key': '<a> & "b"',
      'hadoop.security.sensitive-config-keys': 'jewel,secret.key$,(',
    })
      .map(
        ([name, value]) =>
          `<property><name>${name}</name><value>${value.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</value></property>`,
      )
      .join('');
    writeFileSync(
      join(root, 'hdfs-rbf-site.xml'),
      `<configuration>${properties}<property><name>frozen</name><value>yes</value><final>true</final></property></configuration>`,
    );
    const overrides = [{ key: 'dfs.federation.router.handler.count', value: '77', origin: '--set' }];
    return new Configuration({ directory: root, overrides });
  }

  it('is XML, JSON for who asks for it, each without a secret', async () => {
    await using page = await PageServer.start(() => conf(configuration()));
    const xml = await page.get('/conf');
    expect([xml.status, xml.type]).toEqual([200, 'text/xml; charset=utf-8']);
    const json = await page.get('/conf', { headers: { accept: 'application/json' } });
    expect([json.status, json.type]).toEqual([200, 'application/json; charset=utf-8']);
    for (const secret of SECRETS) {
      expect(xml.text).not.toContain(secret);
      expect(json.text).not.toContain(secret);
    }
    const { properties } = JSON.parse(json.text) as { properties: { key: string }[] };
    const of = (name: string): unknown => properties.find(({ key }) => key === name);
    expect(of('odd.key')).toEqual({
      key: 'odd.key',
      value: '<a> & "b"',
      isFinal: false,
      resource: 'hdfs-rbf-site.xml',
    });
    expect(of('frozen')).toMatchObject({ value: 'yes', isFinal: true });
    expect(of('dfs.federation.router.handler.count')).toMatchObject({ value: '77', resource: '--set' });
    expect(of('dfs.federation.router.cache.ttl')).toMatchObject({ resource: 'hdfs-rbf-default.xml' });
    expect(of('some.password')).toMatchObject({ value: '<redacted>' });
    expect(of('state-store-mysql.connection.url')).toMatchObject({
      value: 'jdbc:mysql://******@h/db?password=******&x=1',
    });
    expect(xml.text).toContain('<name>some.password</name><value>******</value>');
    expect(xml.text).toContain('<value>&#60;a&#62; &#38; &#34;b&#34;</value>');
  });

  it('is one property where it is asked for, and nothing for one that is not set', async () => {
    await using page = await PageServer.start(() => conf(configuration()));
    const json = { headers: { accept: 'application/json' } };
    expect(JSON.parse((await page.get('/conf?name=frozen', json)).text)).toEqual({
      property: { key: 'frozen', value: 'yes', isFinal: true, resource: 'hdfs-rbf-site.xml' },
    });
    expect((await page.get('/conf?name=some.password')).text).not.toContain(SECRETS[2]);
    expect(await page.get('/conf?name=nix')).toMatchObject({ status: 404, text: '' });
    // Only the header counts.
    expect((await page.get('/conf?name=frozen&format=json')).type).toBe('text/xml; charset=utf-8');
    expect((await page.get(`/conf?name=${'a'.repeat(2_000)}`)).status).toBe(400);
    expect((await page.get('/conf', { method: 'POST' })).status).toBe(405);
  });
});

describe('/logLevel', () => {
  const log = pino({ level: 'info' }, { write: () => {} });
  const start = async (): Promise<PageServer> => await PageServer.start(({ login }) => logLevel(log, login));
  const asUser = (user: string): RequestInit => ({ headers: { authorization: `Bearer ${TOKENS[user]}` } });
  const outputs = ({ text }: Page): string[] =>
    text
      .split('\n')
      .filter((line) => line.startsWith('<!-- OUTPUT -->'))
      .map((line) => line.replace(/<[^>]*>/g, ''));

  it('shows the level, and changes it for superusers alone', async () => {
    await using page = await start();
    expect(outputs(await page.get('/logLevel'))).toEqual([]);
    expect(outputs(await page.get('/logLevel?log=x')).at(-1)).toBe('Effective Level: INFO');
    expect((await page.get('/logLevel?log=x&level=DEBUG')).status).toBe(401);
    expect((await page.get('/logLevel?log=x&level=DEBUG', asUser('bob'))).status).toBe(403);
    expect(
      (await page.get('/logLevel?log=x&level=DEBUG', { headers: { authorization: 'Bearer nonsense' } })).status,
    ).toBe(401);
    const foreign = { headers: { ...asUser('hdfs').headers, 'sec-fetch-site': 'cross-site' } };
    expect((await page.get('/logLevel?log=x&level=DEBUG', foreign)).status).toBe(403);
    expect(log.level).toBe('info');
    const changed = outputs(await page.get('/logLevel?log=x&level=debug', asUser('hdfs')));
    expect(changed).toContain('Setting Level to DEBUG ...');
    expect(changed.at(-1)).toBe('Effective Level: DEBUG');
    expect(log.level).toBe('debug');
    await page.get('/logLevel?log=x&level=OFF', asUser('hdfs'));
    expect(log.level).toBe('silent');
    await page.get('/logLevel?log=x&level=INFO', asUser('hdfs'));
    expect(log.level).toBe('info');
  });

  it('refuses a level that there is not, and shows names as text', async () => {
    await using page = await start();
    const bad = await page.get('/logLevel?log=%3Cscript%3E&level=LOUD');
    expect(bad.text).not.toContain('<script>');
    expect(outputs(bad)).toContain('Bad Level : LOUD');
    expect(log.level).toBe('info');
  });
});

describe('/stacks', () => {
  it('tells of threads, event loop and heap', async () => {
    const threads: ThreadView[] = [
      { name: 'acceptor 0', ready: true, deaths: 0 },
      { name: 'worker 0', ready: false, deaths: 3 },
    ];
    await using page = await PageServer.start(() => stacks(() => threads));
    const { status, type, text } = await page.get('/stacks');
    expect([status, type]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(text).toContain('3 threads of the router');
    expect(text).toContain('worker 0: not running, died 3 times within the last minute');
    expect(text).toMatch(/Thread \d+ \(.+\):\n {2}State: (RUNNABLE|WAITING|BLOCKED)/);
    expect(text).toMatch(/delay ms: mean [\d.]+, p50/);
    expect(text).toMatch(/Heap of the main thread: [\d.]+ MiB used/);
    // Nothing of the environment or the arguments.
    expect(text).not.toContain(process.execPath);
  });
});

describe('whether the router is well', () => {
  const running: ThreadView = { name: 'worker 0', ready: true, deaths: 0 };
  let health: { -readonly [K in keyof Health]: Health[K] };
  beforeEach(() => {
    health = {
      threads: () => [running],
      rpcAddress: () => '127.0.0.1:8888',
      isDraining: () => false,
      status: () => 'RUNNING',
    };
  });
  const all = async (page: PageServer): Promise<[number, number, number]> => {
    const statuses = await Promise.all(['/isActive', '/healthz', '/readyz'].map((path) => page.get(path)));
    return statuses.map(({ status }) => status) as [number, number, number];
  };

  it('is told by status', async () => {
    await using page = await PageServer.start(() => healthPages(new Proxy(health, {})));
    expect(await all(page)).toEqual([200, 200, 200]);
    expect((await page.get('/isActive')).text).toBe('I am Active!');
    health.status = () => 'SAFEMODE';
    expect(await all(page)).toEqual([405, 200, 503]);
    expect((await page.get('/isActive')).text).toContain('I am not Active!');
    expect((await page.get('/readyz')).text).toBe('the router is in state SAFEMODE\n');
    health.status = () => 'RUNNING';
    health.threads = () => [running, { name: 'worker 1', ready: false, deaths: 1 }];
    expect(await all(page)).toEqual([200, 503, 503]);
    expect((await page.get('/healthz')).text).toBe('the thread worker 1 does not run\n');
    health.threads = () => [running];
    health.isDraining = () => true;
    expect((await page.get('/readyz')).text).toBe('the router is about to end\n');
    health.isDraining = () => false;
    health.rpcAddress = () => '';
    expect((await page.get('/readyz')).text).toBe('the router has just started\n');
  });

  it('is told by a router that is started and has its State Store taken away', async () => {
    const store = join(root, 'store');
    mkdirSync(store);
    await using router = await RouterProcess.start({
      nameservices: { ns0: [{ port: 1 }] },
      keys: {
        'dfs.federation.router.store.driver.class': DRIVER,
        'dfs.federation.router.store.driver.file.directory': store,
        'dfs.federation.router.cache.ttl': '1s',
        'dfs.federation.router.safemode.extension': '0s',
        'dfs.federation.router.safemode.expiration': '2s',
        'dfs.federation.router.safemode.checkperiod': '200ms',
        'dfs.federation.router.admin-address': '127.0.0.1:0',
      },
      port: await findFreePort(),
      http: true,
    });
    const statusOf = async (path: string): Promise<number> =>
      (await fetch(`http://127.0.0.1:${router.httpPort}${path}`)).status;
    await waitUntil(async () => (await statusOf('/isActive')) === 200, 'the router is active');
    expect([await statusOf('/healthz'), await statusOf('/readyz')]).toEqual([200, 200]);
    rmSync(store, { recursive: true });
    await waitUntil(async () => (await statusOf('/isActive')) === 405, 'the router is in safe mode');
    expect([await statusOf('/healthz'), await statusOf('/readyz')]).toEqual([200, 503]);
  }, 60_000);
});
