import { formatAddress, type HostPort } from '../../config/address.ts';
import { type Reply, RpcClient, RpcError } from '../../control/rpc-client.ts';
import type { MountDefaults, MountEntry } from '../../mount/entry.ts';
import { encodeMount, type MountRecord, RECORD_TYPES, RecordError, readMount } from '../../state-store/records.ts';
import { decode, messageType } from '../../wire/messages.ts';
import { ADMIN_PROTOCOL, GENERIC_REFRESH_PROTOCOL, REFRESH_CALL_QUEUE_PROTOCOL } from '../messages.ts';

/** What the first question to a router may take; one that is silent for so long counts as not reachable. */
const GREETING_TIMEOUT_MS = 5_000;
/** More time for each entry of a batch: a Java router writes them one after the other. */
const MORE_MS_PER_ENTRY = 50;
/** Longest time a Node timer can wait. */
const MAX_TIMER_MS = 2_147_483_647;

/** What an absent owner and group of a record read as. Java routers fill in their own user and group. */
const UNNAMED: MountDefaults = { routerUser: '', superGroup: '' };

/** No router can be reached; the message names each address with its reason. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

export interface AdminClientOptions {
  /** Admin ports, at least one; asked in this order. */
  readonly addresses: readonly HostPort[];
  readonly user: string;
  /** Longest wait for a connection, and for the answer of a call. */
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  /** Told of an address that is passed over. */
  onUnreachable(address: string, reason: string): void;
}

/** One answer of GenericRefreshProtocol. */
export interface RefreshAnswer {
  readonly sender: string;
  readonly message: string;
  readonly exitStatus: number;
}

/**
 * The admin protocol of a router, Java or Switchyard, at the first of several addresses that answers. Calls reject with RemoteError when
 * the router refuses, RpcError when there is no answer: it may have done what was asked then.
 */
export class AdminClient implements Disposable {
  readonly #options: AdminClientOptions;
  #rpc: RpcClient;
  #at: number;

  private constructor(options: AdminClientOptions, rpc: RpcClient, at: number) {
    this.#options = options;
    this.#rpc = rpc;
    this.#at = at;
  }

  /** Rejects with UnreachableError when no address answers, RemoteError when the first that does refuses us. */
  static async connect(options: AdminClientOptions): Promise<AdminClient> {
    const { rpc, at } = await dial(options, 0);
    return new AdminClient(options, rpc, at);
  }

  /** host:port of the router that is asked. */
  get address(): string {
    return addressText(this.#options.addresses[this.#at]);
  }

  isAt(address: HostPort): boolean {
    return this.address === addressText(address);
  }

  /** Leaves this router for the next address that answers, this one last. */
  async reconnect(): Promise<void> {
    this.#rpc.close();
    const { rpc, at } = await dial(this.#options, this.#at + 1);
    this.#rpc = rpc;
    this.#at = at;
  }

  close(): void {
    this.#rpc.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * The entries at and below a path that the user may read, as the router's cache has them. An empty path: all; Java routers then ask for
   * no permission.
   */
  async readMounts(path: string): Promise<MountRecord[]> {
    const { response } = await this.#rpc.call<{ entries: Buffer[] }>(
      ADMIN_PROTOCOL,
      'getMountTableEntries',
      'hadoop.hdfs.GetMountTableEntriesRequestProto',
      'hadoop.hdfs.router.MountTableRecordBytesProto',
      { srcPath: path },
      { timeoutMs: this.#options.timeoutMs },
    );
    return response.entries.map((bytes) => {
      try {
        return readMount(bytes, UNNAMED).record;
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        throw new RpcError(
          'MALFORMED',
          `${this.address} sent a mount entry that cannot be read: ${error.message}`,
          error,
        );
      }
    });
  }

  /** The entry of exactly this path; null when there is none, or none that the user may read. */
  async findMount(path: string): Promise<MountRecord | null> {
    return (await this.readMounts(path)).find(({ entry }) => entry.sourcePath === path) ?? null;
  }

  /** False when there is an entry of the path. */
  async addMount(entry: MountEntry): Promise<boolean> {
    return (await this.#call<{ status: boolean }>('addMountTableEntry', { entry: messageOf(entry, null) })).status;
  }

  /** Adds each that can be; null when all were added, else the keys of those that were not. Nothing is added when one is refused. */
  async addMounts(entries: readonly MountEntry[]): Promise<readonly string[] | null> {
    const timeoutMs = Math.min(MAX_TIMER_MS, this.#options.timeoutMs + MORE_MS_PER_ENTRY * entries.length);
    const request = { entry: entries.map((entry) => messageOf(entry, null)) };
    const answer = await this.#call<{ status: boolean; failedEntriesKeys: string[] }>(
      'addMountTableEntries',
      request,
      timeoutMs,
    );
    return answer.status ? null : answer.failedEntriesKeys;
  }

  /** Writes the entry in place of `before`, whose unknown fields it keeps. False when the router says that it did not. */
  async updateMount(entry: MountEntry, before: MountRecord | null): Promise<boolean> {
    const request = { entry: messageOf(entry, before) };
    return (await this.#call<{ status: boolean }>('updateMountTableEntry', request)).status;
  }

  /** False when there is no such entry. */
  async removeMount(srcPath: string): Promise<boolean> {
    return (await this.#call<{ status: boolean }>('removeMountTableEntry', { srcPath })).status;
  }

  /** Makes this router read the mount table from the State Store; false when it could not. */
  async refreshMounts(): Promise<boolean> {
    return (await this.#call<{ result: boolean }>('refreshMountTableEntries', {})).result;
  }

  /** Nameservices where the path is; the first that would be asked when it is in none. */
  async readDestination(srcPath: string): Promise<string[]> {
    return (await this.#call<{ destinations: string[] }>('getDestination', { srcPath })).destinations;
  }

  /** False when the router has no safe mode. */
  async enterSafeMode(): Promise<boolean> {
    return (await this.#call<{ status: boolean }>('enterSafeMode', {})).status;
  }

  async leaveSafeMode(): Promise<boolean> {
    return (await this.#call<{ status: boolean }>('leaveSafeMode', {})).status;
  }

  async isInSafeMode(): Promise<boolean> {
    return (await this.#call<{ isInSafeMode: boolean }>('getSafeMode', {})).isInSafeMode;
  }

  /** False when the router knows no enabled nameservice of the name. */
  async disableNameservice(nameServiceId: string): Promise<boolean> {
    return (await this.#call<{ status: boolean }>('disableNameservice', { nameServiceId })).status;
  }

  /** False when the nameservice is not disabled. */
  async enableNameservice(nameServiceId: string): Promise<boolean> {
    return (await this.#call<{ status: boolean }>('enableNameservice', { nameServiceId })).status;
  }

  async readDisabledNameservices(): Promise<string[]> {
    return (await this.#call<{ nameServiceIds: string[] }>('getDisabledNameservices', {})).nameServiceIds;
  }

  async refreshSuperUserGroups(): Promise<boolean> {
    return (await this.#call<{ status: boolean }>('refreshSuperUserGroupsConfiguration', {})).status;
  }

  async refreshCallQueue(): Promise<void> {
    await this.#rpc.call(
      REFRESH_CALL_QUEUE_PROTOCOL,
      'refreshCallQueue',
      'hadoop.common.RefreshCallQueueRequestProto',
      'hadoop.common.RefreshCallQueueResponseProto',
      {},
      { timeoutMs: this.#options.timeoutMs },
    );
  }

  /** Refreshes the named part of the router; one answer for each that goes by the name. */
  async refreshPart(identifier: string, args: readonly string[]): Promise<RefreshAnswer[]> {
    const { response } = await this.#rpc.call<{
      responses: { exitStatus?: number; userMessage?: string; senderName?: string }[];
    }>(
      GENERIC_REFRESH_PROTOCOL,
      'refresh',
      'hadoop.common.GenericRefreshRequestProto',
      'hadoop.common.GenericRefreshResponseCollectionProto',
      { identifier, args: [...args] },
      { timeoutMs: this.#options.timeoutMs },
    );
    return response.responses.map(({ exitStatus = 0, userMessage = '', senderName = '' }) => ({
      sender: senderName,
      message: userMessage,
      exitStatus,
    }));
  }

  async #call<Response extends object>(
    method: string,
    request: object,
    timeoutMs = this.#options.timeoutMs,
  ): Promise<Response> {
    return (await callAdmin<Response>(this.#rpc, method, request, timeoutMs)).response;
  }
}

function callAdmin<Response extends object>(
  rpc: RpcClient,
  method: string,
  request: object,
  timeoutMs: number,
): Promise<Reply<Response>> {
  const stem = `hadoop.hdfs.${method.charAt(0).toUpperCase()}${method.slice(1)}`;
  return rpc.call(ADMIN_PROTOCOL, method, `${stem}RequestProto`, `${stem}ResponseProto`, request, { timeoutMs });
}

/** The first address from `start` on, around, that answers a question. A hung router takes connections and says nothing. */
async function dial(options: AdminClientOptions, start: number): Promise<{ rpc: RpcClient; at: number }> {
  const { addresses, user, connectTimeoutMs, timeoutMs } = options;
  const reasons: string[] = [];
  for (let i = 0; i < addresses.length; i++) {
    const at = (start + i) % addresses.length;
    const address = addresses[at] as HostPort;
    let rpc: RpcClient | undefined;
    try {
      rpc = await RpcClient.connect({ ...address, user, protocol: ADMIN_PROTOCOL, connectTimeoutMs });
      await callAdmin(rpc, 'getSafeMode', {}, Math.min(timeoutMs, GREETING_TIMEOUT_MS));
      return { rpc, at };
    } catch (error) {
      rpc?.close();
      if (!(error instanceof RpcError)) throw error;
      reasons.push(error.message);
      if (i + 1 < addresses.length) options.onUnreachable(addressText(address), error.message);
    }
  }
  throw new UnreachableError(`no router answers: ${reasons.join('; ')}`);
}

function addressText(address: HostPort | undefined): string {
  return address === undefined ? '' : formatAddress(address.host, address.port);
}

function messageOf(entry: MountEntry, before: MountRecord | null): object {
  return decode(messageType(RECORD_TYPES.MountTable), encodeMount(entry, before));
}
