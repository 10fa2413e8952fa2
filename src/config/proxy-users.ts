import { BlockList, isIP } from 'node:net';
import type { Configuration } from './configuration.ts';
import { type LookUpHost, lookUpHost } from './host-names.ts';
import { parseList } from './values.ts';

const PREFIX = 'hadoop.proxyuser.';
/** Host names in the rules of all users together; more are an error of the configuration. */
const MAX_HOST_NAMES = 1_000;

/** What one user may do for others. */
interface ProxyUserRule {
  readonly anyone: boolean;
  readonly users: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  /** null: no hosts key, so from nowhere. */
  readonly hosts: HostRule | null;
}

interface HostRule {
  readonly anywhere: boolean;
  readonly addresses: ReadonlySet<string>;
  readonly networks: BlockList;
  readonly names: readonly string[];
}

/** The rules of hadoop.proxyuser.* by the short name of the user who acts for others. */
export type ProxyUserRules = ReadonlyMap<string, ProxyUserRule>;

/**
 * Reads hadoop.proxyuser.USER.{users,groups,hosts}. `*` alone means all; a list with `*` among others means a user of that name, as in
 * Hadoop. A network that is none is a ConfigError, as Hadoop refuses to start with it.
 */
export function readProxyUsers(configuration: Configuration): ProxyUserRules {
  const rules = new Map<string, ProxyUserRule>();
  let hostNames = 0;
  for (const name of configuration.names()) {
    const user = /^hadoop\.proxyuser\.(.+)\.(?:users|groups|hosts)$/.exec(name)?.[1];
    if (user === undefined || rules.has(user)) continue;
    const users = configuration.get(`${PREFIX}${user}.users`) ?? '';
    const groups = configuration.get(`${PREFIX}${user}.groups`) ?? '';
    const hosts = readHosts(configuration, `${PREFIX}${user}.hosts`);
    hostNames += hosts?.names.length ?? 0;
    if (hostNames > MAX_HOST_NAMES) {
      throw configuration.error(
        `${PREFIX}${user}.hosts`,
        'too many host names',
        `at most ${MAX_HOST_NAMES} are possible; use networks`,
      );
    }
    rules.set(user, {
      anyone: isWildcard(users) || isWildcard(groups),
      users: new Set(parseList(users)),
      groups: new Set(parseList(groups)),
      hosts,
    });
  }
  return rules;
}

/** The same rules with the addresses of their host names, as the name service has them now. Names without an address stay out. */
export async function resolveHostNames(
  rules: ProxyUserRules,
  lookUp: LookUpHost = lookUpHost,
): Promise<ProxyUserRules> {
  const names = new Set([...rules.values()].flatMap(({ hosts }) => hosts?.names ?? []));
  const resolved = new Map(
    await Promise.all(
      [...names].map(async (name): Promise<[string, string[]]> => [name, (await lookUp(name)).map(canonicalAddress)]),
    ),
  );
  const withAddresses = ([user, rule]: [string, ProxyUserRule]): [string, ProxyUserRule] => {
    if (rule.hosts === null) return [user, rule];
    const found = rule.hosts.names.flatMap((name) => resolved.get(name) ?? []);
    return [user, { ...rule, hosts: { ...rule.hosts, addresses: new Set([...rule.hosts.addresses, ...found]) } }];
  };
  return new Map([...rules].map(withAddresses));
}

/** Whether `mayImpersonate` needs the groups of the effective user to decide. */
export function needsGroups(rules: ProxyUserRules, realUser: string, effectiveUser: string): boolean {
  const rule = rules.get(shortName(realUser));
  return rule !== undefined && !rule.anyone && rule.groups.size > 0 && !rule.users.has(shortName(effectiveUser));
}

/**
 * Whether `realUser`, who connects from the numeric `address`, may act as `effectiveUser`: null when he may, else the message of Java's
 * AuthorizationException.
 */
export function mayImpersonate(
  rules: ProxyUserRules,
  realUser: string,
  effectiveUser: string,
  effectiveGroups: readonly string[],
  address: string,
): string | null {
  const rule = rules.get(shortName(realUser));
  const allowed =
    rule !== undefined &&
    (rule.anyone ||
      rule.users.has(shortName(effectiveUser)) ||
      effectiveGroups.some((group) => rule.groups.has(group)));
  if (!allowed) return `User: ${realUser} is not allowed to impersonate ${effectiveUser}`;
  const from = canonicalAddress(address);
  // The slash is what Java prints in front of an address without a host name.
  return isAllowedFrom(rule.hosts, from)
    ? null
    : `Unauthorized connection for super-user: ${realUser} from IP /${javaAddress(from)}`;
}

function isAllowedFrom(hosts: HostRule | null, address: string): boolean {
  if (hosts === null) return false;
  if (hosts.anywhere || hosts.addresses.has(address)) return true;
  const family = isIP(address);
  return family !== 0 && hosts.networks.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

function readHosts(configuration: Configuration, key: string): HostRule | null {
  const text = configuration.get(key);
  if (text === null) return null;
  const entries = parseList(text);
  const addresses = new Set<string>();
  const networks = new BlockList();
  const names: string[] = [];
  for (const entry of entries) {
    if (entry.includes('/')) addNetwork(configuration, key, entry, networks);
    else if (isIP(entry) !== 0) addresses.add(canonicalAddress(entry));
    else if (entry !== '*') names.push(entry);
  }
  return { anywhere: entries.length === 1 && entries[0] === '*', addresses, networks, names };
}

function addNetwork(configuration: Configuration, key: string, entry: string, networks: BlockList): void {
  const match = /^(\d{1,3}(?:\.\d{1,3}){3})\/(\d{1,2})$/.exec(entry);
  const [, network = '', bits = ''] = match ?? [];
  if (isIP(network) !== 4 || Number(bits) > 32) {
    throw configuration.error(key, `'${entry}' is no network`, 'write ADDRESS/BITS, e.g. 10.1.0.0/16');
  }
  networks.addSubnet(network, Number(bits), 'ipv4');
}

function isWildcard(text: string): boolean {
  return text.trim() === '*';
}

/** The name Hadoop compares: without host and realm. */
function shortName(user: string): string {
  return user.split(/[/@]/, 1)[0] ?? user;
}

/** One text for each address: IPv4 inside IPv6 as IPv4, IPv6 shortened and without a zone. */
function canonicalAddress(address: string): string {
  const plain = address.split('%', 1)[0] ?? address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (mapped !== undefined) return mapped;
  if (isIP(plain) !== 6) return plain;
  return new URL(`http://[${plain}]/`).hostname.slice(1, -1);
}

/** IPv6 addresses as Java prints them: eight groups without leading zeros. */
function javaAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].join(':');
}
