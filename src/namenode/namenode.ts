import { Deadline } from '../call/deadline.ts';
import { Circuit } from './circuit.ts';
import type { NameNodeConnection } from './connection.ts';
import type { ConnectionGroup } from './group.ts';
import { HostAddress } from './host-address.ts';

/** Connections to one NameNode that may be opening at the same time, so that a failover is no connection storm. */
export const MAX_OPENING = 8;

/** One NameNode as a worker sees it. */
export class NameNode {
  /** Number over all nameservices, the order of the topology. */
  readonly number: number;
  readonly nameservice: number;
  /** Index within its nameservice. */
  readonly index: number;
  readonly host: string;
  readonly port: number;
  readonly hostAddress: HostAddress;
  /** Whether calls go to it at all. */
  readonly circuit = new Circuit();
  /** Calls wait for it while its circuit is open: the end of the pause. */
  readonly pause: Deadline;
  /** All connections of all users, opening ones included. */
  readonly connections = new Set<NameNodeConnection>();
  /** Those of them that are open and not about to close. */
  openConnections = 0;
  /** Time of the last byte from it, and since when calls have been waiting on it without a break (0: none). */
  lastByteMs = 0;
  busySinceMs = 0;
  /** When it last did what only an active NameNode that has the journal can. */
  provedMs = 0;
  probing = false;
  #inFlight = 0;
  #opening = 0;
  readonly #openQueue: ConnectionGroup[] = [];

  /** `onPauseOver`: what waits for the end of `pause` is called back. */
  constructor(
    number: number,
    nameservice: number,
    index: number,
    host: string,
    port: number,
    onPauseOver: (namenode: NameNode) => void = () => {},
  ) {
    this.number = number;
    this.nameservice = nameservice;
    this.index = index;
    this.host = host;
    this.port = port;
    this.hostAddress = new HostAddress(host);
    this.pause = new Deadline(() => onPauseOver(this));
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get address(): string {
    return `${this.host}:${this.port}`;
  }

  started(nowMs: number): void {
    if (this.#inFlight++ === 0) this.busySinceMs = nowMs;
  }

  ended(): void {
    this.#inFlight--;
  }

  /** It serves some connection and was heard of within `withinMs`: that one connection cannot be opened says nothing about the others. */
  isAlive(nowMs: number, withinMs: number): boolean {
    return this.openConnections > 0 && nowMs - this.lastByteMs <= withinMs;
  }

  /** True: the group may open a connection now. False: it is called back (`group.openQueued`) when its turn has come. */
  mayOpen(group: ConnectionGroup): boolean {
    if (this.#opening < MAX_OPENING) {
      this.#opening++;
      return true;
    }
    // Bounded by the number of groups: each queues itself at most once (group.openPending).
    this.#openQueue.push(group);
    return false;
  }

  openingEnded(): void {
    this.#opening--;
    // A group that needs no connection any more leaves its turn to the next.
    while (this.#opening < MAX_OPENING) {
      const next = this.#openQueue.shift();
      if (next === undefined) return;
      next.openQueued();
    }
  }

  /** As `openingEnded`, when the NameNode cannot be reached: the groups that wait for their turn would fare no better, one after the other. */
  openingFailed(why: string): void {
    const queued = this.#openQueue.splice(0);
    this.openingEnded();
    for (let i = 0; i < queued.length; i++) (queued[i] as ConnectionGroup).openRefused(why);
  }
}
