import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { KEYS_PAGE, renderKeyManual } from '../../scripts/make-key-manual.ts';
import { ConfigError } from '../../src/config/config-error.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { findUnprotected, isProtectionKey, protectionKeys, refuseUnprotected } from '../../src/config/fail-closed.ts';
import { DEPRECATED_KEYS, findKey, isUnknownOwnKey, KEYS, keyOf, nearestKey } from '../../src/config/keys.ts';

function configure(settings: Readonly<Record<string, string>>): Configuration {
  const overrides = Object.entries(settings).map(([key, value]) => ({ key, value, origin: '--set' }));
  return new Configuration({ overrides, environment: {} });
}

describe('table of keys', () => {
  it('has each key once', () => {
    const names = KEYS.map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('has defaults that can be read as their types say', () => {
    const configuration = configure({});
    for (const key of KEYS) {
      if (/[<*]/.test(key.name)) continue;
      expect(() => configuration.check(key.name, key), key.name).not.toThrow();
    }
  });

  it('lists what is allowed for every choice, and a default among it', () => {
    for (const { name, type, allowed = [], default: value } of KEYS) {
      if (type !== 'enum') continue;
      expect(allowed.length, name).toBeGreaterThan(1);
      if (value !== '') expect(allowed, name).toContain(value);
    }
  });

  it('knows the new name of every old one, or leaves it to clients', () => {
    const unknown = [...DEPRECATED_KEYS.values()].filter((name) => findKey(name) === null);
    expect(unknown).toEqual(['fs.defaultFS', 'dfs.client.socket-timeout']);
  });

  it('has the page of the manual that it generates', () => {
    expect(readFileSync(KEYS_PAGE, 'utf8')).toBe(renderKeyManual());
  });

  it.each([
    ['dfs.ha.namenodes.ns0', 'dfs.ha.namenodes.<nsId>'],
    ['dfs.namenode.rpc-address', 'dfs.namenode.rpc-address'],
    ['dfs.namenode.rpc-address.ns0', 'dfs.namenode.rpc-address'],
    ['dfs.namenode.rpc-address.ns0.nn1', 'dfs.namenode.rpc-address'],
    ['dfs.namenode.rpc-address.auxiliary-ports.ns0.nn1', 'dfs.namenode.rpc-address.auxiliary-ports'],
    ['dfs.federation.router.fairness.handler.count.ns0', 'dfs.federation.router.fairness.handler.count.<nsId>'],
    ['ipc.8888.callqueue.impl', 'ipc.<port>.callqueue.impl'],
    ['hadoop.proxyuser.oozie.hosts', 'hadoop.proxyuser.<user>.hosts'],
    ['state-store-mysql.connection.hikari.poolName', 'state-store-mysql.connection.hikari.*'],
  ])('finds %s as %s', (name, row) => {
    expect(findKey(name)?.name).toBe(row);
  });

  it('tells slips from keys of others', () => {
    expect(isUnknownOwnKey('dfs.federation.router.rpc-adress')).toBe(true);
    expect(isUnknownOwnKey('switchyard.worker')).toBe(true);
    expect(isUnknownOwnKey('dfs.federation.nameservices')).toBe(false);
    expect(isUnknownOwnKey('dfs.replication')).toBe(false);
    expect(nearestKey('dfs.federation.router.rpc-adress')).toBe('dfs.federation.router.rpc-address');
    expect(nearestKey('switchyard.worker')).toBe('switchyard.workers');
    expect(nearestKey('completely.different')).toBeNull();
    expect(nearestKey('dfs.federation.router.ns.name')).toBeNull();
    expect(() => keyOf('completely.different')).toThrow('is not in the table of keys');
  });
});

describe('settings that promise protection', () => {
  it('has none among the defaults', () => {
    expect(findUnprotected(configure({}))).toEqual([]);
  });

  it.each([
    ['hadoop.security.authentication', 'kerberos'],
    ['hadoop.security.authentication', 'KERBEROS'],
    ['hadoop.rpc.protection', 'privacy'],
    ['hadoop.rpc.protection', 'integrity'],
    ['hadoop.rpc.protection', 'authentication,privacy'],
    ['hadoop.security.authorization', 'true'],
    ['hadoop.security.authorization', 'yes'],
    ['hadoop.security.saslproperties.resolver.class', 'org.apache.hadoop.security.IngressPortBasedResolver'],
    ['hadoop.security.impersonation.provider.class', 'com.example.Rules'],
    ['hadoop.security.group.mapping', 'org.apache.hadoop.security.LdapGroupsMapping'],
    ['hadoop.security.instrumentation.requires.admin', 'true'],
    ['hadoop.http.authentication.type', 'kerberos'],
    ['hadoop.http.authentication.simple.anonymous.allowed', 'false'],
    ['hadoop.http.filter.initializers', 'org.apache.hadoop.security.AuthenticationFilterInitializer'],
    ['hadoop.zk.ssl.enabled', 'true'],
    ['hadoop.ssl.require.client.cert', 'true'],
    ['dfs.http.policy', 'HTTPS_ONLY'],
    ['dfs.webhdfs.rest-csrf.enabled', 'true'],
    ['dfs.https.need.client.auth', 'true'],
  ])('refuses %s = %s unless it is named', (key, value) => {
    const configuration = configure({ [key]: value });
    const name = DEPRECATED_KEYS.get(key) ?? key;
    expect(isProtectionKey(name)).toBe(true);
    expect(() => refuseUnprotected(configuration, [])).toThrow(ConfigError);
    expect(() => refuseUnprotected(configuration, [])).toThrow(`--set: ${name} = "${value}": asks for protection`);
    expect(() => refuseUnprotected(configuration, [])).toThrow(`--insecure ${name}`);
    expect(refuseUnprotected(configuration, [name])).toMatchObject([{ key: name, value, origin: '--set', file: null }]);
  });

  it.each([
    ['hadoop.security.authentication', ' simple '],
    ['hadoop.rpc.protection', 'authentication'],
    ['hadoop.security.authorization', 'false'],
    ['dfs.http.policy', 'HTTP_AND_HTTPS'],
    ['hadoop.security.group.mapping', 'org.apache.hadoop.security.ShellBasedUnixGroupsMapping'],
    ['hadoop.security.authentication', ''],
  ])('lets %s = %s pass', (key, value) => {
    expect(refuseUnprotected(configure({ [key]: value }), [])).toEqual([]);
  });

  it.each([
    ['dfs.http.policy', 'foo', 'HTTP_ONLY, HTTPS_ONLY, HTTP_AND_HTTPS'],
    ['hadoop.security.authentication', 'token', 'simple, kerberos'],
    ['hadoop.rpc.protection', 'authentication,secret', 'authentication, integrity, privacy'],
  ])('refuses %s = %s, which means nothing, even when it is named', (key, value, allowed) => {
    const message = `--set: ${key} = "${value}": not one of the possible values; allowed: ${allowed}`;
    expect(() => refuseUnprotected(configure({ [key]: value }), [key])).toThrow(message);
    expect(findUnprotected(configure({ [key]: value }))).toEqual([]);
  });

  it('names all of them at once, and needs each to be named', () => {
    const configuration = configure({ 'hadoop.security.authentication': 'kerberos', 'dfs.http.policy': 'HTTPS_ONLY' });
    expect(() => refuseUnprotected(configuration, [])).toThrow(AggregateError);
    expect(() => refuseUnprotected(configuration, ['dfs.http.policy'])).toThrow('hadoop.security.authentication');
    expect(refuseUnprotected(configuration, protectionKeys())).toHaveLength(2);
  });
});
