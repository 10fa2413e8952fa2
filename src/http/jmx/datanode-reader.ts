import { setImmediate as nextTurn } from 'node:timers/promises';
import { HdfsClient } from '../../control/hdfs-client.ts';
import type { Log } from '../../control/log.ts';
import type { MonitoredNamenode } from '../../control/membership/addresses.ts';
import type { ControlBlock } from '../../shared/control-block.ts';
import {
  type Datanode,
  type DatanodeReport,
  type KnownDatanodes,
  mergeReports,
  nodesText,
  usageText,
} from './datanodes.ts';
import { WrittenText } from './values.ts';

/** For one report of one NameNode: large clusters have thousands of DataNodes. */
const REPORT_TIMEOUT_MS = 30_000;
/** While nobody has looked for that long, no NameNode is asked. */
const UNWATCHED_AFTER_MS = 300_000;
/** A reading takes time of the main thread and of NameNodes: the pause behind it is so many times as long, at least. */
const PAUSE_PER_READING = 4;
/** DataNodes that are made into text before other events have their turn. */
const NODES_PER_TURN = 500;

export interface DatanodeReaderOptions {
  readonly namenodes: readonly MonitoredNamenode[];
  readonly block: Pick<ControlBlock, 'activeOf' | 'isDisabled'>;
  readonly user: string;
  readonly connectTimeoutMs: number;
  /** Pause between two readings. */
  readonly periodMs: number;
  readonly log: Log;
}

/** What the last reading found, as attributes have it. */
export interface DatanodeTexts {
  readonly live: WrittenText;
  readonly dead: WrittenText;
  readonly decommissioning: WrittenText;
  readonly enteringMaintenance: WrittenText;
  readonly usage: string;
}

const EMPTY = written(['{}']);
const NOTHING: DatanodeTexts = {
  live: EMPTY,
  dead: EMPTY,
  decommissioning: EMPTY,
  enteringMaintenance: EMPTY,
  usage: usageText([]),
};

/**
 * Reads in the background which DataNodes the nameservices have, while somebody looks at them. A nameservice that cannot be asked keeps the
 * DataNodes of the reading before.
 */
export class DatanodeReader {
  known: KnownDatanodes = { nodes: [], nameservices: new Set() };
  texts: DatanodeTexts = NOTHING;
  readonly #options: DatanodeReaderOptions;
  readonly #reports = new Map<string, DatanodeReport>();
  readonly #said = new Map<string, string>();
  #timer: NodeJS.Timeout | null = null;
  #lookedAtMs = 0;
  #isReading = false;
  #isStopped = false;

  constructor(options: DatanodeReaderOptions) {
    this.#options = options;
  }

  /** Somebody looks; the first time begins to read. */
  look(): void {
    this.#lookedAtMs = performance.now();
    if (!this.#isReading && this.#timer === null && !this.#isStopped) void this.#run();
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    this.#timer = null;
    if (performance.now() - this.#lookedAtMs > UNWATCHED_AFTER_MS) return;
    this.#isReading = true;
    const sinceMs = performance.now();
    try {
      await this.read();
    } catch (error) {
      this.#options.log.error({ err: error }, 'JMX: the DataNodes were not read');
    }
    this.#isReading = false;
    if (this.#isStopped) return;
    const pauseMs = Math.max(this.#options.periodMs, PAUSE_PER_READING * (performance.now() - sinceMs));
    this.#timer = setTimeout(() => void this.#run(), pauseMs);
    this.#timer.unref();
  }

  /** One reading, of one nameservice after the other. */
  async read(): Promise<void> {
    const byNameservice = Map.groupBy(this.#options.namenodes, ({ nameserviceId }) => nameserviceId);
    for (const [id, namenodes] of byNameservice) {
      if (this.#options.block.isDisabled(namenodes[0]?.nameservice ?? 0)) this.#reports.delete(id);
      else await this.#readNameservice(id, namenodes);
      if (this.#isStopped) return;
    }
    const known = mergeReports(this.#reports);
    this.texts = await this.#write(known.nodes);
    this.known = known;
  }

  async #write(nodes: readonly Datanode[]): Promise<DatanodeTexts> {
    const isIn =
      (state: string) =>
      ({ info }: Datanode): boolean =>
        info.adminState === state;
    return {
      live: await this.#writeList(nodes.filter(({ isLive }) => isLive)),
      dead: await this.#writeList(nodes.filter(({ isLive }) => !isLive)),
      decommissioning: await this.#writeList(nodes.filter(isIn('DECOMMISSION_INPROGRESS'))),
      enteringMaintenance: await this.#writeList(nodes.filter(isIn('ENTERING_MAINTENANCE'))),
      usage: usageText(nodes),
    };
  }

  async #writeList(nodes: readonly Datanode[]): Promise<WrittenText> {
    const parts: string[] = [];
    for (let at = 0; at < nodes.length; at += NODES_PER_TURN) {
      parts.push(nodesText(nodes.slice(at, at + NODES_PER_TURN), Date.now()).slice(1, -1));
      await nextTurn();
    }
    return parts.length === 0 ? EMPTY : written([`{${parts.join(',')}}`]);
  }

  /** The NameNode taken for active is asked, then the others. */
  async #readNameservice(id: string, namenodes: readonly MonitoredNamenode[]): Promise<void> {
    const { block, user, connectTimeoutMs, log } = this.#options;
    const active = block.activeOf(namenodes[0]?.nameservice ?? 0);
    const inOrder = namenodes.toSorted((a, b) => Number(b.index === active) - Number(a.index === active));
    let reason = '';
    for (const { service } of inOrder) {
      if (this.#isStopped) return;
      try {
        const { host, port } = service;
        using client = await HdfsClient.connect({ host, port, user, connectTimeoutMs, timeoutMs: REPORT_TIMEOUT_MS });
        const live = await client.listDatanodes('LIVE');
        this.#reports.set(id, { live, dead: await client.listDatanodes('DEAD') });
        this.#said.delete(id);
        return;
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
    }
    if (this.#said.get(id) === reason) return;
    this.#said.set(id, reason);
    log.warn({ nameservice: id, reason }, 'JMX: the DataNodes of a nameservice cannot be read');
  }
}

function written(texts: readonly string[]): WrittenText {
  return new WrittenText(Buffer.from(JSON.stringify(texts.join(''))));
}
