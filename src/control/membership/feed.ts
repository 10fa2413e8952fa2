import { type ControlBlock, NameNodeState, UNKNOWN } from '../../shared/control-block.ts';
import type { Topology } from '../../shared/settings.ts';
import type { MembershipRecord, MembershipState } from '../../state-store/records.ts';
import type { Log } from '../log.ts';
import {
  type ActiveNameservice,
  electReports,
  type ListedNamenode,
  listActiveNameservices,
  listNamenodes,
  namenodeKey,
} from './election.ts';
import type { Report } from './heartbeats.ts';

/** Block pools kept; records of more are not learned from. */
export const MAX_BLOCK_POOLS = 16_384;
/** What an own heartbeat told so lately counts whatever the dates of reports say: the clocks of routers and of the store differ. */
const FIRST_HAND_MS = 15_000;

const WORDS: Readonly<Record<MembershipState, number>> = {
  ACTIVE: NameNodeState.ACTIVE,
  STANDBY: NameNodeState.STANDBY,
  OBSERVER: NameNodeState.OBSERVER,
  UNAVAILABLE: NameNodeState.UNAVAILABLE,
  EXPIRED: NameNodeState.UNKNOWN,
  DISABLED: NameNodeState.UNKNOWN,
};
const STATES: Readonly<Record<number, MembershipState>> = {
  [NameNodeState.ACTIVE]: 'ACTIVE',
  [NameNodeState.STANDBY]: 'STANDBY',
  [NameNodeState.OBSERVER]: 'OBSERVER',
  [NameNodeState.UNAVAILABLE]: 'UNAVAILABLE',
};

/** What a source says about the state of a NameNode, as of when. */
interface Word {
  readonly nameservice: number;
  readonly index: number;
  readonly state: number;
  /** ms since 1970. */
  readonly atMs: number;
}

/**
 * Carries what is known about NameNodes into the control block, from which workers choose.
 *
 * Three sources, the freshest one counts: answers to calls (workers write them into the block themselves, with the time), this router's own
 * heartbeats, and the reports of all routers in the State Store. A hint that is wrong costs a call one question to the wrong NameNode.
 * NameNodes that only other routers report are not in the topology, which is fixed at start; they are listed and never asked.
 */
export class MembershipFeed {
  readonly #topology: Topology;
  readonly #block: ControlBlock;
  readonly #log: Log;
  readonly #onBlockPool: (pool: string, nameservice: number) => void;
  readonly #now: () => number;
  /** By `namenodeKey`. */
  readonly #places: ReadonlyMap<string, { readonly nameservice: number; readonly index: number }>;
  /** When an own heartbeat last told the state of each NameNode, and whether it was reached at all; by `namenodeKey`. */
  readonly #heard = new Map<string, { readonly atMs: number; readonly reached: boolean }>();
  readonly #pools = new Map<string, number>();
  #records: readonly MembershipRecord[] = [];
  #elected: readonly MembershipRecord[] = [];
  #disabled: ReadonlySet<string> = new Set();
  #saidFull = false;
  #saidUnknown = '';

  constructor(
    topology: Topology,
    block: ControlBlock,
    log: Log,
    onBlockPool: (pool: string, nameservice: number) => void,
    now: () => number = Date.now,
  ) {
    this.#topology = topology;
    this.#block = block;
    this.#log = log;
    this.#onBlockPool = onBlockPool;
    this.#now = now;
    this.#places = new Map(
      topology.nameservices.flatMap(({ id, namenodes }, nameservice) =>
        namenodes.map(
          (namenode, index) =>
            [namenodeKey({ nameserviceId: id, namenodeId: namenode.id }), { nameservice, index }] as const,
        ),
      ),
    );
  }

  /** Nameservice of each block pool seen so far. */
  get blockPools(): readonly (readonly [string, number])[] {
    return [...this.#pools];
  }

  /** Ids of nameservices that are disabled, known here or not; sorted. */
  get disabled(): readonly string[] {
    return [...this.#disabled].sort();
  }

  /** Of all routers' reports, by the election rules. */
  get activeNameservices(): readonly ActiveNameservice[] {
    return listActiveNameservices(this.#records, this.#disabled);
  }

  /** The NameNodes of a nameservice in the order of the election, with what answers of calls have corrected since; null when nobody reports one. */
  namenodesOf(nameserviceId: string, observersFirst = false): readonly ListedNamenode[] | null {
    const disabled = this.#disabled.has(nameserviceId);
    return listNamenodes(this.#elected, nameserviceId, { observersFirst, disabled, corrections: this.#corrections() });
  }

  /** All routers' reports as they were last taken in, expired ones too. */
  get records(): readonly MembershipRecord[] {
    return this.#records;
  }

  /** One report of each NameNode, by the election rules. */
  get elected(): readonly MembershipRecord[] {
    return this.#elected;
  }

  /** As `namenodesOf`, of all nameservices that are reported and not disabled. */
  listAll(): Map<string, readonly ListedNamenode[]> {
    const corrections = this.#corrections();
    const lists = new Map<string, readonly ListedNamenode[]>();
    for (const [id, own] of Map.groupBy(this.#elected, ({ nameserviceId }) => nameserviceId)) {
      const list = this.#disabled.has(id) ? null : listNamenodes(own, id, { corrections });
      if (list !== null) lists.set(id, list);
    }
    return lists;
  }

  /** A heartbeat of this router. */
  onReport({ namenode, state, registered, blockPoolId, askedAtMs }: Report): void {
    const { nameservice, index } = namenode;
    this.#heard.set(namenodeKey(namenode), { atMs: askedAtMs, reached: registered });
    if (registered) this.#learnPool(blockPoolId, nameservice, true);
    if (!registered) {
      this.#applySilence({ nameservice, index, state: NameNodeState.UNAVAILABLE, atMs: askedAtMs });
    } else if (state !== null) this.#apply({ nameservice, index, state: WORDS[state], atMs: askedAtMs });
  }

  /** All reports in the State Store, after each time they were loaded; without one those of this router. */
  onRecords(records: readonly MembershipRecord[]): void {
    this.#records = records;
    this.#elected = electReports(records);
    const unknown = new Set<string>();
    for (const record of this.#elected) {
      const place = this.#places.get(namenodeKey(record));
      if (place === undefined) {
        unknown.add(namenodeKey(record));
        continue;
      }
      const heard = this.#heard.get(namenodeKey(record));
      // First-hand knowledge counts, unless it is old and older, or there is none because the NameNode cannot be reached from here.
      if (heard?.reached === true && (heard.atMs >= record.dateModified || this.#isRecent(heard.atMs))) continue;
      const word = { ...place, state: WORDS[record.state], atMs: record.dateModified };
      if (record.state === 'UNAVAILABLE') this.#applySilence(word);
      else this.#apply(word);
    }
    for (const { nameserviceId, blockPoolId } of listActiveNameservices(records)) {
      const nameservice = this.#topology.nameservices.findIndex(({ id }) => id === nameserviceId);
      if (nameservice >= 0) this.#learnPool(blockPoolId, nameservice, false);
    }
    this.#tellUnknown([...unknown].sort());
  }

  /** The ids of all nameservices that are disabled. */
  onDisabled(ids: Iterable<string>): void {
    const disabled = new Set(ids);
    const indexes = new Set<number>();
    for (const [index, { id }] of this.#topology.nameservices.entries()) if (disabled.has(id)) indexes.add(index);
    const changed = [...disabled, ...this.#disabled].filter((id) => disabled.has(id) !== this.#disabled.has(id));
    this.#disabled = disabled;
    this.#block.setDisabled(indexes);
    for (const id of changed) this.#log.info(`nameservice ${id} is ${disabled.has(id) ? 'disabled' : 'enabled'}`);
  }

  /** Free bytes of each nameservice out of its newest report with figures; of others nothing is known. */
  get availableBytes(): readonly (readonly [nameserviceId: string, bytes: number])[] {
    const newest = new Map<string, MembershipRecord>();
    for (const record of this.#records) {
      if (record.state === 'EXPIRED' || Number(record.stats?.['availableSpace'] ?? -1) < 0) continue;
      const other = newest.get(record.nameserviceId);
      if (other === undefined || other.dateModified < record.dateModified) newest.set(record.nameserviceId, record);
    }
    return [...newest].map(([id, record]) => [id, Number(record.stats?.['availableSpace'])] as const);
  }

  /** Clients' calls may reach it all the same: the active NameNode stays so until one of them or another NameNode says otherwise. */
  #applySilence(word: Word): void {
    if (this.#block.activeOf(word.nameservice) !== word.index) this.#apply(word);
  }

  /** Unless the answer to a call told it later. */
  #apply({ nameservice, index, state, atMs }: Word): void {
    const block = this.#block;
    if (this.#isProvedSince(nameservice, index, atMs)) return;
    block.setState(nameservice, index, state);
    if (state !== NameNodeState.ACTIVE) {
      block.clearActive(nameservice, index);
      return;
    }
    const active = block.activeOf(nameservice);
    if (active === index) return;
    if (active === UNKNOWN || this.#isLost(nameservice, active, atMs)) block.setActive(nameservice, index);
  }

  /** The NameNode taken for active is out of reach, and no answer of it came since the other one was seen active. */
  #isLost(nameservice: number, index: number, atMs: number): boolean {
    const { id = '', namenodes = [] } = this.#topology.nameservices[nameservice] ?? {};
    const key = namenodeKey({ nameserviceId: id, namenodeId: namenodes[index]?.id ?? '' });
    return this.#heard.get(key)?.reached === false && !this.#isProvedSince(nameservice, index, atMs);
  }

  #isRecent(atMs: number): boolean {
    const ageMs = this.#now() - atMs;
    return ageMs >= 0 && ageMs < FIRST_HAND_MS;
  }

  /** A time in the future is none: the clock was set back. */
  #isProvedSince(nameservice: number, index: number, atMs: number): boolean {
    const provedAtMs = this.#block.provedAtMs(nameservice, index);
    return provedAtMs >= atMs && provedAtMs <= this.#now();
  }

  /** States that calls or own heartbeats told after the elected report was written; by `namenodeKey`. */
  #corrections(): Map<string, MembershipState> {
    const corrections = new Map<string, MembershipState>();
    for (const record of this.#elected) {
      const key = namenodeKey(record);
      const place = this.#places.get(key);
      if (place === undefined) continue;
      const { nameservice, index } = place;
      const heard = this.#heard.get(key);
      const atMs = Math.max(this.#block.provedAtMs(nameservice, index), heard?.reached === true ? heard.atMs : 0);
      const state = STATES[this.#block.stateOf(nameservice, index)];
      if (state !== undefined && atMs > record.dateModified && atMs <= this.#now()) corrections.set(key, state);
    }
    return corrections;
  }

  /** What an own heartbeat says counts more than a report of others. */
  #learnPool(pool: string, nameservice: number, isOwn: boolean): void {
    const known = this.#pools.get(pool);
    if (pool === '' || known === nameservice || (known !== undefined && !isOwn)) return;
    if (known === undefined && this.#pools.size >= MAX_BLOCK_POOLS) {
      if (!this.#saidFull)
        this.#log.warn(`more than ${MAX_BLOCK_POOLS} block pools are reported: new ones are not learned`);
      this.#saidFull = true;
      return;
    }
    this.#pools.set(pool, nameservice);
    this.#onBlockPool(pool, nameservice);
  }

  #tellUnknown(keys: readonly string[]): void {
    const text = keys.join(', ');
    if (text === this.#saidUnknown) return;
    this.#saidUnknown = text;
    if (text === '') return;
    this.#log.warn(
      { namenodes: keys.slice(0, 20) },
      `${keys.length} NameNodes that other routers report are not configured here and are not asked; add them to dfs.nameservices and dfs.ha.namenodes`,
    );
  }
}
