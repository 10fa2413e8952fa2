/** A simulated nameservice: its NameNodes, the journal between them, and who may be active. */
import { createHash } from 'node:crypto';
import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { DataNode, SimulatedDataNode } from './datanodes.ts';
import { datanodesOf } from './datanodes.ts';
import { type Edit, Journal } from './journal.ts';
import { NameNode } from './name-node.ts';
import type { NamespaceOptions } from './namespace.ts';
import type { HaState, NamespaceSettings } from './operation.ts';
import { Replica } from './replica.ts';

/** Edits that are kept before NameNodes that nobody asks are made to apply them. */
const TAIL_AT_EDITS = 1024;
/** A NameNode whose tailing is held back is made to apply edits beyond this number. */
const MAX_KEPT_EDITS = 1_000_000;
/** How far the image stays behind the journal, and so how many edits a restart can lose at most. */
export const IMAGE_BEHIND_EDITS = 8192;

export interface NameserviceOptions extends NamespaceOptions, NamespaceSettings {
  readonly clusterId: string;
  readonly createdMs: number;
  /** Groups of users that have any. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
  /** Those of all nameservices. */
  readonly datanodes?: readonly SimulatedDataNode[];
  /** Of what is drawn for single NameNodes. */
  readonly seed: number;
}

export class Nameservice {
  readonly id: string;
  readonly options: NameserviceOptions;
  readonly blockPoolId: string;
  readonly namespaceId: number;
  readonly datanodes: readonly DataNode[];
  readonly journal = new Journal();
  readonly namenodes: NameNode[] = [];
  /** What restarting followers begin with; null without observers. */
  #image: Replica | null = null;
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
    if (states.includes('observer')) {
      this.#image = new Replica(options);
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

  /** The one whose edits the journal takes. */
  active(): NameNode | undefined {
    return this.namenodes.find((one) => one.state === 'active' && !one.fenced);
  }

  /** Whether followers can lose transactions. */
  get keepsImage(): boolean {
    return this.#image !== null;
  }

  transition(namenode: NameNode, to: HaState): void {
    const active = this.active();
    if (to === 'active' && active !== undefined && active !== namenode) {
      throw new RemoteException(
        JAVA.SERVICE_FAILED,
        `${active.id} of ${this.id} is active; make it standby before ${namenode.id} becomes active`,
      );
    }
    namenode.enter(to);
    if (to === 'active') {
      namenode.tailEdits(Date.now(), true);
    }
    this.notify();
  }

  /** The active goes on as if it were, cut off from the journal; another NameNode may become active. */
  fence(namenode: NameNode, unsynced: number): void {
    namenode.fence(unsynced);
    this.notify();
  }

  /**
   * A NameNode begins anew. One that is not active may have lost transactions: it gets the tree of the image, applies edits up to where it
   * shall be, and leaves its own tree to the image. It loses fewer when the image is not so far behind.
   */
  restart(namenode: NameNode, loseTransactions: number, nowMs: number): void {
    const active = this.active();
    namenode.enter(
      namenode.state === 'active' && active !== undefined && active !== namenode ? 'standby' : namenode.state,
    );
    if (namenode.state === 'active') {
      // It may have been fenced while another one was active.
      namenode.tailEdits(nowMs, true);
      return;
    }
    const newer = namenode.replica;
    if (loseTransactions === 0 || this.#image === null || this.#image.position >= newer.position) {
      return;
    }
    namenode.replica = this.#image;
    this.#image = newer;
    this.#replayUntil(namenode.replica, (edit) => edit.txid > newer.namespace.txid - loseTransactions);
    namenode.tailing.restart(nowMs);
  }

  #replayUntil(replica: Replica, isEnough: (edit: Edit) => boolean): void {
    const [anyone] = this.namenodes;
    for (let edit = this.journal.at(replica.position); edit !== undefined; edit = this.journal.at(replica.position)) {
      if (isEnough(edit)) {
        return;
      }
      anyone?.replay(edit, replica);
    }
  }

  onEdit(nowMs: number): void {
    const { journal, namenodes } = this;
    for (const namenode of namenodes) {
      namenode.tailing.onEdit();
    }
    if (journal.kept >= TAIL_AT_EDITS && journal.kept % TAIL_AT_EDITS === 0) {
      this.#shorten(nowMs);
    }
    journal.dropBefore(Math.min(...namenodes.map((one) => one.replica.position), this.#image?.position ?? journal.end));
    this.notify();
  }

  /** Those that hold the beginning of the journal go on. */
  #shorten(nowMs: number): void {
    const { journal } = this;
    const isTooLong = journal.kept >= MAX_KEPT_EDITS;
    for (const namenode of this.namenodes) {
      if (isTooLong && namenode.fenced) {
        namenode.enter('standby');
      }
      namenode.tailEdits(nowMs, isTooLong);
    }
    if (this.#image !== null) {
      const end = journal.end - IMAGE_BEHIND_EDITS;
      const image = this.#image;
      this.#replayUntil(image, () => image.position >= end);
    }
  }
}
