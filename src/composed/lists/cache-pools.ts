import type { Plain } from '../../wire/messages.ts';
import type { Composition, Outcome } from '../composition.ts';
import { askRequired } from '../everywhere/fan-out.ts';
import { addUp } from '../everywhere/merges.ts';
import { everyNameservice } from '../everywhere/nameservices.ts';

/**
 * listCachePools: each pool once, with the limits that it was given (they hold in each nameservice by itself) and the sums of what it holds. A
 * page ends where the first page of a nameservice ends, for what comes behind it is not known of all.
 */
export async function listPools(c: Composition): Promise<Outcome> {
  const answers = await askRequired(c, c.own, everyNameservice(c.engine));
  const pools = new Map<string, Plain[]>();
  let end: string | null = null;
  for (const { body } of answers) {
    const { entries, hasMore } = c.read(body);
    for (const entry of entries as Plain[]) {
      const name = nameOf(entry);
      const same = pools.get(name);
      if (same === undefined) pools.set(name, [entry]);
      else same.push(entry);
    }
    const last = (entries as Plain[]).at(-1);
    if (hasMore !== true || last === undefined) continue;
    if (end === null || nameOf(last) < end) end = nameOf(last);
  }
  // By UTF-16, as NameNodes sort them.
  const names = [...pools.keys()].sort((a, b) => (a < b ? -1 : 1));
  const shown = end === null ? names : names.filter((name) => name <= (end as string));
  return c.write({ entries: shown.map((name) => merge(pools.get(name) as Plain[])), hasMore: end !== null });
}

/** Who may not read a pool in one nameservice sees its name only: what more another says of it is taken. */
function merge(entries: readonly Plain[]): Plain {
  const infos = entries.map(({ info }) => info as Plain);
  const [first] = infos;
  const fullest = infos.find(({ ownerName }) => ownerName !== undefined) ?? (first as Plain);
  return { info: fullest, stats: addUp(entries.map(({ stats }) => stats as Plain)) };
}

function nameOf(entry: Plain): string {
  return String((entry['info'] as Plain)['poolName'] ?? '');
}
