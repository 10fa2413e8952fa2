import { readFileSync } from 'node:fs';
import { type Acl, type Credentials, Permission } from '../state-store/zookeeper/protocol.ts';
import { type HostPort, parseAddress } from './address.ts';
import { ValueError } from './config-error.ts';
import type { Configuration } from './configuration.ts';
import { parseList } from './values.ts';

const ADDRESS = 'hadoop.zk.address';
const ACL = 'hadoop.zk.acl';
const AUTH = 'hadoop.zk.auth';
const PARENT = 'dfs.federation.router.store.driver.zk.parent-path';
const DEFAULT_PORT = 2181;
/** Most servers of an ensemble that are tried. */
const MAX_SERVERS = 64;
const { READ: r, WRITE: w, CREATE: c, DELETE: d, ADMIN: a } = Permission;
const RIGHTS: Readonly<Record<string, number>> = { r, w, c, d, a };

export interface ZooKeeperSettings {
  readonly servers: readonly HostPort[];
  /** '' or a path below which everything lies. */
  readonly chroot: string;
  readonly parentPath: string;
  /** Session time-out, and longest time of a single request. */
  readonly timeoutMs: number;
  readonly numRetries: number;
  readonly retryIntervalMs: number;
  /** Of the parent path and of the record types; records are open to all, as Java's are. */
  readonly acl: readonly Acl[];
  readonly auth: readonly Credentials[];
}

/**
 * The ZooKeeper that the configuration names; null when it names none. Throws ConfigError.
 *
 *   hadoop.zk.address = host[:port] { "," host[:port] } [ chroot ]     chroot begins with "/"
 *   hadoop.zk.acl     = scheme ":" id ":" rights { "," … }  |  "@" file
 *   hadoop.zk.auth    = scheme ":" auth { "," … }           |  "@" file
 */
export function readZooKeeper(configuration: Configuration): ZooKeeperSettings | null {
  const address = configuration.readTrimmed(ADDRESS);
  if (address === '') return null;
  return {
    ...readServers(configuration, address),
    parentPath: readParentPath(configuration),
    timeoutMs: configuration.readInteger('hadoop.zk.timeout-ms'),
    numRetries: configuration.readInteger('hadoop.zk.num-retries'),
    retryIntervalMs: configuration.readInteger('hadoop.zk.retry-interval-ms'),
    acl: readItems(configuration, ACL).map((item) => parseAcl(configuration, item)),
    auth: readItems(configuration, AUTH).map((item) => parseAuth(configuration, item)),
  };
}

function readServers(configuration: Configuration, address: string): { servers: HostPort[]; chroot: string } {
  const slash = address.indexOf('/');
  const list = slash < 0 ? address : address.slice(0, slash);
  const chroot = slash < 0 ? '' : address.slice(slash).replace(/\/$/, '');
  if (chroot !== '') requirePath(configuration, ADDRESS, chroot);
  const items = parseList(list);
  if (items.length === 0 || items.length > MAX_SERVERS) {
    throw configuration.error(
      ADDRESS,
      `names ${items.length} servers`,
      `name 1 to ${MAX_SERVERS}, e.g. zk1:2181,zk2:2181`,
    );
  }
  const servers = items.map((item) => {
    try {
      return parseAddress(item, DEFAULT_PORT);
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      throw configuration.error(
        ADDRESS,
        `'${item}' is ${error.message}`,
        'write host:port,host:port, e.g. zk1:2181,zk2:2181',
      );
    }
  });
  return { servers, chroot };
}

function readParentPath(configuration: Configuration): string {
  const path = configuration.readTrimmed(PARENT).replace(/(?<=.)\/$/, '');
  if (path !== '/') requirePath(configuration, PARENT, path);
  return path;
}

function requirePath(configuration: Configuration, key: string, path: string): void {
  const parts = path.split('/');
  const isPath = parts.shift() === '' && parts.length > 0;
  if (isPath && parts.every((part) => part !== '' && part !== '.' && part !== '..')) return;
  throw configuration.error(key, `'${path}' is no path of a node`, 'write it from the root, e.g. /hdfs-federation');
}

/** Items of the value, or of the file that it names with an `@` in front. */
function readItems(configuration: Configuration, key: string): string[] {
  const value = configuration.readTrimmed(key);
  if (!value.startsWith('@')) return parseList(value);
  const file = value.slice(1);
  try {
    return parseList(readFileSync(file, 'utf8').trim());
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw configuration.error(key, `its file cannot be read (${code})`, 'make the file readable, or correct its path');
  }
}

function parseAcl(configuration: Configuration, item: string): Acl {
  const refuse = (problem: string): never => {
    throw configuration.error(ACL, problem, 'write scheme:id:rights, rights of r w c d a, e.g. digest:user:HASH:rwcda');
  };
  const first = item.indexOf(':');
  const last = item.lastIndexOf(':');
  if (first < 1 || last === first) return refuse(`'${item}' is not scheme:id:rights`);
  let permissions = 0;
  for (const letter of item.slice(last + 1)) permissions |= RIGHTS[letter] ?? refuse(`'${letter}' is no right`);
  if (permissions === 0) return refuse(`'${item}' gives no right`);
  return { permissions, scheme: item.slice(0, first), id: item.slice(first + 1, last) };
}

/** Says nothing of the item: it is a secret. */
function parseAuth(configuration: Configuration, item: string): Credentials {
  const colon = item.indexOf(':');
  if (colon < 1) {
    throw configuration.error(AUTH, 'an item is not scheme:auth', 'write scheme:auth, e.g. digest:user:password');
  }
  return { scheme: item.slice(0, colon), auth: item.slice(colon + 1) };
}
