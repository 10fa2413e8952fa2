/** Writes Hadoop's configuration files for simulated nameservices, for a router or for HDFS's own client. */
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { SimulatedNameservice } from './simulator.ts';

export interface ConfigFileOptions {
  readonly superuser: string;
  /** Then a router reads from observers too. */
  readonly stateIds: boolean;
  readonly replication: number;
}

const FAILOVER_PROVIDER = 'org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider';

/**
 * Makes a directory and those above it, unless they are there. One by one: asked to do so itself, Node 24 never returns from file systems
 * such as /proc, where nothing can be made. Throws the error of the operating system.
 */
export function makeDirectory(directory: string): void {
  const missing: string[] = [];
  let at = resolve(directory);
  while (statSync(at, { throwIfNoEntry: false }) === undefined && at !== dirname(at)) {
    missing.push(at);
    at = dirname(at);
  }
  if (missing.length === 0 && !statSync(at).isDirectory()) throw new Error(`${at} is not a directory`);
  for (const path of missing.reverse()) mkdirSync(path);
}

/** Writes core-site.xml, hdfs-site.xml and hdfs-rbf-site.xml into a directory, which is made if need be. */
export function writeConfigFiles(
  directory: string,
  nameservices: readonly SimulatedNameservice[],
  options: ConfigFileOptions,
): void {
  makeDirectory(directory);
  const [first] = nameservices;
  const ids = nameservices.map(({ id }) => id);
  writeFileSync(
    join(directory, 'core-site.xml'),
    formatConfiguration({
      'fs.defaultFS': `hdfs://${first?.id ?? ''}`,
      'hadoop.security.authentication': 'simple',
      'hadoop.caller.context.enabled': 'true',
      [`hadoop.proxyuser.${options.superuser}.hosts`]: '*',
      [`hadoop.proxyuser.${options.superuser}.groups`]: '*',
    }),
  );
  writeFileSync(
    join(directory, 'hdfs-site.xml'),
    formatConfiguration({
      'dfs.nameservices': ids.join(','),
      ...Object.fromEntries(nameservices.flatMap(addressKeys)),
      'dfs.namenode.state.context.enabled': String(options.stateIds),
      'dfs.replication': String(options.replication),
    }),
  );
  writeFileSync(
    join(directory, 'hdfs-rbf-site.xml'),
    formatConfiguration({
      'dfs.federation.router.default.nameserviceId': ids[0] ?? '',
      'dfs.federation.router.monitor.localnamenode.enable': 'false',
      'dfs.federation.router.observer.read.default': String(options.stateIds),
      'dfs.federation.router.monitor.namenode': nameservices
        .flatMap(({ id, namenodes }) => namenodes.map((namenode) => `${id}.${namenode.id}`))
        .join(','),
    }),
  );
}

function addressKeys({ id, namenodes }: SimulatedNameservice): [string, string][] {
  return [
    [`dfs.ha.namenodes.${id}`, namenodes.map((namenode) => namenode.id).join(',')],
    [`dfs.client.failover.proxy.provider.${id}`, FAILOVER_PROVIDER],
    ...namenodes.map((namenode): [string, string] => [
      `dfs.namenode.rpc-address.${id}.${namenode.id}`,
      `${namenode.host}:${namenode.port}`,
    ]),
  ];
}

function formatConfiguration(properties: Readonly<Record<string, string>>): string {
  const lines = Object.entries(properties).map(
    ([name, value]) => `  <property><name>${escapeXml(name)}</name><value>${escapeXml(value)}</value></property>`,
  );
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<configuration>', ...lines, '</configuration>', ''].join('\n');
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
