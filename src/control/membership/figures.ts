import { isIP } from 'node:net';
import { type LookUpHost, lookUpHost } from '../../config/host-names.ts';
import type { MountOrder } from '../../mount/entry.ts';
import { type FigureData, MAX_CLIENT_ADDRESSES } from '../../mount/order/figures.ts';
import type { ControlBlock } from '../../shared/control-block.ts';
import { HdfsClient } from '../hdfs-client.ts';
import type { Log } from '../log.ts';
import type { MonitoredNamenode } from './addresses.ts';

/** For the DataNode report of one NameNode: large clusters have thousands. */
const REPORT_TIMEOUT_MS = 30_000;
/** Nameservices whose DataNodes are asked for at a time. */
const NAMESERVICES_AT_A_TIME = 8;
const LOOPBACK = '127.0.0.1';

export interface FiguresOptions {
  readonly user: string;
  readonly connectTimeoutMs: number;
  /** Pause between two gatherings. */
  readonly periodMs: number;
  /** Numeric addresses of this host: clients on it come from the loopback address too. */
  readonly localAddresses: ReadonlySet<string>;
  readonly lookUpHost?: LookUpHost;
}

export interface FiguresSources {
  readonly namenodes: readonly MonitoredNamenode[];
  readonly block: ControlBlock;
  /** Free bytes by nameservice id. */
  readonly availableBytes: () => FigureData['available'];
  readonly onFigures: (figures: FigureData) => void;
}

/**
 * Gathers what the destination orders LOCAL and SPACE go by, while a mount point uses them. A nameservice whose DataNodes cannot be had keeps
 * those of the gathering before.
 */
export class FiguresGatherer {
  readonly #options: FiguresOptions;
  readonly #sources: FiguresSources;
  readonly #log: Log;
  readonly #lookUp: LookUpHost;
  /** Addresses of DataNodes by nameservice id. */
  readonly #datanodes = new Map<string, readonly string[]>();
  readonly #said = new Map<string, string>();
  #local = false;
  #space = false;
  #timer: NodeJS.Timeout | null = null;
  #gathering = false;
  #stopped = false;

  constructor(options: FiguresOptions, sources: FiguresSources, log: Log) {
    this.#options = options;
    this.#sources = sources;
    this.#log = log;
    this.#lookUp = options.lookUpHost ?? lookUpHost;
  }

  /** The orders that mount points with several destinations have now; gathers at once when a new one needs it. */
  useOrders(orders: ReadonlySet<MountOrder>): void {
    const local = orders.has('LOCAL');
    const space = orders.has('SPACE');
    const isNew = (local && !this.#local) || (space && !this.#space);
    this.#local = local;
    this.#space = space;
    if (!local) this.#datanodes.clear();
    if (isNew && !this.#gathering) this.#gatherNow();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #gatherNow(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#stopped || (!this.#local && !this.#space)) return;
    this.#gathering = true;
    this.#gather()
      .catch((error: unknown) =>
        this.#log.error({ error }, 'the figures for the orders LOCAL and SPACE were not gathered'),
      )
      .finally(() => {
        this.#gathering = false;
        if (this.#stopped) return;
        this.#timer = setTimeout(() => this.#gatherNow(), this.#options.periodMs);
        this.#timer.unref();
      });
  }

  async #gather(): Promise<void> {
    const local = this.#local;
    const clients = local ? await this.#gatherClients() : [];
    if (this.#stopped) return;
    const available = this.#space ? this.#sources.availableBytes() : [];
    this.#sources.onFigures({ clients, available });
    // The order LOCAL came into use meanwhile.
    if (this.#local && !local) await this.#gather();
  }

  /** Those of DataNodes first: of two pairs with one address the later counts, and a NameNode's own is surer. */
  async #gatherClients(): Promise<FigureData['clients']> {
    const byNameservice = [...Map.groupBy(this.#sources.namenodes, ({ nameserviceId }) => nameserviceId)];
    for (let at = 0; at < byNameservice.length; at += NAMESERVICES_AT_A_TIME) {
      const some = byNameservice.slice(at, at + NAMESERVICES_AT_A_TIME);
      await Promise.all(some.map(([id, namenodes]) => this.#readDatanodes(id, namenodes)));
      if (this.#stopped) return [];
    }
    const pairs: (readonly [string, string])[] = [];
    for (const [id, addresses] of this.#datanodes) {
      for (const address of addresses) if (pairs.length < MAX_CLIENT_ADDRESSES) pairs.push([address, id]);
    }
    const hosts = await Promise.all(this.#sources.namenodes.map((namenode) => this.#hostAddresses(namenode.rpc.host)));
    for (const [i, { nameserviceId }] of this.#sources.namenodes.entries()) {
      for (const address of hosts[i] ?? []) pairs.push([address, nameserviceId]);
    }
    return pairs;
  }

  async #hostAddresses(host: string): Promise<readonly string[]> {
    const found = isIP(host) === 0 ? await this.#lookUp(host) : [host];
    const { localAddresses } = this.#options;
    return found.some((address) => localAddresses.has(address)) ? [...found, LOOPBACK] : found;
  }

  /** The NameNode taken for active is asked, then the others. */
  async #readDatanodes(id: string, namenodes: readonly MonitoredNamenode[]): Promise<void> {
    const active = this.#sources.block.activeOf(namenodes[0]?.nameservice ?? 0);
    const inOrder = namenodes.toSorted((a, b) => Number(b.index === active) - Number(a.index === active));
    let reason = '';
    for (const { service } of inOrder) {
      if (this.#stopped) return;
      try {
        using client = await HdfsClient.connect({
          host: service.host,
          port: service.port,
          user: this.#options.user,
          connectTimeoutMs: this.#options.connectTimeoutMs,
          timeoutMs: REPORT_TIMEOUT_MS,
        });
        const addresses = await client.listDatanodeAddresses();
        this.#datanodes.set(id, [...new Set(addresses)].slice(0, MAX_CLIENT_ADDRESSES));
        this.#said.delete(id);
        return;
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
    }
    if (this.#said.get(id) === reason) return;
    this.#said.set(id, reason);
    this.#log.warn(
      { nameservice: id, reason },
      'the DataNodes of a nameservice are not known: the order LOCAL goes by older ones',
    );
  }
}
