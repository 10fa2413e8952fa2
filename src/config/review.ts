import { ConfigError } from './config-error.ts';
import { type ConfigNote, type Configuration, type EffectiveValue, printableValue } from './configuration.ts';
import { findUnprotected, type Unprotected } from './fail-closed.ts';
import { readGroupOptions } from './groups.ts';
import type { Key } from './key.ts';
import { findKey, isUnknownOwnKey, KEYS, nearestKey } from './keys.ts';
import { readProxyUsers } from './proxy-users.ts';
import { readSettings, readStateStoreDirectory } from './settings.ts';
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
  if (name === DRIVER) return readStateStoreDirectory(configuration) === null;
  return (
    key.status === 'later' && key.protects === undefined && configuration.effective(name).value.trim() !== key.default
  );
}

function reviewNames(configuration: Configuration): Finding[] {
  return configuration
    .names()
    .filter(isUnknownOwnKey)
    .map((name) => {
      const nearest = nearestKey(name);
      const hint = nearest === null ? 'remove it' : `did you mean ${nearest}?`;
      return finding('warning', configuration.origin(name), name, `no router knows this key; ${hint}`);
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
      findings.push(errorFinding(error, key.status === 'used' && key.type !== 'bool' ? 'error' : 'warning'));
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
  const directory = 'dfs.federation.router.store.driver.file.directory';
  if (!configuration.readTrimmed(DRIVER).endsWith('.StateStoreFileImpl') || configuration.readString(directory) !== '')
    return [];
  return [
    finding('warning', configuration.origin(DRIVER), DRIVER, `the file driver has no directory; set ${directory}`),
  ];
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
    readSettings(configuration, requireNameservices(read, configuration));
  });
  attempt(() => readProxyUsers(configuration));
  attempt(() => readGroupOptions(configuration));
  return findings;
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
