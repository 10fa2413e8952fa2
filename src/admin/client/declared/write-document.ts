import { stringify } from 'yaml';
import { DEFAULT_MODE } from '../../../mount/entry.ts';
import { byteLimitText, isLimit } from '../sizes.ts';
import type { DeclaredMount } from './declared.ts';
import { destinationText } from './read-document.ts';

/** A mount as the file has it; fields with their default are left out, but for owner, group and mode. */
export function documentOf(mount: DeclaredMount): Record<string, unknown> {
  const { destinations, order, readOnly, faultTolerant, owner, group, mode } = mount;
  const written = destinations.map((destination) => destinationText(destination) ?? { ...destination });
  const fields: Record<string, unknown> = { destinations: written };
  if (destinations.length > 1 || order !== 'HASH') fields['order'] = order;
  if (readOnly) fields['readOnly'] = true;
  if (faultTolerant) fields['faultTolerant'] = true;
  if (owner !== null && owner !== '') fields['owner'] = owner;
  if (group !== null && group !== '') fields['group'] = group;
  fields['mode'] = modeDigits(mode);
  const quota = quotaOf(mount);
  if (Object.keys(quota).length > 0) fields['quota'] = quota;
  return fields;
}

/** As short as it can be: the destination alone where nothing else is said. */
export function shortDocumentOf(mount: DeclaredMount): unknown {
  const { mode, ...fields } = documentOf(mount);
  if (mount.mode !== DEFAULT_MODE) return { ...fields, mode };
  const [destination, ...others] = fields['destinations'] as unknown[];
  return Object.keys(fields).length === 1 && others.length === 0 && typeof destination === 'string'
    ? destination
    : fields;
}

/** The text of a file of mounts. `comments`: lines at its beginning, of YAML only. */
export function writeDocument(
  mounts: Iterable<readonly [string, unknown]>,
  format: 'yaml' | 'json',
  comments: readonly string[] = [],
): string {
  const document: { mounts: Record<string, unknown> } = { mounts: Object.create(null) };
  for (const [sourcePath, mount] of mounts) document.mounts[sourcePath] = mount;
  if (format === 'json') return `${JSON.stringify(document, null, 2)}\n`;
  const head = comments.map((comment) => `# ${comment}\n`).join('');
  return head + stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** `0755`, `1777`. */
export function modeDigits(mode: number): string {
  return (mode & 0o1777).toString(8).padStart(4, '0');
}

function quotaOf({ namespaceQuota, spaceQuota, typeQuotas }: DeclaredMount): Record<string, unknown> {
  const quota: Record<string, unknown> = {};
  // Text where a number would not be exact.
  if (isLimit(namespaceQuota)) {
    quota['namespace'] = Number.isSafeInteger(Number(namespaceQuota)) ? Number(namespaceQuota) : String(namespaceQuota);
  }
  if (isLimit(spaceQuota)) quota['space'] = byteLimitText(spaceQuota);
  if (typeQuotas.size > 0) {
    quota['storageTypes'] = Object.fromEntries(Array.from(typeQuotas, ([type, limit]) => [type, byteLimitText(limit)]));
  }
  return quota;
}
