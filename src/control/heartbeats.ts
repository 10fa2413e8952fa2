import { type ControlBlock, NameNodeState, UNKNOWN } from '../shared/control-block.ts';
import type { Settings, Topology } from '../shared/settings.ts';
import { HdfsClient } from './hdfs-client.ts';
import type { Log } from './log.ts';

const HA_STATES = {
  ACTIVE: NameNodeState.ACTIVE,
  STANDBY: NameNodeState.STANDBY,
  OBSERVER: NameNodeState.OBSERVER,
  INITIALIZING: NameNodeState.UNAVAILABLE,
} as const;
const NAMES: Readonly<Record<number, string>> = {
  [NameNodeState.ACTIVE]: 'active',
  [NameNodeState.STANDBY]: 'standby',
  [NameNodeState.OBSERVER]: 'observer',
  [NameNodeState.UNAVAILABLE]: 'initializing',
};
/** Longest time for all questions of one heartbeat to one NameNode. */
const HEARTBEAT_TIMEOUT_MS = 5000;

/**
 * Asks every NameNode, in parallel and each with its own deadline, for its HA state and block pool. What it learns is a hint that starts
 * workers off at the right NameNode; answers of real calls are fresher and correct it.
 */
export class Heartbeats {
  readonly #settings: Settings;
  readonly #topology: Topology;
  readonly #block: ControlBlock;
  readonly #log: Log;
  readonly #intervalMs: number;
  readonly #onBlockPool: (pool: string, nameservice: number) => void;
  readonly #pools = new Map<string, number>();
  /** By NameNode, as the log last said. */
  readonly #states = new Map<string, string>();
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(
    settings: Settings,
    topology: Topology,
    block: ControlBlock,
    log: Log,
    intervalMs: number,
    onBlockPool: (pool: string, nameservice: number) => void,
  ) {
    this.#settings = settings;
    this.#topology = topology;
    this.#block = block;
    this.#log = log;
    this.#intervalMs = intervalMs;
    this.#onBlockPool = onBlockPool;
  }

  /** Nameservice of each block pool seen so far. */
  get blockPools(): readonly (readonly [string, number])[] {
    return [...this.#pools];
  }

  /** Starts the rounds; resolves when every NameNode has answered the first one or has run out of time. */
  async start(): Promise<void> {
    await this.#round();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #round(): Promise<void> {
    const asked: Promise<void>[] = [];
    for (const [n, nameservice] of this.#topology.nameservices.entries()) {
      for (const [i, namenode] of nameservice.namenodes.entries()) {
        asked.push(
          this.#ask(n, i, namenode.host, namenode.port).catch((error: unknown) => this.#onSilence(n, i, error)),
        );
      }
    }
    await Promise.all(asked);
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#round(), this.#intervalMs);
    this.#timer.unref();
  }

  async #ask(nameservice: number, index: number, host: string, port: number): Promise<void> {
    using client = await HdfsClient.connect({
      host,
      port,
      user: this.#settings.routerUser,
      timeoutMs: HEARTBEAT_TIMEOUT_MS,
      connectTimeoutMs: this.#settings.connectTimeoutMs,
    });
    const state = HA_STATES[await client.getHAServiceState()];
    this.#block.setState(nameservice, index, state);
    this.#tellChange(nameservice, index, NAMES[state] ?? '', '');
    if (state === NameNodeState.ACTIVE) {
      if (this.#block.activeOf(nameservice) === UNKNOWN) this.#block.setActive(nameservice, index);
    } else this.#block.clearActive(nameservice, index);
    const { blockPoolID } = await client.versionRequest();
    if (blockPoolID !== '' && this.#pools.get(blockPoolID) !== nameservice) {
      this.#pools.set(blockPoolID, nameservice);
      this.#onBlockPool(blockPoolID, nameservice);
    }
  }

  #onSilence(nameservice: number, index: number, error: unknown): void {
    this.#tellChange(nameservice, index, 'unreachable', error instanceof Error ? error.message : String(error));
  }

  /** One line for each change of a NameNode, none while it stays as it is. */
  #tellChange(nameservice: number, index: number, state: string, reason: string): void {
    const { id = '', namenodes = [] } = this.#topology.nameservices[nameservice] ?? {};
    const { id: nn = '', host, port } = namenodes[index] ?? {};
    const namenode = nn === '' ? id : `${id}.${nn}`;
    const before = this.#states.get(namenode);
    if (before === state) return;
    this.#states.set(namenode, state);
    const details = {
      namenode,
      address: `${host}:${port}`,
      ...(before === undefined ? {} : { before }),
      ...(reason === '' ? {} : { reason }),
    };
    if (state === 'unreachable') this.#log.warn(details, 'NameNode is unreachable');
    else this.#log.info(details, `NameNode is ${state}`);
  }
}
