import { lookupService } from 'node:dns/promises';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatAddress, type HostPort } from '../../config/address.ts';
import type { Configuration } from '../../config/configuration.ts';
import type { Topology } from '../../shared/settings.ts';

const SERVICE = 'dfs.namenode.servicerpc-address';
const LIFELINE = 'dfs.namenode.lifeline.rpc-address';
const DEFAULT_NAMENODE_PORT = 8020;
const WEB = {
  http: { key: 'dfs.namenode.http-address', port: 9870 },
  https: { key: 'dfs.namenode.https-address', port: 9871 },
} as const;
/** A name service that takes longer counts as one that does not know the address. */
const LOOK_UP_WITHIN_MS = 2_000;

/** One NameNode behind this router with its addresses for each purpose. */
export interface MonitoredNamenode {
  /** Index of its nameservice in the topology, and its own there. */
  readonly nameservice: number;
  readonly index: number;
  readonly nameserviceId: string;
  /** '' when it has none: such a NameNode has no high availability. */
  readonly namenodeId: string;
  /** Where calls of clients go. */
  readonly rpc: HostPort;
  /** Where the router asks for namespace and safe mode. */
  readonly service: HostPort;
  /** Where it asks for the HA state. */
  readonly lifeline: HostPort;
  /** Where it asks for figures: the host of `webAddress`, or of `rpc` when that is a wildcard. */
  readonly web: HostPort;
  readonly webScheme: 'http' | 'https';
  /** As records hold it, a wildcard host too. */
  readonly webAddress: string;
}

/** All NameNodes of the topology. Throws ConfigError for an address that is none. */
export function readMonitored(configuration: Configuration, { nameservices }: Topology): MonitoredNamenode[] {
  const policy = configuration.readChoice('dfs.http.policy');
  const webScheme = policy === 'HTTPS_ONLY' ? 'https' : 'http';
  const { key: webKey, port: webPort } = WEB[webScheme];
  return nameservices.flatMap(({ id, namenodes }, nameservice) =>
    namenodes.map((namenode, index): MonitoredNamenode => {
      const suffix = namenode.id === '' ? id : `${id}.${namenode.id}`;
      const rpc = { host: namenode.host, port: namenode.port };
      const service = readOr(configuration, `${SERVICE}.${suffix}`, DEFAULT_NAMENODE_PORT, rpc);
      const lifeline = readOr(configuration, `${LIFELINE}.${suffix}`, DEFAULT_NAMENODE_PORT, service);
      const wildcard = { host: '0.0.0.0', port: webPort };
      const web = readOr(configuration, `${webKey}.${suffix}`, webPort, wildcard);
      return {
        nameservice,
        index,
        nameserviceId: id,
        namenodeId: namenode.id,
        rpc,
        service,
        lifeline,
        web: isWildcard(web.host) ? { host: rpc.host, port: web.port } : web,
        webScheme,
        webAddress: formatAddress(web.host, web.port),
      };
    }),
  );
}

/** `ns0.nn1`, or `ns0` for a NameNode without an id. */
export function nameOf({ nameserviceId, namenodeId }: MonitoredNamenode): string {
  return namenodeId === '' ? nameserviceId : `${nameserviceId}.${namenodeId}`;
}

/** The host name of a numeric address and port. */
export type LookUpName = (address: string, port: number) => Promise<string>;

const lookUpName: LookUpName = async (address, port) => (await lookupService(address, port)).hostname;

/** An address as records hold it: by name, where the name service has one for a numeric address. */
export async function recordedAddress({ host, port }: HostPort, lookUp: LookUpName = lookUpName): Promise<string> {
  const asWritten = formatAddress(host, port);
  if (isIP(host) === 0) return asWritten;
  const stop = new AbortController();
  const name = lookUp(host, port).catch(() => host);
  const found = await Promise.race([name, sleep(LOOK_UP_WITHIN_MS, host, { signal: stop.signal }).catch(() => host)]);
  stop.abort();
  return found === '' ? asWritten : formatAddress(found, port);
}

function readOr(configuration: Configuration, key: string, defaultPort: number, otherwise: HostPort): HostPort {
  if ((configuration.get(key) ?? '').trim() === '') return otherwise;
  const address = configuration.readAddress(key, defaultPort);
  if (address.port === 0) throw configuration.error(key, 'port 0 is no port to connect to', 'allowed: 1 to 65535');
  return address;
}

function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}
