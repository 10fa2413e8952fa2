/** Flags of `add`, `add-all` and `update` that set fields of a mount entry. */
import { UsageError } from '../../commands/usage.ts';
import { canonicalPath } from '../../mount/canonical.ts';
import { MOUNT_MARKS, type MountDestination, type MountEntry, type MountOrder, ORDERS } from '../../mount/entry.ts';
import { type FlagValues, isGiven, textFlag } from './arguments.ts';

export const ADD_FLAGS = {
  'read-only': { type: 'boolean' },
  'fault-tolerant': { type: 'boolean' },
  order: { type: 'string' },
  owner: { type: 'string' },
  group: { type: 'string' },
  mode: { type: 'string' },
} as const;

/** As ADD_FLAGS; what is a mark there takes true or false here. */
export const UPDATE_FLAGS = {
  ...ADD_FLAGS,
  'read-only': { type: 'string' },
  'fault-tolerant': { type: 'string' },
} as const;

/** Fields that the flags set; those that are not given are missing. */
export type MountFields = Partial<
  Pick<MountEntry, 'order' | 'readOnly' | 'faultTolerant' | 'falseMarks' | 'owner' | 'group' | 'mode'>
>;

export function readMountFields(flags: FlagValues): MountFields {
  const fields: MountFields = {};
  const order = textFlag(flags, 'order');
  if (order !== undefined) fields.order = readOrder(order);
  const readOnly = readMark(flags, 'read-only');
  if (readOnly !== null) fields.readOnly = readOnly;
  const faultTolerant = readMark(flags, 'fault-tolerant');
  if (faultTolerant !== null) fields.faultTolerant = faultTolerant;
  const falseMarks = MOUNT_MARKS.filter((mark) => fields[mark] === false);
  if (falseMarks.length > 0) fields.falseMarks = falseMarks;
  const owner = textFlag(flags, 'owner');
  if (owner !== undefined) fields.owner = owner;
  const group = textFlag(flags, 'group');
  if (group !== undefined) fields.group = group;
  const mode = textFlag(flags, 'mode');
  if (mode !== undefined) fields.mode = readMode(mode);
  return fields;
}

/** A source path as clients would ask for it: no double slash, none at the end. */
export function readSource(text: string): string {
  if (!text.startsWith('/')) throw new UsageError(`'${text}' is no absolute path; write /${text}`);
  return canonicalPath(text);
}

/** `ns0,ns1 /path`: the same path in each nameservice. */
export function readDestinations(nameservices: string, path: string): MountDestination[] {
  if (!path.startsWith('/')) throw new UsageError(`the destination '${path}' is no absolute path; write /${path}`);
  const names = nameservices.split(',').map((name) => name.trim());
  if (names.includes('')) throw new UsageError(`'${nameservices}' is no list of nameservices; write NS or NS,NS`);
  return names.map((nameservice) => ({ nameservice, path: canonicalPath(path) }));
}

function readOrder(text: string): MountOrder {
  const order = ORDERS.find((known) => known === text.toUpperCase());
  if (order === undefined) throw new UsageError(`--order ${text}: use one of ${ORDERS.join(', ')}`);
  return order;
}

function readMode(text: string): number {
  if (/^[01]?[0-7]{3}$/.test(text)) return Number.parseInt(text, 8);
  throw new UsageError(`--mode ${text}: write octal digits, for instance 755`);
}

/** Null when it is not given. */
function readMark(flags: FlagValues, name: string): boolean | null {
  if (isGiven(flags, name)) return true;
  const text = textFlag(flags, name);
  if (text === undefined) return null;
  if (text === 'true' || text === 'false') return text === 'true';
  throw new UsageError(`--${name} ${text}: write true or false`);
}
