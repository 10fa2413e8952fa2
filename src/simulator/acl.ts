/**
 * Access control lists. An inode keeps the part that its mode does not say: with named entries the group bits of the mode are the mask,
 * and the entry of the owning group is in the list. The logical list, which the changes work on, has all of them.
 */

import { textOf } from '../control/rpc-server/fields.ts';
import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';

/** Of one scope. */
const MAX_ENTRIES = 32;
const STICKY = 0o1000;

const SCOPES = ['ACCESS', 'DEFAULT'] as const;
const TYPES = ['USER', 'GROUP', 'MASK', 'OTHER'] as const;
/** AclEntryProto.FsActionProto: the position is the value. */
const ACTIONS = [
  'NONE',
  'EXECUTE',
  'WRITE',
  'WRITE_EXECUTE',
  'READ',
  'READ_EXECUTE',
  'READ_WRITE',
  'PERM_ALL',
] as const;

type Scope = (typeof SCOPES)[number];
type EntryType = (typeof TYPES)[number];

export interface AclEntry {
  readonly scope: Scope;
  readonly type: EntryType;
  /** '' for the entries of the owner, the owning group, the mask and the others. */
  readonly name: string;
  /** Bits of `Access`. */
  readonly permission: number;
}

/** What an inode keeps. */
export interface StoredAcl {
  readonly entries: readonly AclEntry[];
  readonly mode: number;
}

export function aclEntryOf(message: Plain): AclEntry {
  const scope = textOf(message, 'scope');
  const type = textOf(message, 'type');
  return {
    scope: scope === 'DEFAULT' ? 'DEFAULT' : 'ACCESS',
    type: TYPES.find((one) => one === type) ?? 'OTHER',
    name: textOf(message, 'name'),
    permission: Math.max(0, ACTIONS.indexOf(textOf(message, 'permissions') as (typeof ACTIONS)[number])),
  };
}

/** AclEntryProto. */
export function aclEntryMessage(entry: AclEntry): Plain {
  const { scope, type, name, permission } = entry;
  return { type, scope, permissions: ACTIONS[permission] ?? 'NONE', ...(name === '' ? {} : { name }) };
}

/** All entries that a mode and a stored list stand for, in order. */
export function logicalAcl({ entries, mode }: StoredAcl): AclEntry[] {
  const access = entries.filter((entry) => entry.scope === 'ACCESS');
  const base = (type: EntryType, shift: number): AclEntry => ({
    scope: 'ACCESS',
    type,
    name: '',
    permission: (mode >> shift) & 7,
  });
  const middle = access.length === 0 ? [base('GROUP', 3)] : [...access, base('MASK', 3)];
  return [base('USER', 6), ...middle, base('OTHER', 0), ...entries.filter((entry) => entry.scope === 'DEFAULT')];
}

/** What to keep of a complete, ordered list; a minimal one is all in the mode. */
export function storeAcl(acl: readonly AclEntry[], mode: number): StoredAcl {
  const access = acl.filter((entry) => entry.scope === 'ACCESS');
  const isMinimal = access.length === 3;
  const user = access[0]?.permission ?? 0;
  const group = access.at(-2)?.permission ?? 0;
  const other = access.at(-1)?.permission ?? 0;
  return {
    entries: [...(isMinimal ? [] : access.slice(1, -2)), ...acl.filter((entry) => entry.scope === 'DEFAULT')],
    mode: (mode & STICKY) | (user << 6) | (group << 3) | other,
  };
}

/** Entries of `spec` replace those of the same scope, type and name, and are added where there are none. */
export function mergeAcl(existing: readonly AclEntry[], spec: readonly AclEntry[]): AclEntry[] {
  checkSpec(spec);
  const changed = new Map(spec.map((entry) => [keyOf(entry), entry]));
  const kept = existing.filter((entry) => !changed.has(keyOf(entry)));
  return finish([...kept, ...spec], spec, spec);
}

/** Without the entries of the same scope, type and name as one of `spec`. */
export function filterAcl(existing: readonly AclEntry[], spec: readonly AclEntry[]): AclEntry[] {
  checkSpec(spec);
  const removed = new Set(spec.map(keyOf));
  const gone = existing.filter((entry) => removed.has(keyOf(entry)));
  return finish(
    existing.filter((entry) => !removed.has(keyOf(entry))),
    gone,
    gone,
  );
}

export function filterDefaultAcl(existing: readonly AclEntry[]): AclEntry[] {
  return validate(existing.filter((entry) => entry.scope === 'ACCESS'));
}

/** `spec` instead of all entries of the scopes that it has entries of. */
export function replaceAcl(existing: readonly AclEntry[], spec: readonly AclEntry[]): AclEntry[] {
  checkSpec(spec);
  const scopes = new Set(spec.map((entry) => entry.scope));
  return finish([...spec, ...existing.filter((entry) => !scopes.has(entry.scope))], spec, spec);
}

/** What a new inode gets from the default entries of its parent; the mode it was to have limits owner, mask and others. */
export function inheritAcl(parent: readonly AclEntry[], mode: number, isDirectory: boolean): StoredAcl | null {
  const defaults = parent.filter((entry) => entry.scope === 'DEFAULT');
  if (defaults.length === 0) {
    return null;
  }
  const isMinimal = defaults.length === 3;
  const limits: Record<EntryType, number> = {
    USER: (mode >> 6) & 7,
    GROUP: isMinimal ? (mode >> 3) & 7 : 7,
    MASK: (mode >> 3) & 7,
    OTHER: mode & 7,
  };
  const access = defaults.map((entry): AclEntry => {
    const limit = entry.name === '' ? limits[entry.type] : 7;
    return { ...entry, scope: 'ACCESS', permission: entry.permission & limit };
  });
  return storeAcl(isDirectory ? [...access, ...defaults] : access, mode);
}

/** Adds the default entries and masks that a list needs, and checks it. `touched` are the entries that were added or taken out. */
function finish(acl: readonly AclEntry[], touched: readonly AclEntry[], masks: readonly AclEntry[]): AclEntry[] {
  const entries = acl.filter((entry) => entry.type !== 'MASK');
  if (acl.some((entry) => entry.scope === 'DEFAULT')) {
    for (const type of ['USER', 'GROUP', 'OTHER'] as const) {
      const access = entries.find((entry) => isBase(entry, 'ACCESS', type));
      if (access !== undefined && !entries.some((entry) => isBase(entry, 'DEFAULT', type))) {
        entries.push({ ...access, scope: 'DEFAULT' });
      }
    }
  }
  for (const scope of SCOPES) {
    const mask = maskOf(scope, acl, entries, touched, masks);
    if (mask !== null) {
      entries.push(mask);
    }
  }
  return validate(entries);
}

/** The mask of a scope: the given one, or the union of what it limits; null when none is needed. */
function maskOf(
  scope: Scope,
  acl: readonly AclEntry[],
  entries: readonly AclEntry[],
  touched: readonly AclEntry[],
  masks: readonly AclEntry[],
): AclEntry | null {
  const own = entries.filter((entry) => entry.scope === scope);
  const given = acl.find((entry) => entry.scope === scope && entry.type === 'MASK');
  const isMaskTouched = masks.some((entry) => entry.scope === scope && entry.type === 'MASK');
  const isTouched = touched.some((entry) => entry.scope === scope);
  const isNeeded = own.some((entry) => entry.name !== '');
  if (own.length === 0) {
    return null;
  }
  if (given === undefined && isNeeded && isMaskTouched) {
    throw aclException('Invalid ACL: mask is required and cannot be deleted.');
  }
  if (given !== undefined && (!isTouched || isMaskTouched)) {
    return given;
  }
  if (!isNeeded) {
    return null;
  }
  let permission = 0;
  for (const entry of own) {
    permission |= entry.type === 'GROUP' || entry.name !== '' ? entry.permission : 0;
  }
  return { scope, type: 'MASK', name: '', permission };
}

function validate(acl: readonly AclEntry[]): AclEntry[] {
  const sorted = acl.toSorted(compareEntries);
  for (const scope of SCOPES) {
    const own = sorted.filter((entry) => entry.scope === scope);
    if (own.length > MAX_ENTRIES) {
      const kind = scope.toLowerCase();
      throw aclException(
        `Invalid ACL: ACL has ${own.length} ${kind} entries, which exceeds maximum of ${MAX_ENTRIES}.`,
      );
    }
  }
  for (const [at, entry] of sorted.entries()) {
    const before = sorted[at - 1];
    if (before !== undefined && compareEntries(before, entry) === 0) {
      throw aclException('Invalid ACL: multiple entries with same scope, type and name.');
    }
    if (entry.name !== '' && (entry.type === 'MASK' || entry.type === 'OTHER')) {
      throw aclException(`Invalid ACL: this entry type must not have a name: ${formatEntry(entry)}.`);
    }
  }
  const hasDefaults = sorted.some((entry) => entry.scope === 'DEFAULT');
  for (const type of ['USER', 'GROUP', 'OTHER'] as const) {
    if (!sorted.some((entry) => isBase(entry, 'ACCESS', type))) {
      throw aclException('Invalid ACL: the user, group and other entries are required.');
    }
    if (hasDefaults && !sorted.some((entry) => isBase(entry, 'DEFAULT', type))) {
      throw aclException('Invalid default ACL: the user, group and other entries are required.');
    }
  }
  return sorted;
}

/** Every list of changes is checked for doubles before it is applied. */
function checkSpec(spec: readonly AclEntry[]): void {
  if (new Set(spec.map(keyOf)).size !== spec.length) {
    throw aclException('Invalid ACL: multiple entries with same scope, type and name.');
  }
}

function isBase(entry: AclEntry, scope: Scope, type: EntryType): boolean {
  return entry.scope === scope && entry.type === type && entry.name === '';
}

function keyOf(entry: AclEntry): string {
  return `${entry.scope} ${entry.type} ${entry.name}`;
}

function compareEntries(a: AclEntry, b: AclEntry): number {
  return (
    SCOPES.indexOf(a.scope) - SCOPES.indexOf(b.scope) ||
    TYPES.indexOf(a.type) - TYPES.indexOf(b.type) ||
    (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  );
}

/** `default:user:bob:r-x` */
function formatEntry(entry: AclEntry): string {
  const bits = ['r', 'w', 'x'].map((letter, at) => ((entry.permission >> (2 - at)) & 1 ? letter : '-')).join('');
  return `${entry.scope === 'DEFAULT' ? 'default:' : ''}${entry.type.toLowerCase()}:${entry.name}:${bits}`;
}

export function aclException(message: string): RemoteException {
  return new RemoteException(JAVA.ACL, message);
}
