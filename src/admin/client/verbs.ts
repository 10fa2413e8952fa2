import { nearestWord } from '../../commands/usage.ts';
import { MOUNT_VERBS } from './mount-verbs.ts';
import { QUOTA_VERBS } from './quota-verbs.ts';
import { ROUTER_VERBS } from './router-verbs.ts';
import { TABLE_VERBS } from './table-verbs.ts';
import type { Verb } from './verb.ts';
import { VIEWFS_VERB } from './viewfs.ts';
import { WHERE_VERB } from './where.ts';

/** In the order in which they are listed. */
export const VERBS: readonly Verb[] = [
  ...MOUNT_VERBS,
  WHERE_VERB,
  ...TABLE_VERBS,
  VIEWFS_VERB,
  ...QUOTA_VERBS,
  ...ROUTER_VERBS,
];

/** By its name, or that of `hdfs dfsrouteradmin` with or without its dash. */
export function findVerb(word: string): Verb | null {
  const name = word.replace(/^-/, '');
  return VERBS.find((verb) => verb.name === name || verb.aliases.includes(name)) ?? null;
}

export function nearestVerb(word: string): string | null {
  return nearestWord(
    word.replace(/^-+/, ''),
    VERBS.map(({ name }) => name),
  );
}
