import { statSync } from 'node:fs';
import type { Configuration } from './configuration.ts';

const STORE = 'dfs.federation.router.store';
const DRIVER = `${STORE}.driver.class`;
const DIRECTORY = `${STORE}.driver.file.directory`;
const ZOOKEEPER = 'hadoop.zk.address';
const FILE_DRIVER = 'org.apache.hadoop.hdfs.server.federation.store.driver.impl.StateStoreFileImpl';

/**
 * Where the mount records are.
 *
 * - none: there is no State Store, or only the one that Hadoop's defaults would look for and nobody has set up
 * - file: a directory of the file driver
 * - unread: the configuration names a State Store that this release does not read; `key` is what names it
 */
export type StateStore =
  | { readonly kind: 'none' }
  | { readonly kind: 'file'; readonly directory: string }
  | { readonly kind: 'unread'; readonly key: string };

/** The State Store that the configuration names. A ConfigError when the directory of the file driver cannot be one. */
export function readStateStore(configuration: Configuration): StateStore {
  if (!configuration.readBoolean(`${STORE}.enable`)) return { kind: 'none' };
  if (configuration.readTrimmed(DRIVER) === FILE_DRIVER) {
    const directory = configuration.readString(DIRECTORY);
    if (directory === '') return { kind: 'none' };
    requireStoreDirectory(configuration, directory);
    return { kind: 'file', directory };
  }
  if (configuration.isSet(DRIVER)) return { kind: 'unread', key: DRIVER };
  // The default driver is the one for ZooKeeper, which needs its address.
  if (configuration.readList(ZOOKEEPER).length > 0) return { kind: 'unread', key: ZOOKEEPER };
  return { kind: 'none' };
}

/** What is wrong with a State Store that is not read, and what to do without it. */
export const UNREAD_STORE = {
  problem: 'names a State Store that this release does not read, so its mount points are not served',
  remedy: `give the mount points with --mount or --mounts, or take ${FILE_DRIVER} as ${DRIVER}, or set ${STORE}.enable to false`,
} as const;

function requireStoreDirectory(configuration: Configuration, directory: string): void {
  const refuse = (problem: string, remedy: string): never => {
    throw configuration.error(DIRECTORY, problem, remedy);
  };
  if (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(directory)) {
    refuse('a URI, where the file driver takes a plain path', 'write the path alone, e.g. /var/lib/router/store');
  }
  if (!directory.startsWith('/')) {
    refuse(
      'a relative path, another directory for every router that is started elsewhere',
      'write the path from the root, e.g. /var/lib/router/store',
    );
  }
  const status = statSync(directory, { throwIfNoEntry: false });
  if (status === undefined) refuse('there is no such directory', 'create it, or correct the path');
  else if (!status.isDirectory()) refuse('not a directory', 'correct the path');
}
