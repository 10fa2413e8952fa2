import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Configuration } from './configuration.ts';
import { readZooKeeper, type ZooKeeperSettings } from './zookeeper.ts';

const STORE = 'dfs.federation.router.store';
const DRIVER = `${STORE}.driver.class`;
const DIRECTORY = `${STORE}.driver.file.directory`;
const FILE_SYSTEM_PATH = `${STORE}.driver.fs.path`;
const ZOOKEEPER = 'hadoop.zk.address';
const IMPLEMENTATIONS = 'org.apache.hadoop.hdfs.server.federation.store.driver.impl';
const FILE_DRIVER = `${IMPLEMENTATIONS}.StateStoreFileImpl`;
const FILE_SYSTEM_DRIVER = `${IMPLEMENTATIONS}.StateStoreFileSystemImpl`;
const ZOOKEEPER_DRIVER = `${IMPLEMENTATIONS}.StateStoreZooKeeperImpl`;

/**
 * Where the State Store is.
 *
 * - none: there is none, or only the one that Hadoop's defaults would look for and nobody has set up
 * - file: a directory of the file driver, or of the FileSystem driver on a local path; `key` is what names it
 * - zookeeper: an ensemble
 * - unread: the configuration names a State Store that this release does not read; `key` is what names it
 */
export type StateStore =
  | { readonly kind: 'none' }
  | { readonly kind: 'file'; readonly directory: string }
  | { readonly kind: 'zookeeper'; readonly key: string; readonly zookeeper: ZooKeeperSettings }
  | { readonly kind: 'unread'; readonly key: string };

/** The State Store that the configuration names. A ConfigError when its directory or its addresses cannot be right. */
export function readStateStore(configuration: Configuration): StateStore {
  if (!configuration.readBoolean(`${STORE}.enable`)) return { kind: 'none' };
  switch (configuration.readTrimmed(DRIVER)) {
    case FILE_DRIVER:
      return readDirectory(configuration);
    case FILE_SYSTEM_DRIVER:
      return readFileSystemPath(configuration);
    case ZOOKEEPER_DRIVER:
      return readEnsemble(configuration);
    default:
      return { kind: 'unread', key: DRIVER };
  }
}

/** What is wrong with a State Store that is not read, and what to do without it. */
export const UNREAD_STORE = {
  problem: 'names a State Store that this release does not read, so its mount points are not served',
  remedy: `give the mount points with --mount or --mounts, or take ${FILE_DRIVER} as ${DRIVER}, or set ${STORE}.enable to false`,
} as const;

function readDirectory(configuration: Configuration): StateStore {
  const directory = configuration.readString(DIRECTORY);
  if (directory === '') return { kind: 'none' };
  const refuse = refusalOf(configuration, DIRECTORY);
  if (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(directory)) {
    refuse('a URI, where the file driver takes a plain path', 'write the path alone, e.g. /var/lib/router/store');
  }
  if (!directory.startsWith('/')) {
    refuse(
      'a relative path, another directory for every router that is started elsewhere',
      'write the path from the root, e.g. /var/lib/router/store',
    );
  }
  requireDirectory(directory, refuse);
  return { kind: 'file', directory };
}

/** A local path is the file driver's directory in all but name; paths of other file systems are not read. */
function readFileSystemPath(configuration: Configuration): StateStore {
  const path = configuration.readTrimmed(FILE_SYSTEM_PATH);
  if (path === '') return { kind: 'unread', key: DRIVER };
  if (!path.startsWith('file:/')) return { kind: 'unread', key: FILE_SYSTEM_PATH };
  const refuse = refusalOf(configuration, FILE_SYSTEM_PATH);
  let directory = '';
  try {
    directory = fileURLToPath(path);
  } catch {
    refuse('not the URI of a local path', 'write it with three slashes, e.g. file:///var/lib/router/store');
  }
  requireDirectory(directory, refuse);
  return { kind: 'file', directory };
}

function readEnsemble(configuration: Configuration): StateStore {
  const zookeeper = readZooKeeper(configuration);
  if (zookeeper !== null) return { kind: 'zookeeper', key: ZOOKEEPER, zookeeper };
  // Nobody has set up what Hadoop's defaults would look for; named outright, it lacks its address.
  return configuration.isSet(DRIVER) ? { kind: 'unread', key: DRIVER } : { kind: 'none' };
}

type Refuse = (problem: string, remedy: string) => never;

function refusalOf(configuration: Configuration, key: string): Refuse {
  return (problem, remedy) => {
    throw configuration.error(key, problem, remedy);
  };
}

function requireDirectory(directory: string, refuse: Refuse): void {
  const status = statSync(directory, { throwIfNoEntry: false });
  if (status === undefined) refuse('there is no such directory', 'create it, or correct the path');
  else if (!status.isDirectory()) refuse('not a directory', 'correct the path');
}
