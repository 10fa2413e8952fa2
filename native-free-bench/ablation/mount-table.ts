/** The mount table of the ablation bench, and paths spread over it. */

import { writeFileSync } from 'node:fs';

export const MOUNTS = 1_000;
/** Paths that are called in turn. */
const PATHS = 1_024;
/** Prime: spreads the paths over the table. */
const STEP = 389;
/** Of all records: 1 July 2026. */
const DATE_MS = Date.UTC(2026, 6, 1);

/** Writes a file for `--mounts`: `/mnt`, and tables beneath it. Dates are fixed, so that two routers give the same answers. */
export function writeMountTable(file: string, nameservice: string): void {
  const records = Array.from({ length: MOUNTS }, (_, mount) => ({
    srcPath: sourceOf(mount),
    destinations: [{ nameserviceId: nameservice, path: sourceOf(mount) }],
    dateCreated: DATE_MS,
    dateModified: DATE_MS,
  }));
  writeFileSync(file, JSON.stringify(records));
}

export function listPaths(): string[] {
  return Array.from(
    { length: PATHS },
    (_, i) => `${sourceOf(1 + ((i * STEP) % (MOUNTS - 1)))}/year=2026/month=11/part-00017.orc`,
  );
}

function sourceOf(mount: number): string {
  if (mount === 0) return '/mnt';
  return `/mnt/warehouse/db${String(mount % 100).padStart(3, '0')}.db/table_${String(mount).padStart(6, '0')}`;
}
