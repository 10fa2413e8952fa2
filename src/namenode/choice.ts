import type { Call } from '../call/call.ts';
import { type ControlBlock, NameNodeState } from '../shared/control-block.ts';
import type { NameNode } from './namenode.ts';
import { PROBE_CLAIM_MS } from './probe.ts';

/** The lower the earlier a NameNode is asked when no active one is known. */
const RANK: Readonly<Record<number, number>> = {
  [NameNodeState.ACTIVE]: 0,
  [NameNodeState.UNKNOWN]: 1,
  [NameNodeState.STANDBY]: 2,
  [NameNodeState.UNAVAILABLE]: 3,
  [NameNodeState.OBSERVER]: 4,
};
/** Those that cannot be reached, and observers. */
const LAST_RANKS = 3;

/**
 * The NameNode to ask next: the one known as active, then those that may have become it, each once a round, none whose circuit is not closed;
 * null at the end of the round. Observers come last: what they answer without a state id may be stale.
 */
export function chooseNameNode(
  call: Call,
  namenodes: readonly NameNode[],
  block: ControlBlock,
  nowMs: number,
): NameNode | null {
  if (call.onlyNamenode >= 0) {
    const only = namenodes[call.onlyNamenode] as NameNode;
    if ((call.tried & (1 << call.onlyNamenode)) !== 0) return null;
    // It has no other way to go: when somebody is to find out about the NameNode, it does.
    return only.circuit.isClosed || only.circuit.claimProbe(nowMs, PROBE_CLAIM_MS) ? only : null;
  }
  const active = block.activeOf(call.nameservice);
  if (active >= 0 && (call.tried & (1 << active)) === 0) {
    const namenode = namenodes[active] as NameNode;
    if (namenode.circuit.isClosed) return namenode;
  }
  let best: NameNode | null = null;
  let bestRank = 100;
  for (let i = 0; i < namenodes.length; i++) {
    if ((call.tried & (1 << i)) !== 0) continue;
    const namenode = namenodes[i] as NameNode;
    if (!namenode.circuit.isClosed) continue;
    const rank = RANK[block.stateOf(call.nameservice, i)] as number;
    // It has an answer, and looks for a newer one: who cannot give it, or not at once, is left out.
    if (call.olderFrom >= 0 && !call.takesOlder && rank >= LAST_RANKS) continue;
    if (rank < bestRank) {
      best = namenode;
      bestRank = rank;
    }
  }
  return best;
}
