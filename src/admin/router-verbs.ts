import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import { type AdminCaller, requireSuperuser } from './access.ts';
import { storeError } from './mounts.ts';
import type { Location, NameserviceAdmin, PathLookup, SafeModeAdmin } from './parts.ts';

export interface RouterVerbsOptions {
  /** Null: safe mode is off. */
  readonly safeMode: SafeModeAdmin | null;
  /** Null: this router has no State Store. */
  readonly nameservices: NameserviceAdmin | null;
  /** Nameservices with NameNodes behind this router, disabled or not. */
  known(): readonly string[];
  readonly lookup: PathLookup;
  /** Reads the rules of hadoop.proxyuser.* anew; rejects when they cannot be used. */
  reloadProxyUsers(): Promise<void>;
  /** Reads the keys of call queue and fairness anew; throws when they cannot be used. */
  reloadAdmission(): void;
  /** Told why a destination could not be asked. */
  onLookUpFailure(location: Location, error: unknown): void;
}

/** What administrators do to the router itself, behind the admin port and the HTTP interface alike. Refusals are RemoteException. */
export class RouterVerbs {
  readonly #options: RouterVerbsOptions;

  constructor(options: RouterVerbsOptions) {
    this.#options = options;
  }

  get isInSafeMode(): boolean {
    return this.#options.safeMode?.isOn ?? false;
  }

  /** False when this router has no safe mode. */
  enterSafeMode(caller: AdminCaller): boolean {
    requireSuperuser(caller);
    const { safeMode } = this.#options;
    safeMode?.enter();
    return safeMode !== null;
  }

  leaveSafeMode(caller: AdminCaller): boolean {
    requireSuperuser(caller);
    const { safeMode } = this.#options;
    safeMode?.leave();
    return safeMode !== null;
  }

  /** False when no nameservice of the name is enabled. */
  async disableNameservice(caller: AdminCaller, nameservice: string): Promise<boolean> {
    requireSuperuser(caller);
    return await this.#change(
      async (nameservices) => this.#options.known().includes(nameservice) && (await nameservices.disable(nameservice)),
    );
  }

  /** False when the nameservice is not disabled. */
  async enableNameservice(caller: AdminCaller, nameservice: string): Promise<boolean> {
    requireSuperuser(caller);
    return await this.#change((nameservices) => nameservices.enable(nameservice));
  }

  disabledNameservices(): string[] {
    try {
      return this.#options.nameservices?.ids() ?? [];
    } catch (error) {
      throw storeError(error);
    }
  }

  /** Where the mount table leads a path, in the order to ask, disabled nameservices left out. No NameNode is asked. */
  locationsOf(path: string, address: string): readonly Location[] {
    return this.#options.lookup.locationsOf(path, address);
  }

  /** Nameservices where the path is, in the order of its locations; the first of them when it is nowhere. */
  async destinationsOf(caller: AdminCaller, path: string, address: string): Promise<string[]> {
    const { lookup, onLookUpFailure } = this.#options;
    const locations = lookup.locationsOf(path, address);
    const found = await Promise.all(
      locations.map(async (location) => {
        try {
          return await lookup.exists(location, caller);
        } catch (error) {
          onLookUpFailure(location, error);
          return false;
        }
      }),
    );
    const first = locations.slice(0, 1);
    const there = locations.filter((_, i) => found[i]);
    return [...new Set((there.length > 0 ? there : first).map(({ nameservice }) => nameservice))];
  }

  async refreshProxyUsers(caller: AdminCaller): Promise<void> {
    requireSuperuser(caller);
    try {
      await this.#options.reloadProxyUsers();
    } catch (error) {
      throw new RemoteException(JAVA.IO, error instanceof Error ? error.message : String(error));
    }
  }

  /** Puts in force what the files say of the call queue now; refused when they are wrong, and then nothing has changed. */
  refreshCallQueue(caller: AdminCaller): void {
    requireSuperuser(caller);
    try {
      this.#options.reloadAdmission();
    } catch (error) {
      throw new RemoteException(JAVA.IO, error instanceof Error ? error.message : String(error));
    }
  }

  async #change(change: (nameservices: NameserviceAdmin) => Promise<boolean>): Promise<boolean> {
    const { nameservices } = this.#options;
    if (nameservices === null) {
      throw new RemoteException(
        JAVA.STATE_STORE_UNAVAILABLE,
        'this router has no State Store, so it cannot disable or enable nameservices; see dfs.federation.router.store.driver.class',
      );
    }
    try {
      return await change(nameservices);
    } catch (error) {
      throw storeError(error);
    }
  }
}
