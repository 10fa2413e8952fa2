/** One of several running peers at a time: the others are stopped where they are and use no processor. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from './children.ts';

/** After a peer was resumed: its overdue timers run, its NameNode connections are looked after. */
const SETTLE_MS = 500;

export interface Pausable {
  /** Undefined for the direct connection. */
  readonly child: Child | undefined;
}

/** Only `peer` runs from now on. */
export async function letRunAlone(peer: Pausable, all: Iterable<Pausable>): Promise<void> {
  for (const other of all) if (other !== peer) other.child?.pause();
  peer.child?.resume();
  await sleep(SETTLE_MS);
}
