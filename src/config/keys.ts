import type { Key } from './key.ts';
import { HADOOP_KEYS } from './keys/hadoop.ts';
import { HDFS_KEYS } from './keys/hdfs.ts';
import { IPC_KEYS } from './keys/ipc.ts';
import { ROUTER_KEYS } from './keys/router.ts';
import { SWITCHYARD_KEYS } from './keys/switchyard.ts';
import { TOKEN_KEYS } from './keys/tokens.ts';

/** Every configuration key that a router knows: the one table behind reading, check-config, refusals and the manual. */
export const KEYS: readonly Key[] = [
  ...ROUTER_KEYS,
  ...HDFS_KEYS,
  ...IPC_KEYS,
  ...HADOOP_KEYS,
  ...TOKEN_KEYS,
  ...SWITCHYARD_KEYS,
];

/** Old names and the names that replaced them; a file may use either, and reading either gives the same value. */
export const DEPRECATED_KEYS: ReadonlyMap<string, string> = new Map([
  ['fs.default.name', 'fs.defaultFS'],
  ['dfs.federation.nameservices', 'dfs.nameservices'],
  ['dfs.federation.nameservice.id', 'dfs.nameservice.id'],
  ['dfs.permissions', 'dfs.permissions.enabled'],
  ['dfs.permissions.supergroup', 'dfs.permissions.superusergroup'],
  ['dfs.http.address', 'dfs.namenode.http-address'],
  ['dfs.https.address', 'dfs.namenode.https-address'],
  ['dfs.https.need.client.auth', 'dfs.client.https.need-auth'],
  ['dfs.socket.timeout', 'dfs.client.socket-timeout'],
  ['session.id', 'dfs.metrics.session-id'],
]);

/** Prefixes under which only keys of this table exist: any other name there is a slip. */
const OWN_PREFIXES: readonly string[] = ['dfs.federation.', 'switchyard.'];

/** Names farther apart than this are no slip of the pen. */
const MAX_TYPO_DISTANCE = 3;

const exact = new Map(KEYS.filter((key) => !isPattern(key)).map((key) => [key.name, key]));
const patterns = KEYS.filter(isPattern).map((key) => ({ key, regex: patternOf(key) }));

/** The row for a configured name, suffixes and placeholders considered; null when the table has none. */
export function findKey(name: string): Key | null {
  return exact.get(name) ?? patterns.find(({ regex }) => regex.test(name))?.key ?? null;
}

/** The row of a name that code reads; that it exists is a matter of the code, not of the configuration. */
export function keyOf(name: string): Key {
  const key = findKey(name);
  if (key === null) throw new Error(`configuration key ${name} is not in the table of keys`);
  return key;
}

/** Whether a name lies where only keys of the table may lie, and is none of them. */
export function isUnknownOwnKey(name: string): boolean {
  if (!OWN_PREFIXES.some((prefix) => name.startsWith(prefix))) return false;
  return findKey(name) === null && !DEPRECATED_KEYS.has(name);
}

/** The key that was probably meant by an unknown name; null when none is near. */
export function nearestKey(name: string): string | null {
  let best: string | null = null;
  let bestDistance = MAX_TYPO_DISTANCE + 1;
  for (const { name: candidate } of KEYS) {
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = editDistance(name, candidate);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function isPattern(key: Key): boolean {
  return key.suffix !== undefined || /[<*]/.test(key.name);
}

function patternOf(key: Key): RegExp {
  const name = key.name
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/<[^>]+>/g, '[^\\s]+')
    .replace(/\\\*$/, '.+');
  const suffix = key.suffix === undefined ? '' : '(?:\\.[^.\\s]+){0,2}';
  return new RegExp(`^${name}${suffix}$`);
}

/** Levenshtein distance in characters. */
function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[right.length] ?? 0;
}
