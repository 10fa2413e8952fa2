import { formatAddress } from '../../config/address.ts';
import type { MonitoredNamenode } from '../../control/membership/addresses.ts';
import type { ListedNamenode } from '../../control/membership/election.ts';
import type { Membership } from '../../control/membership/membership.ts';
import { type ControlBlock, NameNodeState } from '../../shared/control-block.ts';
import type { Topology } from '../../shared/settings.ts';
import type { NamenodeView, NameserviceView } from './parts.ts';

const STATES: Readonly<Record<number, NamenodeView['state']>> = {
  [NameNodeState.ACTIVE]: 'ACTIVE',
  [NameNodeState.STANDBY]: 'STANDBY',
  [NameNodeState.OBSERVER]: 'OBSERVER',
  [NameNodeState.UNAVAILABLE]: 'UNAVAILABLE',
};

/**
 * The nameservices of the configuration, each NameNode with the state by which calls find it now, and what routers have reported. What only
 * other routers report comes behind. `defaultNameservice`: index, −1 for none.
 */
export function viewNameservices(
  { nameservices }: Topology,
  defaultNameservice: number,
  block: ControlBlock,
  { feed, namenodes }: Pick<Membership, 'feed' | 'namenodes'>,
): NameserviceView[] {
  const disabled = new Set(feed.disabled);
  return nameservices.map(({ id }, index) => {
    const reports = feed.namenodesOf(id) ?? [];
    const own = namenodes.filter(({ nameservice }) => nameservice === index);
    const isOwn = ({ record }: ListedNamenode): boolean =>
      own.some(({ namenodeId }) => namenodeId === (record.namenodeId ?? ''));
    return {
      id,
      enabled: !disabled.has(id),
      default: index === defaultNameservice,
      namenodes: [
        ...own.map((namenode) => viewConfigured(namenode, block, reports)),
        ...reports.filter((report) => !isOwn(report)).map(viewReported),
      ],
    };
  });
}

function viewConfigured(
  namenode: MonitoredNamenode,
  block: ControlBlock,
  reports: readonly ListedNamenode[],
): NamenodeView {
  const { nameservice, index, namenodeId, rpc, webScheme, web } = namenode;
  const report = reports.find(({ record }) => (record.namenodeId ?? '') === namenodeId)?.record;
  const provedAtMs = block.provedAtMs(nameservice, index);
  return {
    id: namenodeId,
    rpcAddress: formatAddress(rpc.host, rpc.port),
    webAddress: `${webScheme}://${formatAddress(web.host, web.port)}`,
    state: stateName(block, namenode),
    takesCalls: block.activeOf(nameservice) === index,
    configured: true,
    safeMode: report?.safeMode ?? null,
    reportedAt: report?.dateModified ?? null,
    answeredAt: provedAtMs === 0 ? null : provedAtMs,
  };
}

export function stateName(
  block: ControlBlock,
  { nameservice, index }: Pick<MonitoredNamenode, 'nameservice' | 'index'>,
): NamenodeView['state'] {
  return STATES[block.stateOf(nameservice, index)] ?? 'UNKNOWN';
}

/** A NameNode that this router does not know: its calls never go there. */
function viewReported({ record }: ListedNamenode): NamenodeView {
  const { state, webScheme, webAddress } = record;
  return {
    id: record.namenodeId ?? '',
    rpcAddress: record.rpcAddress,
    webAddress: webAddress === '' ? '' : `${webScheme === '' ? 'http' : webScheme}://${webAddress}`,
    state: state === 'EXPIRED' || state === 'DISABLED' ? 'UNKNOWN' : state,
    takesCalls: false,
    configured: false,
    safeMode: record.safeMode,
    reportedAt: record.dateModified,
    answeredAt: null,
  };
}
