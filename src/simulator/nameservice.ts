/** A simulated nameservice: its NameNodes, the journal between them, and who may be active. */
import { createHash } from 'node:crypto';
import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { DataNode, SimulatedDataNode } from './datanodes.ts';
import { datanodesOf } from './datanodes.ts';
import { Journal } from './journal.ts';
import { NameNode } from './name-node.ts';
import type { NamespaceOptions } from './namespace.ts';
import type { HaState, NamespaceSettings } from './operation.ts';

/** Edits that are kept before NameNodes that nobody asks are made to apply them. */
const TAIL_AT_EDITS = 1024;
/** A NameNode whose tailing is held back is made to apply edits beyond this number. */
const MAX_KEPT_EDITS = 1_000_000;

export interface NameserviceOptions extends NamespaceOptions, NamespaceSettings {
  readonly clusterId: string;
  readonly createdMs: number;
  /** Groups of users that have any. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
  /** Those of all nameservices. */
  readonly datanodes?: readonly SimulatedDataNode[];
}

export class Nameservice {
  readonly id: string;
  readonly options: NameserviceOptions;
  readonly blockPoolId: string;
  readonly namespaceId: number;
  readonly datanodes: readonly DataNode[];
  readonly journal = new Journal();
  readonly namenodes: NameNode[] = [];
  readonly #watchers: (() => void)[] = [];

  /** `states` of nn0, nn1, …; one of them active at most. */
  constructor(id: string, states: readonly HaState[], options: NameserviceOptions) {
    this.id = id;
    this.options = options;
    const digest = createHash('sha256').update(`${options.clusterId}/${id}`).digest();
    this.namespaceId = digest.readUInt32BE(0) & 0x7fff_ffff;
    this.blockPoolId = `BP-${digest.readUInt32BE(4)}-127.0.0.1-${options.createdMs}`;
    this.datanodes = datanodesOf(options.datanodes ?? [], id, options.createdMs);
    for (const [at, state] of states.entries()) {
      this.namenodes.push(new NameNode(`nn${at}`, this, state, 'localhost'));
    }
  }

  /** Calls `watcher` when there may be something to apply, or some NameNode changed its state. */
  watch(watcher: () => void): void {
    this.#watchers.push(watcher);
  }

  notify(): void {
    for (const watcher of this.#watchers) {
      watcher();
    }
  }

  groupsOf(user: string): readonly string[] {
    return Object.hasOwn(this.options.groups, user) ? (this.options.groups[user] ?? []) : [];
  }

  isSuperuser(user: string): boolean {
    return user === this.options.superuser || this.groupsOf(user).includes(this.options.supergroup);
  }

  active(): NameNode | undefined {
    return this.namenodes.find((one) => one.state === 'active');
  }

  transition(namenode: NameNode, to: HaState): void {
    const active = this.active();
    if (to === 'active' && active !== undefined && active !== namenode) {
      throw new RemoteException(
        JAVA.SERVICE_FAILED,
        `${active.id} of ${this.id} is active; make it standby before ${namenode.id} becomes active`,
      );
    }
    if (to === 'active') {
      namenode.tailEdits(Date.now(), true);
    }
    namenode.state = to;
    this.notify();
  }

  onEdit(nowMs: number): void {
    const { journal } = this;
    if (journal.kept >= TAIL_AT_EDITS && journal.kept % TAIL_AT_EDITS === 0) {
      for (const namenode of this.namenodes) {
        namenode.tailEdits(nowMs, journal.kept >= MAX_KEPT_EDITS);
      }
    }
    journal.dropBefore(Math.min(...this.namenodes.map((one) => one.appliedPosition)));
    this.notify();
  }
}
