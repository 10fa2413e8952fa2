import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/config/config-error.ts';
import { Configuration } from '../../src/config/configuration.ts';
import {
  type MonitoredNamenode,
  nameOf,
  readMonitored,
  recordedAddress,
} from '../../src/control/membership/addresses.ts';
import { readMembershipSettings } from '../../src/control/membership/settings.ts';
import type { Settings, Topology } from '../../src/shared/settings.ts';

const ROUTER = 'dfs.federation.router';
const TOPOLOGY: Topology = {
  nameservices: [
    {
      id: 'ns0',
      namenodes: [
        { id: 'nn0', host: 'a', port: 8020 },
        { id: 'nn1', host: '::1', port: 8021 },
      ],
    },
    { id: 'ns1', namenodes: [{ id: '', host: 'c', port: 8020 }] },
  ],
};

function configurationOf(keys: Readonly<Record<string, string>>): Configuration {
  const overrides = Object.entries(keys).map(([key, value]) => ({ key, value, origin: 'test' }));
  return new Configuration({ directory: null, overrides });
}

function monitored(keys: Readonly<Record<string, string>>): MonitoredNamenode[] {
  return readMonitored(configurationOf(keys), TOPOLOGY);
}

describe('addresses of NameNodes', () => {
  it('are all the rpc-address when no other is configured', () => {
    const all = monitored({});
    expect(all.map(nameOf)).toEqual(['ns0.nn0', 'ns0.nn1', 'ns1']);
    expect(all[1]).toMatchObject({ nameservice: 0, index: 1, service: { host: '::1', port: 8021 } });
    for (const { rpc, service, lifeline } of all) expect([service, lifeline]).toEqual([rpc, rpc]);
    expect(all.map(({ web, webAddress, webScheme }) => [web, webAddress, webScheme])).toEqual([
      [{ host: 'a', port: 9870 }, '0.0.0.0:9870', 'http'],
      [{ host: '::1', port: 9870 }, '0.0.0.0:9870', 'http'],
      [{ host: 'c', port: 9870 }, '0.0.0.0:9870', 'http'],
    ]);
  });

  it('follow their keys: service, lifeline by service, web', () => {
    const [first, second, third] = monitored({
      'dfs.namenode.servicerpc-address.ns0.nn0': 'a:8040',
      'dfs.namenode.lifeline.rpc-address.ns0.nn1': '[::1]:8050',
      'dfs.namenode.http-address.ns0.nn0': 'web:1234',
      'dfs.namenode.http-address.ns1': '[fe80::1]:80',
    });
    expect(first).toMatchObject({ service: { port: 8040 }, lifeline: { port: 8040 }, webAddress: 'web:1234' });
    expect(second).toMatchObject({ service: { port: 8021 }, lifeline: { host: '::1', port: 8050 } });
    expect(third).toMatchObject({ web: { host: 'fe80::1', port: 80 }, webAddress: '[fe80::1]:80' });
  });

  it('are those of HTTPS with HTTPS_ONLY alone', () => {
    const keys = { 'dfs.namenode.https-address.ns0.nn0': 'a:1', 'dfs.namenode.http-address.ns0.nn0': 'a:2' };
    const webOf = (policy: string): unknown => monitored({ ...keys, 'dfs.http.policy': policy })[0];
    expect(webOf('HTTPS_ONLY')).toMatchObject({ webAddress: 'a:1', webScheme: 'https' });
    expect(webOf('HTTP_AND_HTTPS')).toMatchObject({ webAddress: 'a:2', webScheme: 'http' });
  });

  it('that are none are refused by their key', () => {
    for (const bad of ['a:b:c', 'a:0', 'a:99999']) {
      expect(() => monitored({ 'dfs.namenode.servicerpc-address.ns0.nn0': bad })).toThrow(ConfigError);
    }
  });
});

describe('the RPC address in records', () => {
  it('is by name where a numeric one has a name', async () => {
    const lookUp = (): Promise<string> => Promise.resolve('localhost');
    expect(await recordedAddress({ host: '127.0.0.1', port: 8020 }, lookUp)).toBe('localhost:8020');
    expect(await recordedAddress({ host: '::1', port: 8020 }, lookUp)).toBe('localhost:8020');
    expect(await recordedAddress({ host: 'nn1', port: 8020 }, () => Promise.reject(new Error('asked')))).toBe(
      'nn1:8020',
    );
  });

  it('stays as it is where it has none', async () => {
    const fails = (): Promise<string> => Promise.reject(new Error('no name'));
    expect(await recordedAddress({ host: '10.0.0.1', port: 8020 }, fails)).toBe('10.0.0.1:8020');
    expect(await recordedAddress({ host: '::2', port: 8020 }, (address) => Promise.resolve(address))).toBe(
      '[::2]:8020',
    );
  });

  it('waits for no name service that hangs', async () => {
    const hangs = (): Promise<string> => new Promise(() => {});
    expect(await recordedAddress({ host: '10.0.0.1', port: 8020 }, hangs)).toBe('10.0.0.1:8020');
  });
});

it('settings: NameNodes are asked unless a key says otherwise', () => {
  const settings = { routerId: 'r:1', routerUser: 'hdfs', connectTimeoutMs: 2_000 } as Settings;
  const enabled = (keys: Readonly<Record<string, string>>): boolean =>
    readMembershipSettings(configurationOf(keys), settings).enabled;
  const [all, own] = [`${ROUTER}.heartbeat.enable`, `${ROUTER}.namenode.heartbeat.enable`];
  expect(enabled({})).toBe(true);
  expect(enabled({ [all]: 'false' })).toBe(false);
  expect(enabled({ [all]: 'false', [own]: 'true' })).toBe(true);
  expect(enabled({ [own]: 'false' })).toBe(false);
  expect(readMembershipSettings(configurationOf({}), settings)).toMatchObject({
    heartbeats: { intervalMs: 5_000, jmxIntervalMs: 0, healthTimeoutMs: 30_000, user: 'hdfs' },
    figuresPeriodMs: 10_000,
  });
});
