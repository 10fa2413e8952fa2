/*
 * Keys of records, and the names of files and znodes made of them.
 *
 *   MembershipState       namenodeId "-" nameserviceId "-" routerId     no namenodeId: "null"; an empty one: nameserviceId "-" routerId
 *   MountTable            source path
 *   RouterState           address
 *   DisabledNameservice   nameserviceId
 *
 *   name = key with every "/" as "0SLASH0", then every ":" as "_"       not injective: /a_b and /a:b share a name
 */
import type { MembershipRecord } from './records.ts';

/** Turns a record's key into its name, as all drivers do. */
export function escapeKey(key: string): string {
  return key.replaceAll('/', '0SLASH0').replaceAll(':', '_');
}

/** The key that a report of a failed record shows; as with Hadoop every `_` has become `:`. */
export function unescapeKey(name: string): string {
  return name.replaceAll('0SLASH0', '/').replaceAll('_', ':');
}

export function membershipKey({
  namenodeId,
  nameserviceId,
  routerId,
}: Pick<MembershipRecord, 'namenodeId' | 'nameserviceId' | 'routerId'>): string {
  const parts = [namenodeId ?? 'null', nameserviceId, routerId];
  return parts.filter((part) => part !== '').join('-');
}

/** Why no store can hold a record of this name; null when one can. ZooKeeper refuses more: control characters, and those beyond 16 bits. */
export function unusableNameReason(name: string): string | null {
  if (name === '' || name === '.' || name === '..') return `'${name}' cannot be a name`;
  if (name.includes('/') || name.includes('\0')) return 'the name has a slash or a zero byte';
  return name.isWellFormed() ? null : 'the name has half a character';
}
