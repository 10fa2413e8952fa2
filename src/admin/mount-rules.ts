/** What a mount entry must be to be written, with the texts by which tools know the Java Router's refusals. */
import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import { byteText } from '../mount/byte-text.ts';
import {
  invalidReason,
  isAllOrder,
  type MountEntry,
  type MountQuota,
  NO_QUOTA,
  senselessReason,
} from '../mount/entry.ts';

/** Throws IllegalArgumentException for an entry that may not be written. `isNew`: nor may one that no call can ever use. */
export function requireValid(entry: MountEntry, isNew: boolean): void {
  const java = javaRefusal(entry);
  if (java !== null) throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, java);
  const reason = isNew ? senselessReason(entry) : invalidReason(entry);
  if (reason !== null) throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, `Invalid entry, ${reason}`);
}

/** Throws PathComponentTooLongException when a component of a destination has more bytes; 0: no limit. */
export function requireShortComponents(entry: MountEntry, maxBytes: number): void {
  if (maxBytes <= 0) return;
  for (const { path } of entry.destinations) {
    for (const name of path.split('/')) {
      const bytes = Buffer.byteLength(name);
      if (bytes <= maxBytes) continue;
      throw new RemoteException(
        JAVA.NAME_TOO_LONG,
        `The maximum path component name limit of ${name} in directory ${path} is exceeded: limit=${maxBytes} length=${bytes}`,
      );
    }
  }
}

function javaRefusal(entry: MountEntry): string | null {
  const { sourcePath, destinations } = entry;
  if (entry.dateCreated <= 0) return 'The creation time for the record cannot be negative.';
  if (entry.dateModified <= 0) return 'The modification time for the record cannot be negative.';
  const invalid = (why: string): string => `Invalid entry, ${why} ${describeEntry(entry)}`;
  if (sourcePath === '') return invalid('no source path specified');
  if (!sourcePath.startsWith('/')) return invalid('all mount points must start with /');
  if (destinations.length === 0) return invalid('no destination paths specified');
  for (const { nameservice, path } of destinations) {
    if (nameservice === '') return invalid('invalid destination nameservice');
    if (path === '') return invalid('invalid destination path');
    if (!path.startsWith('/')) return invalid('all destination must start with /');
  }
  if (!entry.faultTolerant) return null;
  if (destinations.length < 2) return invalid('fault tolerance requires multiple destinations');
  return isAllOrder(entry.order) ? null : invalid('fault tolerance only supported for ALL order');
}

/** `/src->[ns0->/a, ns1->/b][HASH][RO][FT][owner:u][group:g][mode:rwxr-xr-x][quota:[NsQuota: -/-, SsQuota: -/-]]` */
export function describeEntry(entry: MountEntry): string {
  const { destinations } = entry;
  const parts = [
    `${entry.sourcePath}->[${destinations.map(({ nameservice, path }) => `${nameservice}->${path}`).join(', ')}]`,
  ];
  if (destinations.length > 1) parts.push(`[${entry.order}]`);
  if (entry.readOnly) parts.push('[RO]');
  if (entry.faultTolerant) parts.push('[FT]');
  if (entry.owner !== '') parts.push(`[owner:${entry.owner}]`);
  if (entry.group !== '') parts.push(`[group:${entry.group}]`);
  parts.push(`[mode:${modeText(entry.mode)}]`, `[quota:${quotaText(entry.quota)}]`);
  return parts.join('');
}

/** As `hdfs dfsrouteradmin -ls` shows it: limit and use, `-/-` where there is no limit. */
export function quotaText({
  namespaceQuota,
  fileAndDirectoryCount,
  spaceQuota,
  spaceConsumed,
  types,
}: MountQuota): string {
  const names = namespaceQuota === NO_QUOTA ? '-/-' : `${namespaceQuota}/${fileAndDirectoryCount}`;
  const space = spaceQuota === NO_QUOTA ? '-/-' : `${byteText(spaceQuota)}/${byteText(spaceConsumed)}`;
  const limited = types.filter(({ quota }) => quota !== NO_QUOTA);
  const typed = limited.map(({ type, quota, consumed }) => `, ${type}: ${byteText(quota)}/${byteText(consumed)}`);
  return `[NsQuota: ${names}, SsQuota: ${space}${typed.join('')}]`;
}

/** `rwxr-xr-x`; a sticky bit shows as `t` or `T`. */
export function modeText(mode: number): string {
  const triple = (bits: number): string => `${bits & 4 ? 'r' : '-'}${bits & 2 ? 'w' : '-'}${bits & 1 ? 'x' : '-'}`;
  const text = triple(mode >> 6) + triple(mode >> 3) + triple(mode);
  return (mode & 0o1000) === 0 ? text : text.slice(0, 8) + (text.endsWith('x') ? 't' : 'T');
}

/** Compares source paths as Java routers list them: `/` comes before any other character. */
export function comparePaths(one: string, other: string): number {
  const [a, b] = [sortKey(one), sortKey(other)];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Entries as Java routers list them. */
export function sortByPath(entries: Iterable<MountEntry>): MountEntry[] {
  const keyed = Array.from(entries, (entry) => ({ entry, key: sortKey(entry.sourcePath) }));
  keyed.sort(({ key: a }, { key: b }) => (a < b ? -1 : a > b ? 1 : 0));
  return keyed.map(({ entry }) => entry);
}

function sortKey(path: string): string {
  return path.replaceAll('/', '\0');
}

/** Whether `path` is `ancestor` or lies below it, by whole components. */
export function isAtOrBelow(path: string, ancestor: string): boolean {
  if (ancestor === '/') return path.startsWith('/');
  return path.startsWith(ancestor) && (path.length === ancestor.length || path[ancestor.length] === '/');
}
