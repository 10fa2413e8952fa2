import { emptyEntry, type MountEntry, senselessReason } from '../../../mount/entry.ts';
import type { MountRecord } from '../../../state-store/records.ts';
import { comparePaths, modeText } from '../../mount-rules.ts';
import { byteLimitText, isLimit } from '../sizes.ts';
import { countOf, plainText } from '../text.ts';
import { type DeclaredMount, declare, fulfil, type PlacedMount } from './declared.ts';
import { DeclarationError } from './fields.ts';

/** One field of an entry that is to change. */
export interface FieldChange {
  readonly field: string;
  readonly from: string;
  readonly to: string;
}

export type Step =
  | { readonly kind: 'add'; readonly path: string; readonly place: string; readonly entry: MountEntry }
  | {
      readonly kind: 'change';
      readonly path: string;
      readonly place: string;
      readonly entry: MountEntry;
      readonly before: MountRecord;
      readonly changes: readonly FieldChange[];
    }
  | { readonly kind: 'remove'; readonly path: string; readonly before: MountRecord };

/** What is to be done to a mount table, in this order. */
export interface Difference {
  readonly steps: readonly Step[];
  /** Mounts that are as they are declared. */
  readonly unchanged: number;
  /** Mounts of the table that the file does not name and that stay. */
  readonly kept: readonly string[];
}

export interface DifferenceOptions {
  /** Mounts that are not declared are removed. */
  readonly prune: boolean;
  /** Owner and group of new mounts that name none. */
  readonly owner: string;
  readonly group: string;
  /** Dates of what is written, ms since 1970. */
  readonly nowMs: number;
}

/**
 * The steps from a mount table to the declared one: adds with parents first, then changes, then removals with children first. Throws
 * DeclarationError for a mount that would be written and that no router could use.
 */
export function findDifference(
  declared: readonly PlacedMount[],
  present: readonly MountRecord[],
  options: DifferenceOptions,
): Difference {
  const { prune, owner, group, nowMs } = options;
  const table = new Map(present.map((record) => [record.entry.sourcePath, record]));
  const adds: Step[] = [];
  const changes: Step[] = [];
  let unchanged = 0;
  for (const { place, mount } of declared) {
    const path = mount.sourcePath;
    const before = table.get(path);
    if (before === undefined) {
      const entry = fulfil(mount, emptyEntry(path, { routerUser: owner, superGroup: group }), nowMs);
      requireSense(entry, place);
      adds.push({ kind: 'add', path, place, entry });
      continue;
    }
    const changed = findChanges(before.entry, mount);
    if (changed.length === 0) {
      unchanged++;
      continue;
    }
    const entry = fulfil(mount, before.entry, nowMs);
    requireSense(entry, place);
    changes.push({ kind: 'change', path, place, entry, before, changes: changed });
  }
  const names = new Set(declared.map(({ mount }) => mount.sourcePath));
  const others = [...table.values()].filter(({ entry }) => !names.has(entry.sourcePath));
  const removals = others.map((before): Step => ({ kind: 'remove', path: before.entry.sourcePath, before }));
  const byPath = (one: Step, other: Step): number => comparePaths(one.path, other.path);
  adds.sort(byPath);
  changes.sort(byPath);
  removals.sort((one, other) => byPath(other, one));
  return {
    steps: [...adds, ...changes, ...(prune ? removals : [])],
    unchanged,
    kept: prune ? [] : removals.map(({ path }) => path).reverse(),
  };
}

/** The fields of an entry that are not as declared. */
export function findChanges(before: MountEntry, mount: DeclaredMount): FieldChange[] {
  const wished = { ...mount, owner: mount.owner ?? before.owner, group: mount.group ?? before.group };
  const from = fieldTexts(declare(before));
  const changes: FieldChange[] = [];
  for (const [field, to] of fieldTexts(wished)) {
    const was = from.get(field) ?? '';
    if (was !== to) changes.push({ field, from: was, to });
  }
  return changes;
}

/** One line for each step and each field that changes, and what it comes to. */
export function* renderDifference({ steps, unchanged, kept }: Difference): Generator<string> {
  for (const step of steps) yield* renderStep(step);
  if (steps.length > 0) yield '';
  const count = (kind: Step['kind']): number => steps.filter((step) => step.kind === kind).length;
  yield `${count('add')} to add, ${count('change')} to change, ${count('remove')} to remove, ${unchanged} unchanged`;
  if (kept.length > 0)
    yield `${countOf(kept.length, 'mount')} not in the file, kept (--prune removes what is not in it)`;
}

function* renderStep(step: Step): Generator<string> {
  switch (step.kind) {
    case 'add': {
      yield plainText(`+ ${step.path}`);
      for (const [field, text] of fieldTexts(declare(step.entry))) {
        if (text !== UNSAID.get(field)) yield plainText(`    ${field}: ${text}`);
      }
      break;
    }
    case 'change':
      yield plainText(`~ ${step.path}`);
      for (const { field, from, to } of step.changes) yield plainText(`    ${field}: ${from} -> ${to}`);
      break;
    case 'remove':
      yield plainText(`- ${step.path}  (${fieldTexts(declare(step.before.entry)).get('destinations')})`);
      break;
  }
}

/** What is not worth a line of a new mount. */
const UNSAID: ReadonlyMap<string, string> = new Map([
  ['order', 'HASH'],
  ['read-only', 'no'],
  ['fault-tolerant', 'no'],
  ['namespace quota', 'none'],
  ['space quota', 'none'],
  ['storage type quotas', 'none'],
]);

/** The fields in words; two mounts with the same words are the same. */
function fieldTexts(mount: DeclaredMount): Map<string, string> {
  const yesNo = (flag: boolean): string => (flag ? 'yes' : 'no');
  const types = Array.from(mount.typeQuotas, ([type, limit]) => `${type} ${byteLimitText(limit)}`).sort();
  return new Map([
    ['destinations', mount.destinations.map(({ nameservice, path }) => quoted(`${nameservice}:${path}`)).join(', ')],
    ['order', mount.order],
    ['read-only', yesNo(mount.readOnly)],
    ['fault-tolerant', yesNo(mount.faultTolerant)],
    ['owner', mount.owner ?? ''],
    ['group', mount.group ?? ''],
    ['mode', modeText(mount.mode)],
    ['namespace quota', isLimit(mount.namespaceQuota) ? String(mount.namespaceQuota) : 'none'],
    ['space quota', isLimit(mount.spaceQuota) ? byteLimitText(mount.spaceQuota) : 'none'],
    ['storage type quotas', types.length === 0 ? 'none' : types.join(', ')],
  ]);
}

/** In quotes where it could be taken for several. */
function quoted(text: string): string {
  return /[,"]/.test(text) ? JSON.stringify(text) : text;
}

function requireSense(entry: MountEntry, place: string): void {
  const reason = senselessReason(entry);
  if (reason !== null) throw new DeclarationError(`${place}: ${plainText(reason)}`);
}
