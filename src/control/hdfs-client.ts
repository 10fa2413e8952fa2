import { setTimeout as sleep } from 'node:timers/promises';
import { PROTOCOLS } from '../call/methods.ts';
import { type ConnectOptions, type Reply, RpcClient } from './rpc-client.ts';

const CLIENT_PROTOCOL = PROTOCOLS[0]!.name;
const NAMENODE_PROTOCOL = PROTOCOLS[1]!.name;
export const HA_PROTOCOL = 'org.apache.hadoop.ha.HAServiceProtocol';

const CREATE = 1;
const OVERWRITE = 2;
/** A NameNode that is not ready to complete a file says so; HDFS clients ask again this often, twice as late each time. */
const COMPLETE_ATTEMPTS = 6;
const COMPLETE_FIRST_DELAY_MS = 100;
/** A listing with more entries is refused rather than kept in memory. */
const MAX_LISTED_ENTRIES = 10_000_000;

/** HdfsFileStatusProto, the fields that are used here. */
export interface FileStatus {
  readonly fileType: 'IS_DIR' | 'IS_FILE' | 'IS_SYMLINK';
  /** Local name in listings, empty in getFileInfo. */
  readonly path: Buffer;
  readonly length: number;
  readonly permission: { readonly perm: number };
  readonly owner: string;
  readonly group: string;
  readonly modification_time: number;
  readonly access_time: number;
  readonly block_replication?: number;
  readonly blocksize?: number;
  readonly fileId?: number;
  readonly childrenNum?: number;
  /** Nameservice, set by routers on the answers of create and append. */
  readonly namespace?: string;
}

export type HaState = 'INITIALIZING' | 'ACTIVE' | 'STANDBY' | 'OBSERVER';

/** DatanodeInfoProto, the fields that are used here. 64-bit values are numbers where those are exact. */
export interface DatanodeInfo {
  readonly id: {
    readonly ipAddr: string;
    readonly hostName: string;
    readonly xferPort: number;
    readonly infoPort: number;
    readonly infoSecurePort: number;
  };
  readonly capacity: number | bigint;
  readonly dfsUsed: number | bigint;
  readonly remaining: number | bigint;
  readonly blockPoolUsed: number | bigint;
  readonly nonDfsUsed?: number | bigint;
  /** Of the last heartbeat, by the NameNode's clock, ms since 1970. */
  readonly lastUpdate: number;
  readonly location?: string;
  readonly adminState: string;
}

/** NamespaceInfoProto: which namespace a NameNode serves. */
export interface NamespaceInfo {
  readonly buildVersion: string;
  readonly softwareVersion: string;
  readonly blockPoolID: string;
  /** The third name is spelt so in HDFS. */
  readonly storageInfo: {
    readonly layoutVersion: number;
    readonly clusterID: string;
    readonly namespceID: number;
    readonly cTime: number;
  };
}

export interface CreateOptions {
  readonly overwrite?: boolean;
  readonly createParent?: boolean;
  /** Mode bits after the umask. */
  readonly permission?: number;
  readonly replication?: number;
  readonly blockSizeBytes?: number;
}

/** The HDFS operations that heartbeats, the demonstration client and tests need, on one connection. Errors are those of RpcClient. */
export class HdfsClient implements Disposable {
  readonly rpc: RpcClient;
  /** Holder of the leases of files that it creates. */
  readonly clientName: string;

  constructor(rpc: RpcClient) {
    this.rpc = rpc;
    this.clientName = `Switchyard_${rpc.clientId.toString('hex')}`;
  }

  static async connect(options: ConnectOptions): Promise<HdfsClient> {
    return new HdfsClient(await RpcClient.connect(options));
  }

  close(): void {
    this.rpc.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Makes a directory; true also when it was there. */
  async mkdirs(path: string, permission = 0o755, createParent = true): Promise<boolean> {
    const perm = { perm: permission };
    const { response } = await this.#call<{ result: boolean }>('mkdirs', {
      src: path,
      masked: perm,
      unmasked: perm,
      createParent,
    });
    return response.result;
  }

  /** Creates an empty file and completes it. The status is that of the answer to create. */
  async createEmptyFile(path: string, options: CreateOptions = {}): Promise<FileStatus | undefined> {
    const perm = { perm: options.permission ?? 0o644 };
    const { response } = await this.#call<{ fs?: FileStatus }>('create', {
      src: path,
      masked: perm,
      unmasked: perm,
      clientName: this.clientName,
      createFlag: options.overwrite === true ? CREATE | OVERWRITE : CREATE,
      createParent: options.createParent ?? true,
      replication: options.replication ?? 3,
      blockSize: options.blockSizeBytes ?? 128 * 1024 * 1024,
      cryptoProtocolVersion: ['ENCRYPTION_ZONES'],
    });
    await this.#complete(path, response.fs?.fileId ?? 0);
    return response.fs;
  }

  async #complete(path: string, fileId: number): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const request = { src: path, clientName: this.clientName, fileId };
      const { response } = await this.#call<{ result: boolean }>('complete', request);
      if (response.result) {
        return;
      }
      if (attempt + 1 === COMPLETE_ATTEMPTS) {
        throw new Error(`${path} was created but not completed: the NameNode was not ready ${COMPLETE_ATTEMPTS} times`);
      }
      await sleep(COMPLETE_FIRST_DELAY_MS << attempt);
    }
  }

  /** Undefined when there is no such path. */
  async getFileInfo(path: string): Promise<FileStatus | undefined> {
    const { response } = await this.#call<{ fs?: FileStatus }>('getFileInfo', { src: path });
    return response.fs;
  }

  /** All entries of a directory, page by page (a file lists as itself); undefined when there is no such path. */
  async list(path: string): Promise<FileStatus[] | undefined> {
    const entries: FileStatus[] = [];
    let startAfter: Buffer = Buffer.alloc(0);
    for (;;) {
      const { response } = await this.#call<ListingResponse>('getListing', {
        src: path,
        startAfter,
        needLocation: false,
      });
      if (response.dirList === undefined) {
        // Deleted between two pages: what was read is no listing of anything any more.
        return undefined;
      }
      const { partialListing, remainingEntries } = response.dirList;
      for (const entry of partialListing) {
        entries.push(entry);
      }
      const last = partialListing.at(-1);
      if (remainingEntries === 0 || last === undefined) {
        return entries;
      }
      if (Buffer.compare(last.path, startAfter) <= 0) {
        throw new Error(`the listing of ${path} does not advance beyond ${startAfter.toString()}`);
      }
      if (entries.length > MAX_LISTED_ENTRIES) {
        throw new Error(`${path} has more than ${MAX_LISTED_ENTRIES} entries`);
      }
      startAfter = last.path;
    }
  }

  /** False when there was nothing to delete. */
  async delete(path: string, recursive = false): Promise<boolean> {
    const { response } = await this.#call<{ result: boolean }>('delete', { src: path, recursive });
    return response.result;
  }

  /** False when the NameNode did not rename (no such source, target in the way). */
  async rename(from: string, to: string): Promise<boolean> {
    const { response } = await this.#call<{ result: boolean }>('rename', { src: from, dst: to });
    return response.result;
  }

  async getHAServiceState(): Promise<HaState> {
    const { response } = await this.rpc.call<{ state: HaState }>(
      CLIENT_PROTOCOL,
      'getHAServiceState',
      'hadoop.hdfs.HAServiceStateRequestProto',
      'hadoop.hdfs.HAServiceStateResponseProto',
      {},
    );
    return response.state;
  }

  /** As failover controllers ask it. On a NameNode with HA only superusers get an answer. */
  async getServiceStatus(timeoutMs: number): Promise<HaState> {
    const { response } = await this.rpc.call<{ state: HaState }>(
      HA_PROTOCOL,
      'getServiceStatus',
      'hadoop.common.GetServiceStatusRequestProto',
      'hadoop.common.GetServiceStatusResponseProto',
      {},
      { timeoutMs },
    );
    return response.state;
  }

  /** Whether the NameNode is in safe mode; changes nothing. */
  async isInSafeMode(): Promise<boolean> {
    const { response } = await this.#call<{ result: boolean }>('setSafeMode', {
      action: 'SAFEMODE_GET',
      checked: false,
    });
    return response.result;
  }

  /** Addresses of all DataNodes of the NameNode, dead ones too. */
  async listDatanodeAddresses(): Promise<string[]> {
    const { response } = await this.#call<{ di: { id: { ipAddr: string } }[] }>('getDatanodeReport', { type: 'ALL' });
    return response.di.map(({ id }) => id.ipAddr);
  }

  /** DataNodes that the NameNode takes for alive, or for dead. */
  async listDatanodes(type: 'LIVE' | 'DEAD'): Promise<DatanodeInfo[]> {
    const { response } = await this.#call<{ di: DatanodeInfo[] }>('getDatanodeReport', { type });
    return response.di;
  }

  async versionRequest(): Promise<NamespaceInfo> {
    const { response } = await this.rpc.call<{ info: NamespaceInfo }>(
      NAMENODE_PROTOCOL,
      'versionRequest',
      'hadoop.hdfs.VersionRequestProto',
      'hadoop.hdfs.VersionResponseProto',
      {},
    );
    return response.info;
  }

  /** A method of ClientProtocol whose messages are named after it. */
  #call<Response extends object>(method: string, request: object): Promise<Reply<Response>> {
    const stem = `hadoop.hdfs.${method.charAt(0).toUpperCase()}${method.slice(1)}`;
    return this.rpc.call<Response>(CLIENT_PROTOCOL, method, `${stem}RequestProto`, `${stem}ResponseProto`, request);
  }
}

interface ListingResponse {
  readonly dirList?: { readonly partialListing: readonly FileStatus[]; readonly remainingEntries: number };
}
