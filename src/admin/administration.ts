import { formatAddress } from '../config/address.ts';
import type { AdminSettings } from '../config/admin-settings.ts';
import type { Configuration } from '../config/configuration.ts';
import type { Groups } from '../config/groups.ts';
import type { Impersonation } from '../control/impersonation.ts';
import type { Log } from '../control/log.ts';
import { type LookUpName, recordedAddress } from '../control/membership/addresses.ts';
import type { DisabledNameservices } from '../control/store/disabled.ts';
import type { RouterRecords } from '../control/store/router-records.ts';
import type { StateStore } from '../control/store/state-store.ts';
import type { MountEntry } from '../mount/entry.ts';
import type { Settings } from '../shared/settings.ts';
import { Access } from './access.ts';
import { AdminPort, type AdminPortFigures } from './admin-port.ts';
import { MountVerbs } from './mounts.ts';
import type { MountAdmin, PathLookup, QuotaPush, SafeModeAdmin, UsageFigures } from './parts.ts';
import { makeRefreshes } from './refresh-actions.ts';
import { RouterRefresh } from './router-refresh.ts';
import { RouterVerbs } from './router-verbs.ts';

/** The State Store with what is kept in it. */
export interface AdminStore {
  readonly store: StateStore;
  readonly mounts: MountAdmin;
  readonly disabled: DisabledNameservices;
  readonly routers: RouterRecords;
}

export interface AdministrationOptions {
  readonly settings: Settings;
  readonly admin: AdminSettings;
  /** Null: this router has none; then nothing can be changed but the router itself. */
  readonly stateStore: AdminStore | null;
  /** Mount points of the command line, shown where there is no State Store. */
  readonly given?: readonly MountEntry[];
  /** Null: safe mode is off. */
  readonly safeMode: SafeModeAdmin | null;
  readonly groups: Groups;
  readonly impersonation: Impersonation;
  /** The configuration as its files are now; throws ConfigError. */
  readConfiguration(): Configuration;
  /**
   * Reads the files anew and puts in force what they say of call queue and fairness; tells the Java class of the fairness policy. Throws
   * ConfigError, and then nothing has changed.
   */
  reloadAdmission(): string;
  readonly lookup: PathLookup;
  /** Nameservices with NameNodes behind this router, disabled or not. */
  known(): readonly string[];
  /** Resolves when the mount table as it is now is in force in all threads, or when that takes too long. Left out: it is at once. */
  readonly published?: () => Promise<boolean>;
  readonly usage: UsageFigures;
  /** Null: quotas are off. */
  readonly quotas: QuotaPush | null;
  /** The name of a numeric admin address; left out: the name service is asked. */
  readonly lookUpName?: LookUpName;
  readonly log: Log;
}

/** All of a router's administration: its rules, what it may do, and the admin port. */
export class Administration implements AsyncDisposable {
  readonly access: Access;
  readonly mounts: MountVerbs;
  readonly router: RouterVerbs;
  readonly #refresh: RouterRefresh | null;
  readonly #port: AdminPort | null;
  readonly #lookUpName: LookUpName | undefined;
  #recordedAddress = '';

  constructor(options: AdministrationOptions) {
    const { settings, admin, stateStore, safeMode, groups, impersonation, lookup, known, usage, quotas, log } = options;
    const { routerUser, superGroup } = settings;
    const reload = async (): Promise<boolean> => {
      const isLoaded = (await stateStore?.store.load('MountTable', true)) ?? false;
      await options.published?.();
      return isLoaded;
    };
    this.#lookUpName = options.lookUpName;
    this.access = new Access({
      routerUser,
      superGroup,
      permissionsEnabled: admin.permissionsEnabled,
      groupsOf: (user) => groups.groupsOf(user),
    });
    this.#refresh =
      admin.refresh === null || stateStore === null || !admin.enabled
        ? null
        : new RouterRefresh({
            settings: admin.refresh,
            routers: async () => {
              await stateStore.store.requireFresh('RouterState');
              return stateStore.routers.all();
            },
            ownAdminAddress: () => this.recordedAddress,
            user: routerUser,
            reload,
            log,
          });
    this.mounts = new MountVerbs({
      mounts: stateStore?.mounts ?? null,
      ...(options.given === undefined ? {} : { given: options.given }),
      reload,
      maxComponentBytes: admin.maxComponentBytes,
      mountCheck: admin.mountCheck ? lookup : null,
      usage,
      quotas,
      refreshRouters: async () => {
        await this.#refresh?.run();
      },
    });
    this.router = new RouterVerbs({
      safeMode,
      nameservices: stateStore?.disabled ?? null,
      known,
      lookup,
      reloadProxyUsers: () => impersonation.reload(options.readConfiguration()),
      reloadAdmission: () => void options.reloadAdmission(),
      onLookUpFailure: ({ nameservice, path }, error) => {
        const reason = error instanceof Error ? error.message : String(error);
        log.warn({ nameservice, path, reason }, 'admin: a destination could not be asked for a path');
      },
    });
    const services = {
      callerOf: (user: string) => this.access.callerOf(user),
      mounts: this.mounts,
      router: this.router,
      defaults: { routerUser, superGroup },
      refreshes: makeRefreshes(() => options.reloadAdmission()),
      now: Date.now,
    };
    const refusalOf = impersonation.refusalOf.bind(impersonation);
    this.#port = admin.enabled ? new AdminPort({ settings: admin, services, refusalOf, log }) : null;
  }

  /** host:port as it was configured; '' without an admin port. After `start`. */
  get adminAddress(): string {
    return this.#port === null ? '' : formatAddress(this.#port.address.host, this.#port.address.port);
  }

  /** host:port for this router's record in the State Store, by name as Java routers write it; '' without an admin port. After `start`. */
  get recordedAddress(): string {
    return this.#recordedAddress;
  }

  /** Of the admin port; null without one. */
  get portFigures(): AdminPortFigures | null {
    return this.#port?.figures ?? null;
  }

  /** Port that it listens on; 0 without. */
  get port(): number {
    return this.#port?.port ?? 0;
  }

  /** Opens the admin port. Rejects with ListenError when it cannot be had. */
  async start(): Promise<void> {
    if (this.#port === null) return;
    await this.#port.start();
    this.#recordedAddress = await recordedAddress(this.#port.address, this.#lookUpName);
  }

  async stop(): Promise<void> {
    await this.#port?.stop();
    this.#refresh?.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
