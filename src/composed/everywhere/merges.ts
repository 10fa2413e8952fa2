import type { Plain } from '../../wire/messages.ts';
import { amountOf, longOf } from '../longs.ts';

/** Responses of several nameservices made one. */

/** Field by field the sum of what is not negative (NameNodes say -1 for what they do not know); a field that no response has stays absent. */
export function addUp(responses: readonly Plain[]): Plain {
  const sums = new Map<string, bigint>();
  for (const response of responses) {
    for (const [field, value] of Object.entries(response)) {
      const number = longOf(value);
      sums.set(field, (sums.get(field) ?? 0n) + (number > 0n ? number : 0n));
    }
  }
  return Object.fromEntries([...sums].map(([field, sum]) => [field, amountOf(sum)]));
}

/** True only where all say so. */
export function allTrue(field: string): (responses: readonly Plain[]) => Plain {
  return (responses) => ({ [field]: responses.every((response) => response[field] === true) });
}

/** True where one says so. */
export function anyTrue(field: string): (responses: readonly Plain[]) => Plain {
  return (responses) => ({ [field]: responses.some((response) => response[field] === true) });
}

/** The largest number. */
export function largest(field: string): (responses: readonly Plain[]) => Plain {
  return (responses) => {
    const numbers = responses.map((response) => longOf(response[field]));
    let most = numbers[0] ?? 0n;
    for (const number of numbers) if (number > most) most = number;
    return { [field]: most };
  };
}

/** Lists one after the other, each text once. */
export function union(field: string): (responses: readonly Plain[]) => Plain {
  return (responses) => ({ [field]: [...new Set(responses.flatMap((response) => response[field] as string[]))] });
}

/** The first verdict against the policies, else that of the first nameservice. */
export function strictestTopology(responses: readonly Plain[]): Plain {
  const against = responses.find(({ response }) => (response as Plain)['isSupported'] === false);
  return against ?? (responses[0] as Plain);
}

/**
 * The rolling upgrade that is least far: tools say "proceed" when its rollback images are there, and they must be there in all nameservices.
 * None when no nameservice upgrades.
 */
export function leastAdvancedUpgrade(responses: readonly Plain[]): Plain {
  const upgrades = responses.flatMap(({ rollingUpgradeInfo }) =>
    rollingUpgradeInfo === undefined ? [] : [rollingUpgradeInfo as Plain],
  );
  const open = upgrades.filter(({ status }) => (status as Plain)['finalized'] !== true);
  const least = open.find(({ createdRollbackImages }) => createdRollbackImages !== true) ?? open[0] ?? upgrades[0];
  return least === undefined ? {} : { rollingUpgradeInfo: least };
}
