/** Writes the manual's page on configuration from the table of keys: `node scripts/make-key-manual.ts`. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Key, KeyStatus, ValueType } from '../src/config/key.ts';
import { DEPRECATED_KEYS, KEYS } from '../src/config/keys.ts';

export const KEYS_PAGE = new URL('../src/manual/configuration.md', import.meta.url);

const GROUP_TITLES: Readonly<Record<string, string>> = {
  namespace: 'Namespace',
  rpc: 'Client port',
  'nn-client': 'Calls to NameNodes',
  metrics: 'Metrics',
  admin: 'Administration',
  http: 'HTTP',
  membership: 'Membership of NameNodes and routers',
  'state-store': 'State Store',
  safemode: 'Safe mode',
  quota: 'Quota',
  observer: 'Observer reads',
  security: 'Security',
  fairness: 'Fairness',
  rename: 'Rename across nameservices',
  'nn-address': 'Nameservices and NameNodes',
  ipc: 'Hadoop RPC',
  callqueue: 'Call queue',
  'service-acl': 'Service-level authorization',
  tokens: 'Delegation tokens',
  zookeeper: 'ZooKeeper',
  switchyard: 'Keys of this router only',
};

const TYPE_WORDS: Readonly<Record<ValueType, string>> = {
  string: 'text, white space counts',
  trimmed: 'text',
  class: 'class name',
  enum: 'one of',
  int: 'whole number',
  long: 'whole number',
  bytes: 'bytes',
  float: 'number',
  bool: 'true or false',
  duration: 'time',
  list: 'list',
  address: 'host:port',
};

const INTRODUCTION = `# Configuration

Switchyard reads the files of a Java Router as they are: core-site.xml, hdfs-site.xml and hdfs-rbf-site.xml in the directory that
\`--config-dir\`, \`HADOOP_CONF_DIR\` or \`HADOOP_HOME/etc/hadoop\` names. This page is generated from \`src/config/keys.ts\` by
\`node scripts/make-key-manual.ts\`.

\`switchyard check-config --config-dir DIR\` shows what a router would read, where each value comes from, and what looks wrong.

## How the files are read

* Later wins: defaults of core, core-site.xml, defaults of hdfs and of the router, hdfs-site.xml, hdfs-rbf-site.xml,
  hdfs-fedbalance-site.xml, then the command line. A router key in core-site.xml is therefore overridden by its own default, unless that
  default is empty.
* \`<final>true</final>\` freezes a value against later files. \`--set KEY=VALUE\` wins even then.
* \`<xi:include href="…"/>\` takes in another file: from the configuration directory, else relative to the working directory; without an
  \`xi:fallback\` it must exist. Files on other machines are not fetched.
* An empty value element sets nothing. White space around numbers, times, addresses and lists does not matter.
* \`\${key}\` stands for another key or for \`user.name\`, \`user.home\`, \`java.io.tmpdir\`, \`hadoop.home.dir\`, \`hadoop.log.dir\`;
  \`\${env.NAME}\`, \`\${env.NAME-text}\` and \`\${env.NAME:-text}\` for environment variables.
* Times are whole numbers with ns, us, ms, s, m, h or d right behind them, bytes whole numbers with k, m, g, t, p or e.
* Settings that promise protection which this release lacks stop the start; see [the last section](#settings-that-stop-the-start).

## What the last column says

| status | meaning |
|---|---|
| used | this release acts on it |
| understood | accepted; what it asks for holds here whatever its value |
| later | read and checked, without effect yet |
| ignored | about the inner workings of the Java Router that have no counterpart here |
`;

/** The page as Markdown. */
export function renderKeyManual(): string {
  const groups = new Map<string, Key[]>();
  for (const key of KEYS) groups.set(key.group, [...(groups.get(key.group) ?? []), key]);
  const parts = [INTRODUCTION, renderCounts()];
  for (const [group, keys] of groups) parts.push(`## ${GROUP_TITLES[group] ?? group}\n\n${renderTable(keys)}`);
  parts.push(renderDeprecated(), renderProtections());
  return parts.join('\n');
}

function renderCounts(): string {
  const counts = new Map<KeyStatus, number>();
  for (const { status } of KEYS) counts.set(status, (counts.get(status) ?? 0) + 1);
  const each = [...counts].sort(([a], [b]) => a.localeCompare(b)).map(([status, count]) => `${count} ${status}`);
  return `${KEYS.length} keys: ${each.join(', ')}.\n`;
}

function renderTable(keys: readonly Key[]): string {
  const rows = keys.map((key) =>
    row([
      `\`${fullName(key)}\``,
      key.default === '' ? '' : `\`${key.default}\``,
      describeType(key),
      key.meaning,
      key.status,
    ]),
  );
  return `${[row(['key', 'default', 'value', 'meaning', 'status']), '|---|---|---|---|---|', ...rows].join('\n')}\n`;
}

function fullName({ name, suffix }: Key): string {
  if (suffix === undefined) return name;
  return suffix === 'nameservice' ? `${name}[.<nsId>]` : `${name}[.<nsId>[.<nnId>]]`;
}

function describeType({ type, unit, plain, allowed, range }: Key): string {
  const unitWords =
    unit === undefined || type === 'bytes' ? '' : type === 'duration' ? `, ${unit} without a unit` : `, ${unit}`;
  const words = `${TYPE_WORDS[type]}${unitWords}`;
  const choice = allowed === undefined ? '' : `${type === 'enum' ? ' ' : ' of '}${allowed.join(', ')}`;
  const limits = range === undefined ? '' : `, ${range[0]} to ${range[1]}`;
  return `${words}${choice}${limits}${plain === true ? ' (a Java router takes no unit)' : ''}`;
}

function renderDeprecated(): string {
  const rows = [...DEPRECATED_KEYS].map(([old, name]) => row([`\`${old}\``, `\`${name}\``]));
  return `## Old names\n\n${[row(['old name', 'name']), '|---|---|', ...rows].join('\n')}\n`;
}

function renderProtections(): string {
  const lines = ['| key | harmless values | remedy |', '|---|---|---|'];
  for (const { name, protects } of KEYS) {
    if (protects === undefined) continue;
    lines.push(row([`\`${name}\``, protects.harmless.map((value) => `\`${value}\``).join(', '), protects.remedy]));
  }
  const introduction =
    'They promise protection that this release does not give. `start` ends with exit code 2 and names key, place and remedy, unless\n' +
    '`--insecure KEY` says that the protection is not needed. A value that cannot be read counts as a promise, too.';
  return `## Settings that stop the start\n\n${introduction}\n\n${lines.join('\n')}\n`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(KEYS_PAGE, renderKeyManual());
