import type { Topology } from '../shared/settings.ts';
import { ConfigError } from './config-error.ts';
import { type ConfigNote, type Configuration, type EffectiveValue, printableValue } from './configuration.ts';
import { findUnprotected, type Unprotected } from './fail-closed.ts';
import { readGroupOptions } from './groups.ts';
import { readHttpSettings } from './http-settings.ts';
import type { Key } from './key.ts';
import { findKey, isUnknownOwnKey, KEYS, nearestKey } from './keys.ts';
import { readProxyUsers } from './proxy-users.ts';
import { readSettings } from './settings.ts';
import { readStateStore, type StateStore, UNREAD_STORE } from './state-store.ts';
import { type LocalHosts, readTopology, requireNameservices } from './topology.ts';
import { hasDurationSuffix } from './values.ts';

/**
 * - error: `start` refuses it
 * - warning: it starts, but probably not as meant
 * - note: worth knowing, nothing to do
 */
export type Severity = 'error' | 'warning' | 'note';

export interface Finding {
  readonly severity: Severity;
  readonly place: string;
  readonly key: string;
  readonly message: string;
}

/** A key with a value, as check-config prints it; secrets are hidden already. */
export interface ReviewedKey extends EffectiveValue {
  readonly group: string;
  readonly status: Key['status'];
}

export interface Review {
  readonly keys: readonly ReviewedKey[];
  /** Set by the configuration, without effect in this release. */
  readonly unsupported: readonly ReviewedKey[];
  readonly unprotected: readonly Unprotected[];
  readonly findings: readonly Finding[];
}

const DRIVER = 'dfs.federation.router.store.driver.class';
const DEFAULT_NAMESERVICE = 'dfs.federation.router.default.nameservice';
const OBSERVER_OVERRIDES = 'dfs.federation.router.observer.read.overrides';
const DEFAULT_NAMESERVICE_ID = 'dfs.federation.router.default.nameserviceId';

/** A router without mount points and without a default nameservice. */
export const NOWHERE = {
  problem: 'without mount points and a default nameservice every path is refused',
  remedy: `give it a default nameservice (${DEFAULT_NAMESERVICE_ID}, and ${DEFAULT_NAMESERVICE}.enable not false), or mount points with --mount, --mounts or a State Store`,
} as const;

/** Everything that can be said about a configuration without starting a router. */
export function reviewConfiguration(configuration: Configuration, localHosts: LocalHosts): Review {
  const keys = reviewKeys(configuration);
  return {
    keys,
    unsupported: keys.filter(({ name }) => isWithoutEffect(configuration, name)),
    unprotected: findUnprotected(configuration),
    findings: distinct([
      ...reviewNames(configuration),
      ...reviewValues(configuration),
      ...configuration.notes.map(noteFinding),
      ...reviewNamenodes(configuration),
      ...reviewStateStore(configuration),
      ...reviewStart(configuration, localHosts),
    ]),
  };
}

/** Keys that have a value, group by group in the order of the table; names that a pattern of the table covers stand in its place. */
function reviewKeys(configuration: Configuration): ReviewedKey[] {
  const byRow = new Map<Key, string[]>(KEYS.map((key) => [key, []]));
  for (const name of configuration.names()) {
    const key = findKey(name);
    if (key !== null) byRow.get(key)?.push(name);
  }
  const byGroup = new Map<string, ReviewedKey[]>();
  for (const [{ group, status }, names] of byRow) {
    const keys = byGroup.get(group) ?? [];
    for (const name of names) {
      const { value, origin } = configuration.effective(name);
      keys.push({ name, value: printableValue(name, value), origin, group, status });
    }
    byGroup.set(group, keys);
  }
  return [...byGroup.values()].flat();
}

function isWithoutEffect(configuration: Configuration, name: string): boolean {
  const key = findKey(name);
  if (key === null || !configuration.isSet(name)) return false;
  if (name === DRIVER) {
    const kind = storeKind(configuration);
    return kind === 'none' || kind === 'unread';
  }
  return (
    key.status === 'later' && key.protects === undefined && configuration.effective(name).value.trim() !== key.default
  );
}

/** Files are shared with all of Hadoop and may hold any key, the command line is this router's own. */
function reviewNames(configuration: Configuration): Finding[] {
  const names = configuration.names();
  const isVariable = (name: string): boolean =>
    names.some((other) => configuration.raw(other)?.includes(`\${${name}}`) === true);
  const isSlip = (name: string): boolean =>
    configuration.origin(name) === '--set' && findKey(name) === null && !isVariable(name);
  return names
    .filter((name) => isUnknownOwnKey(name) || isSlip(name))
    .map((name) => {
      const nearest = nearestKey(name);
      const hint = nearest === null ? 'remove it' : `did you mean ${nearest}?`;
      const problem = isUnknownOwnKey(name)
        ? 'no router knows this key'
        : 'has no effect, this router reads no such key';
      return finding('warning', configuration.origin(name), name, `${problem}; ${hint}`);
    });
}

function reviewValues(configuration: Configuration): Finding[] {
  const findings: Finding[] = [];
  for (const name of configuration.names()) {
    const key = findKey(name);
    if (key === null || !configuration.isSet(name)) continue;
    try {
      configuration.check(name, key);
    } catch (error) {
      const stops = key.type !== 'bool' && (key.status === 'used' || key.protects !== undefined);
      findings.push(errorFinding(error, stops ? 'error' : 'warning'));
      continue;
    }
    const { value, origin } = configuration.effective(name);
    if (key.plain === true && hasDurationSuffix(value)) {
      findings.push(
        finding('note', origin, name, 'a Java router does not start with a unit here; write plain milliseconds'),
      );
    }
    if (key.type === 'string' && value !== value.trim()) {
      findings.push(finding('warning', origin, name, 'the white space around the value counts; remove it'));
    }
  }
  return findings;
}

function noteFinding({ kind, key, place, message }: ConfigNote): Finding {
  return finding(kind === 'deprecated' ? 'note' : 'warning', place, key, message);
}

/** Addresses that no list of NameNodes leads to, and addresses used twice. */
function reviewNamenodes(configuration: Configuration): Finding[] {
  const findings: Finding[] = [];
  const users = new Map<string, string>();
  for (const name of configuration.names()) {
    const [, ns, namenode] = /^dfs\.namenode\.rpc-address\.([^.]+)(?:\.([^.]+))?$/.exec(name) ?? [];
    if (ns === undefined) continue;
    const { value, origin } = configuration.effective(name);
    const list = `dfs.ha.namenodes.${ns}`;
    const listed = configuration.get(list) === null ? [] : configuration.readList(list);
    if (namenode !== undefined && !listed.includes(namenode)) {
      findings.push(finding('warning', origin, name, `${list} does not list ${namenode}; add it there`));
    }
    const earlier = users.get(value.trim());
    if (earlier !== undefined)
      findings.push(finding('warning', origin, name, `${value.trim()} is also the address in ${earlier}`));
    users.set(value.trim(), name);
  }
  return findings;
}

function reviewStateStore(configuration: Configuration): Finding[] {
  try {
    const store = readStateStore(configuration);
    if (store.kind === 'unread') {
      const { key } = store;
      const message = `${UNREAD_STORE.problem}; ${UNREAD_STORE.remedy}`;
      return [finding('warning', configuration.origin(key), key, message)];
    }
  } catch (error) {
    return [errorFinding(error, 'error')];
  }
  const directory = 'dfs.federation.router.store.driver.file.directory';
  if (!configuration.readTrimmed(DRIVER).endsWith('.StateStoreFileImpl') || configuration.readString(directory) !== '')
    return [];
  return [
    finding('warning', configuration.origin(DRIVER), DRIVER, `the file driver has no directory; set ${directory}`),
  ];
}

/** null when its directory cannot be one. */
function storeKind(configuration: Configuration): StateStore['kind'] | null {
  try {
    return readStateStore(configuration).kind;
  } catch (error) {
    if (error instanceof ConfigError) return null;
    throw error;
  }
}

/**
 * Whether any path can lead anywhere without mount points of the command line, which a review of the configuration alone does not see:
 * for check-config, not for `start`.
 */
export function reviewReach(configuration: Configuration): Finding[] {
  if (storeKind(configuration) !== 'none') return [];
  const enabled = configuration.readBoolean(`${DEFAULT_NAMESERVICE}.enable`);
  if (enabled && configuration.readString(DEFAULT_NAMESERVICE_ID) !== '') return [];
  const key = enabled ? DEFAULT_NAMESERVICE_ID : `${DEFAULT_NAMESERVICE}.enable`;
  return [finding('warning', configuration.origin(key), key, `${NOWHERE.problem}; ${NOWHERE.remedy}`)];
}

/** What would stop `start`, found by doing what it does. */
function reviewStart(configuration: Configuration, localHosts: LocalHosts): Finding[] {
  const findings: Finding[] = [];
  const attempt = (read: () => void): void => {
    try {
      read();
    } catch (error) {
      findings.push(errorFinding(error, 'error'));
    }
  };
  attempt(() => {
    const read = readTopology(configuration, localHosts);
    for (const { reason, message } of read.skipped) {
      findings.push(
        finding(
          reason === 'own-address' ? 'note' : 'warning',
          configuration.origin('dfs.nameservices'),
          'dfs.nameservices',
          message,
        ),
      );
    }
    const topology = requireNameservices(read, configuration);
    findings.push(...reviewObserverOverrides(configuration, topology.nameservices));
    readSettings(configuration, topology);
  });
  attempt(() => readHttpSettings(configuration));
  attempt(() => readProxyUsers(configuration));
  attempt(() => readGroupOptions(configuration));
  return findings;
}

/** Names that are passed over: in the nameservice that was meant reads go where they should not. */
function reviewObserverOverrides(configuration: Configuration, nameservices: Topology['nameservices']): Finding[] {
  const known = nameservices.map(({ id }) => id);
  return configuration
    .readList(OBSERVER_OVERRIDES)
    .filter((name) => !known.includes(name))
    .map((name) =>
      finding(
        'warning',
        configuration.origin(OBSERVER_OVERRIDES),
        OBSERVER_OVERRIDES,
        `no nameservice ${name} is behind this router, so it is passed over; behind it: ${known.join(', ')}`,
      ),
    );
}

function finding(severity: Severity, place: string, key: string, message: string): Finding {
  return { severity, place, key, message };
}

function errorFinding(error: unknown, severity: Severity): Finding {
  if (!(error instanceof ConfigError)) throw error;
  const { place, key, value, problem, remedy } = error;
  return finding(severity, place, key, `${value === '' ? '' : `${JSON.stringify(value)} is `}${problem}; ${remedy}`);
}

function distinct(findings: readonly Finding[]): Finding[] {
  const seen = new Set<string>();
  return findings.filter(({ key, message }) => {
    const text = `${key}\n${message}`;
    return !seen.has(text) && seen.add(text) !== undefined;
  });
}
