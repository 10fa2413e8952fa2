import { emptyEntry, type MountEntry, type StorageType } from '../../src/mount/entry.ts';

export interface MountLimits {
  readonly names?: number;
  readonly bytes?: number;
  readonly types?: Readonly<Partial<Record<StorageType, number>>>;
}

/** A mount entry with limits; destinations as `ns0:/path`. */
export function limitedMount(
  sourcePath: string,
  destinations: readonly string[],
  { names = -1, bytes = -1, types = {} }: MountLimits = {},
): MountEntry {
  const entry = emptyEntry(sourcePath, { routerUser: 'router', superGroup: 'supergroup' });
  return {
    ...entry,
    dateCreated: 1,
    dateModified: 1,
    destinations: destinations.map((text) => {
      const colon = text.indexOf(':');
      return { nameservice: text.slice(0, colon), path: text.slice(colon + 1) };
    }),
    quota: {
      ...entry.quota,
      namespaceQuota: BigInt(names),
      spaceQuota: BigInt(bytes),
      types: Object.entries(types).map(([type, quota]) => ({
        type: type as StorageType,
        quota: BigInt(quota),
        consumed: 0n,
      })),
    },
  };
}
