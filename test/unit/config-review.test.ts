import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Configuration } from '../../src/config/configuration.ts';
import { type Review, reviewConfiguration, reviewReach } from '../../src/config/review.ts';

const LOCAL = new Set(['localhost', '127.0.0.1']);
const SOUND = {
  'dfs.nameservices': 'ns0',
  'dfs.namenode.rpc-address.ns0': 'nn.example.com:8020',
};
let conf: string;

beforeEach(() => {
  conf = mkdtempSync(join(tmpdir(), 'switchyard-review-'));
});

afterEach(() => rmSync(conf, { recursive: true, force: true }));

function write(file: string, settings: Readonly<Record<string, string>>): void {
  const lines = Object.entries(settings).map(
    ([name, value]) => `<property><name>${name}</name><value>${value}</value></property>`,
  );
  writeFileSync(join(conf, file), `<configuration>\n${lines.join('\n')}\n</configuration>\n`);
}

function review(rbf: Readonly<Record<string, string>> = {}): Review {
  write('hdfs-site.xml', SOUND);
  write('hdfs-rbf-site.xml', rbf);
  return reviewConfiguration(new Configuration({ directory: conf, environment: {} }), LOCAL);
}

function messages({ findings }: Review): string[] {
  return findings.map(({ severity, place, key, message }) => `${severity} ${place} ${key}: ${message}`);
}

describe('review of a configuration', () => {
  it('finds nothing wrong with a sound one and lists its values with their origin', () => {
    const found = review({ 'dfs.federation.router.connection.pool-size': '4' });
    expect(found.findings).toEqual([]);
    expect(found.unsupported).toEqual([]);
    expect(found.unprotected).toEqual([]);
    const values = new Map(found.keys.map(({ name, value, origin, status }) => [name, [value, origin, status]]));
    expect(values.get('dfs.federation.router.connection.pool-size')).toEqual(['4', 'hdfs-rbf-site.xml:2', 'used']);
    expect(values.get('dfs.namenode.rpc-address.ns0')).toEqual(['nn.example.com:8020', 'hdfs-site.xml:3', 'used']);
    expect(values.get('dfs.federation.router.rpc-address')).toEqual(['0.0.0.0:8888', 'default', 'used']);
  });

  it.each<[string, string, string]>([
    [
      'dfs.federation.router.rcp-address',
      'x',
      'warning hdfs-rbf-site.xml:2 dfs.federation.router.rcp-address: no router knows this key; did you mean dfs.federation.router.rpc-address?',
    ],
    [
      'dfs.federation.router.observer.read.overrides',
      'ns0,ns9',
      'warning hdfs-rbf-site.xml:2 dfs.federation.router.observer.read.overrides: no nameservice ns9 is behind this router, so it is passed over; behind it: ns0',
    ],
    [
      'dfs.federation.router.metrics.enable',
      'yes',
      'warning hdfs-rbf-site.xml:2 dfs.federation.router.metrics.enable: "yes" is neither true nor false, so the default (true) counts; write true or false',
    ],
    [
      'dfs.federation.router.connection.pool-size',
      'x',
      'error hdfs-rbf-site.xml:2 dfs.federation.router.connection.pool-size: "x" is not a whole number; allowed: a whole number of 32 bits, e.g. 100',
    ],
    [
      'dfs.federation.router.reader.count',
      'x',
      'warning hdfs-rbf-site.xml:2 dfs.federation.router.reader.count: "x" is not a whole number; allowed: a whole number of 32 bits, e.g. 100',
    ],
    [
      'dfs.federation.router.connection.clean.ms',
      '20s',
      'note hdfs-rbf-site.xml:2 dfs.federation.router.connection.clean.ms: a Java router does not start with a unit here; write plain milliseconds',
    ],
    [
      'dfs.federation.router.rpc-bind-host',
      ' h',
      'warning hdfs-rbf-site.xml:2 dfs.federation.router.rpc-bind-host: the white space around the value counts; remove it',
    ],
    [
      'dfs.permissions.supergroup',
      'g',
      'note hdfs-rbf-site.xml:2 dfs.permissions.supergroup: old name of dfs.permissions.superusergroup',
    ],
    [
      'dfs.namenode.rpc-address.ns0.nn7',
      'h:1',
      'warning hdfs-rbf-site.xml:2 dfs.namenode.rpc-address.ns0.nn7: dfs.ha.namenodes.ns0 does not list nn7; add it there',
    ],
    [
      'dfs.namenode.rpc-address.ns1',
      'nn.example.com:8020',
      'warning hdfs-rbf-site.xml:2 dfs.namenode.rpc-address.ns1: nn.example.com:8020 is also the address in dfs.namenode.rpc-address.ns0',
    ],
    [
      'dfs.namenode.rpc-address.ns0',
      '127.0.0.1:8888',
      'note hdfs-site.xml:2 dfs.nameservices: nameservice ns0 is this router itself: dfs.namenode.rpc-address.ns0 is the address of its client port',
    ],
    [
      'dfs.nameservices',
      'ns0,ns2',
      'warning hdfs-rbf-site.xml:2 dfs.nameservices: nameservice ns2 has no NameNode with an address; set dfs.namenode.rpc-address.ns2[.NAMENODE]',
    ],
    [
      'dfs.federation.router.default.nameserviceId',
      'ns9',
      'error hdfs-rbf-site.xml:2 dfs.federation.router.default.nameserviceId: "ns9" is no nameservice behind this router; allowed: ns0',
    ],
    [
      'hadoop.proxyuser.x.hosts',
      '1.2.3.4/77',
      `error hdfs-rbf-site.xml:2 hadoop.proxyuser.x.hosts: "1.2.3.4/77" is '1.2.3.4/77' is no network; write ADDRESS/BITS, e.g. 10.1.0.0/16`,
    ],
    [
      'dfs.http.policy',
      'foo',
      'error hdfs-rbf-site.xml:2 dfs.http.policy: "foo" is not one of the possible values; allowed: HTTP_ONLY, HTTPS_ONLY, HTTP_AND_HTTPS',
    ],
    [
      'ipc.maximum.data.length',
      '10',
      'error hdfs-rbf-site.xml:2 ipc.maximum.data.length: "10" is out of range; allowed: 1024 to 2147483647 bytes',
    ],
    [
      'dfs.federation.router.ns.name',
      'x',
      'warning hdfs-rbf-site.xml:2 dfs.federation.router.ns.name: no router knows this key; remove it',
    ],
    [
      'dfs.federation.router.store.driver.class',
      'org.apache.hadoop.hdfs.server.federation.store.driver.impl.StateStoreFileImpl',
      'warning hdfs-rbf-site.xml:2 dfs.federation.router.store.driver.class: the file driver has no directory; set dfs.federation.router.store.driver.file.directory',
    ],
  ])('says what is wrong with %s = %s', (key, value, message) => {
    expect(messages(review({ [key]: value }))).toContain(message);
  });

  it('finds unknown keys of the command line, whoever they seem to belong to, but for variables', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Hadoop's configuration
    write('hdfs-site.xml', { ...SOUND, 'dfs.replication': '${copies}', 'bogus.other': '1' });
    const overrides = ['bogus.key', 'ipc.client.pings', 'copies'].map((key) => ({ key, value: '3', origin: '--set' }));
    const configuration = new Configuration({ directory: conf, overrides, environment: {} });
    expect(messages(reviewConfiguration(configuration, LOCAL))).toEqual([
      'warning --set bogus.key: has no effect, this router reads no such key; remove it',
      'warning --set ipc.client.pings: has no effect, this router reads no such key; did you mean ipc.client.ping?',
    ]);
  });

  it('finds a file that is no configuration', () => {
    write('hdfs-site.xml', SOUND);
    writeFileSync(join(conf, 'core-site.xml'), '<?xml version="1.0"?>\n<config><property/></config>');
    const configuration = new Configuration({ directory: conf, environment: {} });
    expect(messages(reviewConfiguration(configuration, LOCAL))).toEqual([
      'warning core-site.xml:2 : the outermost element is <config>; it should be <configuration>',
    ]);
  });

  it('finds that no path leads anywhere', () => {
    const reach = (settings: Readonly<Record<string, string>>): string[] => {
      write('hdfs-rbf-site.xml', settings);
      const findings = reviewReach(new Configuration({ directory: conf, environment: {} }));
      return findings.map(({ severity, place, key }) => `${severity} ${place} ${key}`);
    };
    const id = 'dfs.federation.router.default.nameserviceId';
    const enable = 'dfs.federation.router.default.nameservice.enable';
    expect(reach({})).toEqual([`warning default ${id}`]);
    expect(reach({ [id]: 'ns0', [enable]: 'false' })).toEqual([`warning hdfs-rbf-site.xml:3 ${enable}`]);
    expect(reach({ [id]: 'ns0' })).toEqual([]);
    expect(reach({ 'hadoop.zk.address': 'zk:2181' })).toEqual([]);
  });

  it('reports router keys that do nothing in core-site.xml, and values that final ones stop', () => {
    write('core-site.xml', { 'dfs.federation.router.handler.count': '64' });
    expect(messages(review())).toEqual([
      'warning core-site.xml:2 dfs.federation.router.handler.count: hdfs-rbf-default.xml of Hadoop sets it again, to "10"; write it in hdfs-rbf-site.xml',
    ]);
    writeFileSync(
      join(conf, 'core-site.xml'),
      '<configuration><property><name>dfs.nameservices</name><value>ns0</value><final>true</final></property></configuration>',
    );
    expect(messages(review({ 'dfs.nameservices': 'ns1' }))).toEqual([
      'warning hdfs-rbf-site.xml:2 dfs.nameservices: has no effect, core-site.xml:1 makes it final',
    ]);
  });

  it('lists what has no effect yet only when it asks for something', () => {
    const found = review({
      'dfs.federation.router.client.reject.overload': 'true',
      'dfs.federation.router.admin.enable': 'true',
      'dfs.federation.router.handler.count': '99',
      'dfs.federation.router.store.driver.class':
        'org.apache.hadoop.hdfs.server.federation.store.driver.impl.StateStoreZooKeeperImpl',
    });
    expect(found.unsupported.map(({ name }) => name)).toEqual([
      'dfs.federation.router.client.reject.overload',
      'dfs.federation.router.store.driver.class',
    ]);
  });

  it('lists what start refuses', () => {
    const found = review({ 'hadoop.security.authentication': 'kerberos' });
    expect(found.unprotected).toMatchObject([{ key: 'hadoop.security.authentication', origin: 'hdfs-rbf-site.xml:2' }]);
    expect(found.unsupported).toEqual([]);
  });

  it('hides secrets', () => {
    const found = review({ 'state-store-mysql.connection.password': 'tiger', 'hadoop.zk.auth': 'digest:a:b' });
    const shown = JSON.stringify(found);
    expect(shown).not.toMatch(/tiger|digest:a:b/);
    expect(shown).toContain('(hidden)');
  });
});
