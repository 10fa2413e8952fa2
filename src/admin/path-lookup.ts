import { formatAddress } from '../config/address.ts';
import { HdfsClient } from '../control/hdfs-client.ts';
import { RemoteError } from '../control/rpc-client.ts';
import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import { canonicalPath } from '../mount/canonical.ts';
import { NO_FIGURES, type OrderFigures } from '../mount/order/figures.ts';
import { firstNameservice, orderDestinations } from '../mount/order/order.ts';
import { type MountSnapshot, NO_MOUNT } from '../mount/snapshot.ts';
import type { NameNodeAddress, Settings } from '../shared/settings.ts';
import type { AdminCaller } from './access.ts';
import type { Location, PathLookup } from './parts.ts';

/** Longest wait for one NameNode. */
const ASK_WITHIN_MS = 5_000;

export interface NameNodeLookupOptions {
  readonly settings: Settings;
  /** The mount table that workers have, null before the first. */
  snapshot(): MountSnapshot | null;
  /** Name of the default nameservice, null for none. */
  readonly defaultNameservice: string | null;
  isDisabled(nameservice: string): boolean;
  /** NameNodes of a nameservice, the active one first as far as it is known; none for an unknown nameservice. */
  namenodesOf(nameservice: string): readonly NameNodeAddress[];
  readonly figures?: OrderFigures;
}

/** Finds the locations of paths in the mount table, and asks NameNodes for them as the caller. */
export class NameNodeLookup implements PathLookup {
  readonly #options: NameNodeLookupOptions;

  constructor(options: NameNodeLookupOptions) {
    this.#options = options;
  }

  locationsOf(path: string, address: string): readonly Location[] {
    if (!path.startsWith('/')) throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, `'${path}' is no absolute path`);
    const all = this.#allLocations(path, address);
    const { settings, isDisabled } = this.#options;
    const enabled = all.filter(({ nameservice }) => !isDisabled(nameservice));
    if (enabled.length > 0) return enabled;
    throw new RemoteException(JAVA.NO_LOCATION, `Cannot find locations for ${path} in ${settings.resolverName}`);
  }

  async exists({ nameservice, path }: Location, caller: AdminCaller): Promise<boolean> {
    const reasons: string[] = [];
    for (const { host, port } of this.#options.namenodesOf(nameservice)) {
      try {
        return await this.#ask(host, port, path, caller);
      } catch (error) {
        // Another NameNode may say what one that is not active does not.
        if (error instanceof RemoteError && error.className !== JAVA.STANDBY) throw error;
        reasons.push(`${formatAddress(host, port)}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    throw new Error(reasons.length === 0 ? `no NameNode of nameservice ${nameservice} is known` : reasons.join('; '));
  }

  async #ask(host: string, port: number, path: string, { user }: AdminCaller): Promise<boolean> {
    const { connectTimeoutMs, proxyUser } = this.#options.settings;
    const realUser = proxyUser === user ? '' : proxyUser;
    const options = { host, port, user, realUser, timeoutMs: ASK_WITHIN_MS };
    using client = await HdfsClient.connect({
      ...options,
      connectTimeoutMs: Math.min(connectTimeoutMs, ASK_WITHIN_MS),
    });
    return (await client.getFileInfo(path)) !== undefined;
  }

  #allLocations(path: string, address: string): Location[] {
    const { settings, snapshot: current, defaultNameservice, figures = NO_FIGURES } = this.#options;
    const snapshot = current();
    if (snapshot === null) {
      throw new RemoteException(JAVA.STATE_STORE_UNAVAILABLE, 'the mount table has not been read yet; try again later');
    }
    const canonical = Buffer.from(canonicalPath(path));
    const mount = snapshot.find(canonical, 0, canonical.length);
    if (mount === NO_MOUNT) {
      if (defaultNameservice !== null) return [{ nameservice: defaultNameservice, path: canonical.toString() }];
      throw new RemoteException(
        JAVA.RESOLVE,
        `Cannot find locations for ${path}, because the default nameservice is disabled to read or write`,
      );
    }
    const rest = canonical.toString('utf8', snapshot.matchedEnd);
    const { destinations, sourcePath } = snapshot.entryOf(mount);
    const preference = settings.spacePreferencePercent;
    const first = firstNameservice(snapshot, mount, path, sourcePath, address, figures, Math.random, preference);
    return orderDestinations(snapshot, mount, first).flatMap((i) => {
      const destination = destinations[i];
      return destination === undefined
        ? []
        : [{ nameservice: destination.nameservice, path: joinPath(destination.path, rest) }];
    });
  }
}

/** `rest` is '' or begins with a slash. */
function joinPath(target: string, rest: string): string {
  const joined = canonicalPath(`${target}${rest}`);
  return joined === '' ? '/' : joined;
}
