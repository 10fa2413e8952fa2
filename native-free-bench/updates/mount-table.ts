/** The mount table of this bench: so many entries below /m, all of them in ns0. */

import { emptyEntry, type MountEntry } from '../../src/mount/entry.ts';
import type { StoreDriver } from '../../src/state-store/driver.ts';
import { escapeKey } from '../../src/state-store/record-names.ts';
import { encodeMount } from '../../src/state-store/records.ts';

/** User of the routers: the administrator. */
export const USER = 'hdfs';
const DEFAULTS = { routerUser: USER, superGroup: 'supergroup' };
const WRITES_AT_ONCE = 128;
const DIGITS = 7;
/** Paths that the load reads. */
const READ_PATHS = 1024;

/** Source path of an entry. */
export function sourceOf(index: number): string {
  return `/m/${String(index).padStart(DIGITS, '0')}`;
}

/** An entry; each `revision` of it leads elsewhere. */
export function entryAt(sourcePath: string, revision: number): MountEntry {
  const nowMs = Date.now();
  return {
    ...emptyEntry(sourcePath, DEFAULTS),
    destinations: [{ nameservice: 'ns0', path: `/warehouse/r${revision}${sourcePath}` }],
    dateCreated: nowMs,
    dateModified: nowMs,
  };
}

/** Writes all entries into a store that has none. */
export async function fillTable(driver: StoreDriver, entries: number): Promise<void> {
  let next = 0;
  const writeNext = async (): Promise<void> => {
    while (next < entries) await writeEntry(driver, entryAt(sourceOf(next++), 0));
  };
  await Promise.all(Array.from({ length: WRITES_AT_ONCE }, writeNext));
}

/** As another router writes it. */
export async function writeEntry(driver: StoreDriver, entry: MountEntry): Promise<void> {
  const options = { update: true, errorIfExists: false };
  const written = await driver.put('MountTable', escapeKey(entry.sourcePath), encodeMount(entry), options);
  if (!written) throw new Error(`${entry.sourcePath} was not written`);
}

/** Paths below entries that are spread over the table. */
export function pathsBelow(entries: number): string[] {
  const step = Math.max(1, Math.floor(entries / READ_PATHS));
  return Array.from({ length: Math.min(entries, READ_PATHS) }, (_, i) => `${sourceOf(i * step)}/orders/part-${i}.orc`);
}
