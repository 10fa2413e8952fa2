/** The Java Router 3.4.1 as a peer: tuned settings in two variants, started by the rig of test/hadoop. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ChildOptions } from '../harness/children.ts';
import { hadoopXml } from '../harness/proxies.ts';
import type { JavaPeer } from './scenarios.ts';

const RIG: string = fileURLToPath(new URL('../../test/hadoop/rig/rig.mjs', import.meta.url));
const PREFIX = 'dfs.federation.router.';
const FILE_STORE = 'org.apache.hadoop.hdfs.server.federation.store.driver.impl.StateStoreFileImpl';
/** Heap of each Java Router, fixed: no time goes into growing it. */
export const JAVA_HEAP_GIB = 4;
/** A router that was paused must not take its own record or its NameNode's for a dead one's when it goes on. */
const NEVER_MS = 86_400_000;
/** Where the rig itself keeps its build, so that it is made once. */
const RIG_BUILD: string = join(tmpdir(), 'hadoop-rig', 'build');
/** Resolving and compiling the rig, at first use. */
const BUILD_MS = 900_000;

/** Common to both variants. */
const SETTINGS: Readonly<Record<string, string>> = {
  'handler.count': '256',
  'reader.count': '4',
  'connection.pool-size': '64',
  'mount-table.cache.enable': 'true',
  'default.nameserviceId': 'ns0',
  'monitor.namenode': 'ns0',
  'monitor.localnamenode.enable': 'false',
  'rpc-address': '127.0.0.1:0',
  'rpc-bind-host': '127.0.0.1',
  'admin.enable': 'false',
  'http.enable': 'false',
  'store.driver.class': FILE_STORE,
  'safemode.enable': 'false',
  'store.membership.expiration': String(NEVER_MS),
  'store.router.expiration': `${NEVER_MS}ms`,
  'namenode.heartbeat.jmx.interval': '-1',
  // The default of a minute would only put off its first call; much less would cost it some of its core.
  'cache.ttl': '5s',
};

const OF_VARIANT: Readonly<Record<JavaPeer, Readonly<Record<string, string>>>> = {
  'java-pool': { 'enable.multiple.socket': 'true', 'max.concurrency.per.connection': '20' },
  'java-single': { 'enable.multiple.socket': 'false' },
};

export function javaSettings(peer: JavaPeer): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [key, value] of Object.entries({ ...SETTINGS, ...OF_VARIANT[peer] })) settings[PREFIX + key] = value;
  return settings;
}

/** Writes configuration and an empty State Store below `directory` and returns the command that starts the router. */
export function prepareJavaRouter(
  peer: JavaPeer,
  directory: string,
  namenodePort: number,
  env: NodeJS.ProcessEnv,
): ChildOptions {
  const conf = join(directory, 'conf');
  mkdirSync(conf, { recursive: true });
  writeFileSync(join(conf, 'core-site.xml'), hadoopXml({ 'fs.defaultFS': 'hdfs://ns0' }));
  writeFileSync(
    join(conf, 'hdfs-site.xml'),
    hadoopXml({
      'dfs.nameservices': 'ns0',
      'dfs.namenode.rpc-address.ns0': `127.0.0.1:${namenodePort}`,
    }),
  );
  const name = `Java Router (${peer})`;
  return askJavaRouter({ name, variant: peer, conf, directory, env, mounts: ['/mnt=ns0:/mnt'], settings: {} });
}

export interface JavaRouterOptions {
  readonly name: string;
  readonly variant: JavaPeer;
  /** Directory with core-site.xml and hdfs-site.xml; hdfs-rbf-site.xml is written beside them. */
  readonly conf: string;
  /** For the State Store, and all that the rig writes. */
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  /** As the rig takes them: /path=ns0,ns1:/path@HASH_ALL. */
  readonly mounts: readonly string[];
  /** Over those of the variant. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Writes the router's own settings and returns the command that starts it with an empty State Store. */
export function askJavaRouter(options: JavaRouterOptions): ChildOptions {
  const { name, variant, conf, directory, env, mounts, settings } = options;
  const stateStore = { [`${PREFIX}store.driver.file.directory`]: join(directory, 'state-store') };
  writeFileSync(join(conf, 'hdfs-rbf-site.xml'), hadoopXml({ ...javaSettings(variant), ...settings, ...stateStore }));
  const command = askRig(
    [
      ...['router', '--print', '--conf', conf, '--heap', `${JAVA_HEAP_GIB}g`],
      ...mounts.map((mount) => `--mount=${mount}`),
    ],
    rigEnv(directory, env),
  );
  return { name, env, ...command };
}

/** Environment of the rig: everything that it writes goes below `directory`, the build is the machine's common one. */
export function rigEnv(directory: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    RIG_BUILD,
    // Else each connection that a finished load closes is worth some warnings.
    RIG_LOG: 'ERROR',
    ...env,
    RIG_HOME: join(directory, 'rig'),
  };
}

export interface RigCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

/** Command line of the JVM that `rig <args>` would start; builds the rig when it is not there yet. */
export function askRig(args: readonly string[], env: NodeJS.ProcessEnv): RigCommand {
  const run = spawnSync(process.execPath, [RIG, ...args], { encoding: 'utf8', env, timeout: BUILD_MS });
  if (run.status !== 0) {
    throw new Error(
      `the Hadoop rig cannot be built or started (needs JDK 17 and Maven, see test/hadoop/rig/README.md); ` +
        `leave the Java Routers out with --peers direct,haproxy,ring,inline\n${run.stderr.trimEnd()}`,
    );
  }
  return JSON.parse(run.stdout) as RigCommand;
}

export function rigCommand(args: readonly string[]): { command: string; args: readonly string[] } {
  return { command: process.execPath, args: [RIG, ...args] };
}
