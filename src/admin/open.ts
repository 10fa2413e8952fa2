import { readAdminSettings } from '../config/admin-settings.ts';
import { readAdmission } from '../config/admission.ts';
import type { Configuration } from '../config/configuration.ts';
import { readFairness } from '../config/fairness.ts';
import type { Log } from '../control/log.ts';
import type { RouterServices } from '../control/router-types.ts';
import { MountSnapshot } from '../mount/snapshot.ts';
import type { ControlBlock } from '../shared/control-block.ts';
import type { NameNodeAddress, Settings, Topology } from '../shared/settings.ts';
import { Administration } from './administration.ts';
import { NameNodeLookup } from './path-lookup.ts';
import { PublishedMounts } from './published-mounts.ts';

export interface OpenOptions {
  readonly settings: Settings;
  readonly topology: Topology;
  readonly configuration: Configuration;
  /** The configuration as its files are now; throws ConfigError. */
  readonly readConfiguration: () => Configuration;
  readonly log: Log;
}

/**
 * Opens the administration of a router. Without a State Store there is an admin port only where the configuration gives its address: there is
 * little that it could do. Rejects with ListenError.
 */
export async function openAdministration(
  { settings, topology, configuration, readConfiguration, log }: OpenOptions,
  { federation, block, groups, impersonation, refreshAdmission }: RouterServices,
): Promise<Administration> {
  const { stored, live, membership, quotas } = federation;
  const known = topology.nameservices.filter(({ namenodes }) => namenodes.length > 0).map(({ id }) => id);
  const admin = readAdminSettings(configuration);
  const isWanted = stored !== null || configuration.isSet('dfs.federation.router.admin-address');
  const administration = new Administration({
    settings,
    admin: isWanted ? admin : { ...admin, enabled: false },
    stateStore:
      stored === null ? null : { ...stored, mounts: new PublishedMounts(stored.mounts, () => live.everywhere()) },
    ...(stored === null ? { given: federation.entries } : {}),
    safeMode: stored?.safeMode ?? null,
    groups,
    impersonation,
    readConfiguration,
    reloadAdmission: () => {
      const fresh = readConfiguration();
      const { policy } = readFairness(fresh, topology);
      refreshAdmission(readAdmission(fresh, topology, settings.rpcPort));
      log.info({ policy }, 'call queue and fairness: read from the configuration again');
      return policy;
    },
    lookup: new NameNodeLookup({
      settings,
      snapshot: newestSnapshot(() => federation.publisher),
      defaultNameservice: topology.nameservices[settings.defaultNameservice]?.id ?? null,
      isDisabled: (nameservice) => membership.feed.disabled.includes(nameservice),
      namenodesOf: (nameservice) => activeFirst(topology, block, nameservice),
    }),
    known: () => known,
    published: () => live.everywhere(),
    usage: quotas?.service ?? { usageOf: () => null },
    quotas: quotas?.push ?? null,
    log,
  });
  await administration.start();
  return administration;
}

/** The table that workers have, read once an epoch: its memory is used again later, so it is looked at within one event only. */
function newestSnapshot(publisher: () => RouterServices['federation']['publisher']): () => MountSnapshot | null {
  let snapshot: MountSnapshot | null = null;
  return () => {
    const { buffer, epoch } = publisher();
    if (buffer === null) return null;
    if (snapshot?.epoch !== epoch) snapshot = MountSnapshot.from(buffer);
    return snapshot;
  };
}

function activeFirst({ nameservices }: Topology, block: ControlBlock, id: string): readonly NameNodeAddress[] {
  const index = nameservices.findIndex((nameservice) => nameservice.id === id);
  const namenodes = nameservices[index]?.namenodes ?? [];
  const active = index < 0 ? -1 : block.activeOf(index);
  return namenodes.toSorted((a, b) => Number(namenodes[active] === b) - Number(namenodes[active] === a));
}
