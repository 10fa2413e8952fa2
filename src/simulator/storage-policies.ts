/** HDFS's block storage policies: they show in file status and can be set, though nothing is stored. */

import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';

interface StoragePolicy {
  readonly id: number;
  readonly name: string;
  readonly storage: readonly string[];
  readonly creationFallback: readonly string[];
  readonly replicationFallback: readonly string[];
}

/** The default policy, HOT: what files have when neither they nor a directory above says otherwise. */
export const DEFAULT_POLICY_ID = 7;

const POLICIES: readonly StoragePolicy[] = [
  policy(1, 'PROVIDED', ['PROVIDED', 'DISK'], ['PROVIDED', 'DISK'], ['PROVIDED', 'DISK']),
  policy(2, 'COLD', ['ARCHIVE'], [], []),
  policy(5, 'WARM', ['DISK', 'ARCHIVE'], ['DISK', 'ARCHIVE'], ['DISK', 'ARCHIVE']),
  policy(7, 'HOT', ['DISK'], [], ['ARCHIVE']),
  policy(10, 'ONE_SSD', ['SSD', 'DISK'], ['SSD', 'DISK'], ['SSD', 'DISK']),
  policy(12, 'ALL_SSD', ['SSD'], ['DISK'], ['DISK']),
  policy(14, 'ALL_NVDIMM', ['NVDIMM'], ['DISK'], ['DISK']),
  policy(15, 'LAZY_PERSIST', ['RAM_DISK', 'DISK'], ['DISK'], ['DISK']),
];

function policy(
  id: number,
  name: string,
  storage: readonly string[],
  creationFallback: readonly string[],
  replicationFallback: readonly string[],
): StoragePolicy {
  return { id, name, storage, creationFallback, replicationFallback };
}

/** Id of a policy by its name. */
export function policyId(name: string): number {
  const found = POLICIES.find((one) => one.name === name);
  if (found === undefined) {
    throw new RemoteException(JAVA.HADOOP_ILLEGAL_ARGUMENT, `Cannot find a block policy with the name ${name}`);
  }
  return found.id;
}

/** BlockStoragePolicyProto of an id; of the default one for ids that no policy has. */
export function policyMessage(id: number): Plain {
  const found = POLICIES.find((one) => one.id === id) ?? POLICIES.find((one) => one.id === DEFAULT_POLICY_ID);
  return found === undefined ? {} : toMessage(found);
}

/** Types that have a quota of their own, in the order in which they are listed. */
export const QUOTA_TYPES = ['SSD', 'DISK', 'ARCHIVE', 'PROVIDED', 'NVDIMM'] as const;

/** Storage type of each replica of a file with this policy; those without a quota are left out. Empty for an id without policy. */
export function storageTypesOf(id: number, replication: number): string[] {
  const found = POLICIES.find((one) => one.id === id);
  if (found === undefined) {
    return [];
  }
  const types = Array.from({ length: replication }, (_, at) => found.storage[at] ?? found.storage.at(-1) ?? 'DISK');
  return types.filter((type) => QUOTA_TYPES.some((one) => one === type));
}

export function policyMessages(): Plain[] {
  return POLICIES.map(toMessage);
}

function toMessage(one: StoragePolicy): Plain {
  return {
    policyId: one.id,
    name: one.name,
    creationPolicy: { storageTypes: [...one.storage] },
    creationFallbackPolicy: { storageTypes: [...one.creationFallback] },
    replicationFallbackPolicy: { storageTypes: [...one.replicationFallback] },
  };
}
