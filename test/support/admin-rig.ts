import { pino } from 'pino';
import { Administration } from '../../src/admin/administration.ts';
import { ADMIN_PROTOCOL } from '../../src/admin/messages.ts';
import type { PathLookup, QuotaPush, UsageFigures } from '../../src/admin/parts.ts';
import { readAdminSettings } from '../../src/config/admin-settings.ts';
import { readAdmission } from '../../src/config/admission.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { readFairness } from '../../src/config/fairness.ts';
import { Groups, readGroupOptions } from '../../src/config/groups.ts';
import { readSettings } from '../../src/config/settings.ts';
import { readStoreSettings } from '../../src/config/store-settings.ts';
import { Impersonation } from '../../src/control/impersonation.ts';
import type { Log } from '../../src/control/log.ts';
import type { LookUpName } from '../../src/control/membership/addresses.ts';
import { RpcClient } from '../../src/control/rpc-client.ts';
import { SafeMode } from '../../src/control/safe-mode.ts';
import { DisabledNameservices } from '../../src/control/store/disabled.ts';
import { MountRecords } from '../../src/control/store/mount-records.ts';
import { RouterRecords } from '../../src/control/store/router-records.ts';
import { StateStore } from '../../src/control/store/state-store.ts';
import { ControlBlock, createControlBlock } from '../../src/shared/control-block.ts';
import type { AdmissionSettings } from '../../src/shared/settings.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { type MemoryDriver, MemoryStore } from './memory-store.ts';

export const ROUTER_USER = 'hdfs';
/** The nameservices that the routers of tests know. */
export const KNOWN: readonly string[] = ['ns0', 'ns1'];

export interface AdminRigOptions {
  /** The store that several rigs share; null: a router without one. */
  readonly memory?: MemoryStore | null;
  readonly set?: Readonly<Record<string, string>>;
  readonly lookup?: PathLookup;
  readonly usage?: UsageFigures;
  readonly quotas?: QuotaPush;
  /** Host and port of this router's id. */
  readonly routerId?: string;
  readonly safeMode?: boolean;
  /** User that the router runs as. */
  readonly user?: string;
  /** The name of the admin port's address; left out: it has none. */
  readonly lookUpName?: LookUpName;
}

/** The main thread's side of one router, as far as administration goes, on a State Store in memory. */
export class AdminRig implements AsyncDisposable {
  readonly administration: Administration;
  readonly store: StateStore | null;
  readonly driver: MemoryDriver | null;
  readonly routers: RouterRecords | null = null;
  readonly lines: string[] = [];
  /** What the last refresh of call queue or fairness has put in force; null: there was none. */
  admission: AdmissionSettings | null = null;
  /** What the files say when they are read again. */
  overrides: Record<string, string>;
  readonly #clients: RpcClient[] = [];

  private constructor(options: AdminRigOptions) {
    const { memory = new MemoryStore(), set = {}, routerId = 'router:8888' } = options;
    this.overrides = {
      'dfs.federation.router.admin-address': '127.0.0.1:0',
      'hadoop.user.group.static.mapping.overrides': 'alice=staff;bob=users;boss=supergroup',
      ...set,
    };
    const configuration = this.#configuration();
    const settings = readSettings(
      configuration,
      { nameservices: [] },
      { HADOOP_USER_NAME: options.user ?? ROUTER_USER },
    );
    const log: Log = pino({ level: 'debug' }, { write: (line: string) => void this.lines.push(line) });
    const groups = new Groups(readGroupOptions(configuration));
    const storeSettings = readStoreSettings(configuration);
    this.driver = memory?.driver() ?? null;
    const { routerUser, superGroup } = settings;
    this.store =
      this.driver === null
        ? null
        : new StateStore({
            driver: this.driver,
            settings: storeSettings,
            defaults: { routerUser, superGroup },
            routerId,
            log,
          });
    const block = new ControlBlock(createControlBlock(KNOWN.length), KNOWN.length);
    const safeMode =
      this.store === null || options.safeMode === false || storeSettings.safeMode === null
        ? null
        : new SafeMode({ settings: storeSettings.safeMode, block, caches: this.store, log });
    const rig = this;
    const identity = {
      address: routerId,
      version: '',
      compileInfo: '',
      startedMs: 1,
      get adminAddress(): string {
        return rig.administration.recordedAddress;
      },
    };
    this.routers = this.store === null ? null : new RouterRecords(this.store, identity, 60_000, log);
    this.administration = new Administration({
      settings,
      admin: readAdminSettings(configuration),
      stateStore:
        this.store === null || this.routers === null
          ? null
          : {
              store: this.store,
              mounts: new MountRecords(this.store),
              disabled: new DisabledNameservices(this.store),
              routers: this.routers,
            },
      safeMode,
      groups,
      impersonation: new Impersonation(configuration, groups),
      readConfiguration: () => this.#configuration(),
      reloadAdmission: () => {
        const topology = { nameservices: KNOWN.map((id) => ({ id, namenodes: [] })) };
        this.admission = readAdmission(this.#configuration(), topology, settings.rpcPort);
        return readFairness(this.#configuration(), topology).policy;
      },
      lookup: options.lookup ?? { locationsOf: () => [], exists: () => Promise.resolve(true) },
      known: () => KNOWN,
      usage: options.usage ?? { usageOf: () => null },
      quotas: options.quotas ?? null,
      lookUpName: options.lookUpName ?? ((address) => Promise.resolve(address)),
      log,
    });
  }

  static async start(options: AdminRigOptions = {}): Promise<AdminRig> {
    const rig = new AdminRig(options);
    await rig.store?.start();
    await rig.administration.start();
    return rig;
  }

  /** A connection of a user to the admin port. */
  async connect(user: string, more: { realUser?: string; protocol?: string } = {}): Promise<RpcClient> {
    const { port } = this.administration;
    const client = await RpcClient.connect({ host: '127.0.0.1', port, user, protocol: ADMIN_PROTOCOL, ...more });
    this.#clients.push(client);
    return client;
  }

  /** One call of RouterAdminProtocol on a connection of its own. */
  async call(user: string, method: string, request: object = {}): Promise<Plain> {
    const stem = `hadoop.hdfs.${method.charAt(0).toUpperCase()}${method.slice(1)}`;
    const { port } = this.administration;
    using client = await RpcClient.connect({ host: '127.0.0.1', port, user, protocol: ADMIN_PROTOCOL });
    const { response } = await client.call(
      ADMIN_PROTOCOL,
      method,
      `${stem}RequestProto`,
      `${stem}ResponseProto`,
      request,
    );
    return response;
  }

  /** Writes this router's record as RUNNING. */
  async register(): Promise<void> {
    this.routers?.start();
    this.routers?.setStatus('RUNNING');
    await this.routers?.heartbeat();
    await this.routers?.heartbeat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.routers?.stop();
    await this.administration.stop();
    await this.store?.stop();
  }

  #configuration(): Configuration {
    const overrides = Object.entries(this.overrides).map(([key, value]) => ({ key, value, origin: 'test' }));
    return new Configuration({ directory: null, overrides });
  }
}

/** A MountTableRecordProto as the Java tool makes one. */
export function mountMessage(srcPath: string, more: object = {}): object {
  return {
    srcPath,
    destinations: [{ nameserviceId: 'ns0', path: srcPath }],
    dateCreated: 1_700_000_000_000,
    dateModified: 1_700_000_000_000,
    destOrder: 'HASH',
    ownerName: ROUTER_USER,
    groupName: 'supergroup',
    mode: 0o755,
    quota: { fileAndDirectoryCount: 0, quota: -1, spaceConsumed: 0, spaceQuota: -1 },
    ...more,
  };
}
