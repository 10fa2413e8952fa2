import type { Plain } from '../../wire/messages.ts';
import { amountOf, longOf } from '../longs.ts';
import type { Subtree } from './gather.ts';

/** A limit that is not set; also the answer of NameNodes. */
const NO_LIMIT = -1n;

/** The total of one field. The tree may have changed between the requests: what is taken away may be more than what was counted. */
export function totalOf({ counted }: Subtree, field: string): bigint {
  let total = 0n;
  for (const { cell, count } of counted) total += BigInt(cell.weight) * longOf(count[field]);
  return amountOf(total);
}

/** The total without those that were counted twice, with those that only mount points make. */
export function totalWithDirectories(subtree: Subtree, field: string): bigint {
  const { directoriesTwice, directoriesOfMounts } = subtree;
  return amountOf(amountOf(totalOf(subtree, field) - directoriesTwice) + directoriesOfMounts);
}

/**
 * A limit of the path's own directory: where it exists in several locations, which all have it, the smallest, for that one stops writers
 * first (the router sets the same in all); -1 when a location has none.
 */
export function limitOf({ own }: Subtree, field: string): bigint {
  return smallestLimit(own.map((count) => longOf(count[field])));
}

/** StorageTypeQuotaInfosProto: limits as `limitOf`, what is consumed summed up. Undefined when no answer speaks of storage types. */
export function typesOf({ own, counted }: Subtree): Plain | undefined {
  const consumed = new Map<string, bigint>();
  for (const { cell, count } of counted) {
    for (const info of infosIn(count)) {
      const type = typeIn(info);
      consumed.set(type, (consumed.get(type) ?? 0n) + BigInt(cell.weight) * longOf(info['consumed']));
    }
  }
  if (consumed.size === 0) return undefined;
  const typeQuotaInfo = [...consumed].map(([type, bytes]) => {
    const limits = own.map((count) => {
      const info = infosIn(count).find((each) => typeIn(each) === type);
      return info === undefined ? NO_LIMIT : longOf(info['quota']);
    });
    return { type, quota: smallestLimit(limits), consumed: amountOf(bytes) };
  });
  return { typeQuotaInfo };
}

/** A file: of it alone is no directory. */
export function isFile(summary: Plain): boolean {
  return longOf(summary['directoryCount']) === 0n && longOf(summary['fileCount']) > 0n;
}

function smallestLimit(limits: readonly bigint[]): bigint {
  let smallest = NO_LIMIT;
  for (const limit of limits) {
    if (limit < 0n) return NO_LIMIT;
    if (smallest < 0n || limit < smallest) smallest = limit;
  }
  return smallest;
}

function infosIn(count: Plain): Plain[] {
  const infos = count['typeQuotaInfos'] as Plain | undefined;
  return (infos?.['typeQuotaInfo'] ?? []) as Plain[];
}

function typeIn(info: Plain): string {
  return (info['type'] as string | undefined) ?? 'DISK';
}
