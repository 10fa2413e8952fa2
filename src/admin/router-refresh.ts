import { parseAddress } from '../config/address.ts';
import type { RouterRefreshSettings } from '../config/admin-settings.ts';
import type { Log } from '../control/log.ts';
import { RpcClient } from '../control/rpc-client.ts';
import { ADMIN_PROTOCOL } from './messages.ts';
import type { RegisteredRouter } from './parts.ts';

/** Routers that are told at a time. */
const MAX_AT_ONCE = 64;
/** Connections that are kept; the one made first makes room. */
const MAX_CONNECTIONS = 1_000;

export interface RouterRefreshOptions {
  readonly settings: RouterRefreshSettings;
  /** All routers of the State Store, read now. */
  routers(): Promise<readonly RegisteredRouter[]>;
  /** As in this router's own record. */
  readonly ownAdminAddress: () => string;
  /** User that other routers see. */
  readonly user: string;
  /** Reads this router's own mount table anew. */
  reload(): Promise<boolean>;
  readonly log: Log;
  readonly now?: () => number;
}

interface Kept {
  readonly client: RpcClient;
  readonly untilMs: number;
}

/** Makes every running router read the mount table anew, this one included: asked after each change of mount entries. */
export class RouterRefresh {
  readonly #options: RouterRefreshOptions;
  readonly #now: () => number;
  readonly #kept = new Map<string, Kept>();
  #stopped = false;

  constructor(options: RouterRefreshOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Resolves when all have answered or the time is over, with the number of those that did as asked. Never rejects. */
  async run(): Promise<number> {
    const { settings, log } = this.#options;
    const deadlineMs = this.#now() + settings.timeoutMs;
    let done = 0;
    let asked = 0;
    const refreshAll = async (): Promise<void> => {
      const running = (await this.#options.routers()).filter(
        ({ adminAddress, status }) => adminAddress !== '' && status === 'RUNNING',
      );
      const addresses = [...new Set(running.map(({ adminAddress }) => adminAddress))];
      asked = addresses.length;
      const refreshNext = async (): Promise<void> => {
        for (let next = addresses.pop(); next !== undefined; next = addresses.pop()) {
          if (await this.#refresh(next, deadlineMs)) done++;
        }
      };
      await Promise.all(Array.from({ length: Math.min(MAX_AT_ONCE, asked) }, refreshNext));
    };
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), settings.timeoutMs);
      timer.unref();
    });
    try {
      if ((await Promise.race([refreshAll(), late])) === 'late') {
        log.warn({ asked, done }, 'mount table: not all routers have read it anew in time');
      } else log.debug({ asked, done }, 'mount table: routers have read it anew');
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'mount table: the other routers are not known, so they were not told');
    } finally {
      clearTimeout(timer);
    }
    return done;
  }

  stop(): void {
    this.#stopped = true;
    for (const { client } of this.#kept.values()) client.close();
    this.#kept.clear();
  }

  async #refresh(address: string, deadlineMs: number): Promise<boolean> {
    const leftMs = deadlineMs - this.#now();
    if (this.#stopped || leftMs <= 0) return false;
    try {
      if (address === this.#options.ownAdminAddress()) return await this.#options.reload();
      const client = await this.#connect(address, leftMs);
      const { response } = await client.call<{ result?: boolean }>(
        ADMIN_PROTOCOL,
        'refreshMountTableEntries',
        'hadoop.hdfs.RefreshMountTableEntriesRequestProto',
        'hadoop.hdfs.RefreshMountTableEntriesResponseProto',
        {},
        { timeoutMs: Math.max(1, deadlineMs - this.#now()) },
      );
      return response.result === true;
    } catch (error) {
      this.#drop(address);
      this.#options.log.warn({ router: address, reason: messageOf(error) }, 'mount table: a router was not told');
      return false;
    }
  }

  async #connect(address: string, withinMs: number): Promise<RpcClient> {
    const kept = this.#kept.get(address);
    if (kept !== undefined && !kept.client.isClosed && kept.untilMs > this.#now()) return kept.client;
    this.#retire(address);
    const { host, port } = parseAddress(address, -1);
    const { user, settings } = this.#options;
    const client = await RpcClient.connect({
      host,
      port,
      user,
      protocol: ADMIN_PROTOCOL,
      connectTimeoutMs: withinMs,
    });
    this.#retire(address);
    if (this.#stopped) client.close();
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= MAX_CONNECTIONS && oldest !== undefined) this.#retire(oldest);
    this.#kept.set(address, { client, untilMs: this.#now() + settings.connectionMs });
    return client;
  }

  /** No call begins on it any more; those under way have the time that they may take. */
  #retire(address: string): void {
    const client = this.#kept.get(address)?.client;
    this.#kept.delete(address);
    if (client !== undefined) setTimeout(() => client.close(), this.#options.settings.timeoutMs).unref();
  }

  #drop(address: string): void {
    this.#kept.get(address)?.client.close();
    this.#kept.delete(address);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
