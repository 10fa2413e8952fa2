import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readLines, within } from './wait.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const COMPILE_CACHE = fileURLToPath(new URL('../../.cache/node', import.meta.url));
const READY_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 40_000;
/** Lines of the router's log that a failure shows. */
const KEPT_LOG_LINES = 200;

export interface NameNodeSpec {
  /** Left out for a nameservice with one NameNode. */
  readonly id?: string;
  readonly host?: string;
  readonly port: number;
}

export interface RouterProcessOptions {
  /** A configuration directory that is there already; else one is made from the fields below. */
  readonly configDir?: string;
  readonly nameservices?: Readonly<Record<string, readonly NameNodeSpec[]>>;
  /** `/path=ns:/path` */
  readonly mounts?: readonly string[];
  /** Hadoop keys, written to hdfs-rbf-site.xml. */
  readonly keys?: Readonly<Record<string, string>>;
  /** Port for clients; left out: any. */
  readonly port?: number;
  /** With an HTTP server on any port, whatever the configuration says; left out: without. */
  readonly http?: boolean;
  /** Further arguments of `start`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** What `start` prints when it serves. */
interface ReadyLine {
  readonly rpc: string;
  readonly admin?: string;
  readonly http?: string;
  readonly pid: number;
}

/** The environment of a child process of a test: the compile cache on, nothing of the user's Hadoop. */
export function childEnvironment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env, ...more };
  if (more['HADOOP_CONF_DIR'] === undefined) delete env['HADOOP_CONF_DIR'];
  return env;
}

/**
 * `start` of this router in a process of its own.
 *
 *   await using router = await RouterProcess.start({ nameservices: { ns0: [{ port }] }, mounts: ['/a=ns0:/a'] });
 */
export class RouterProcess implements AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Port of the admin port; 0 without one. */
  readonly adminPort: number;
  /** Port of the HTTP server; 0 without one. */
  readonly httpPort: number;
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #exited: Promise<number | string>;
  readonly #log: string[];
  readonly #ownDir: string | null;

  private constructor(
    child: ChildProcess,
    exited: Promise<number | string>,
    { rpc, admin = '', http = '', pid }: ReadyLine,
    log: string[],
    ownDir: string | null,
  ) {
    this.host = rpc.slice(0, rpc.lastIndexOf(':'));
    this.port = portOf(rpc);
    this.adminPort = portOf(admin);
    this.httpPort = portOf(http);
    this.pid = pid;
    this.#child = child;
    this.#exited = exited;
    this.#log = log;
    this.#ownDir = ownDir;
  }

  static async start(options: RouterProcessOptions): Promise<RouterProcess> {
    const ownDir = options.configDir === undefined ? writeConfig(options) : null;
    const rpc = `127.0.0.1:${options.port ?? 0}`;
    const args = [MAIN, 'start', '--config-dir', options.configDir ?? ownDir ?? '', '--rpc', rpc];
    for (const mount of options.mounts ?? []) args.push('--mount', mount);
    const http = { 'http.enable': options.http === true, 'http-address': '127.0.0.1:0' };
    for (const [key, value] of Object.entries(http)) args.push('--set', `dfs.federation.router.${key}=${value}`);
    args.push(...(options.args ?? []));
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: childEnvironment(options.env),
    });
    const log: string[] = [];
    readLines(child.stderr, (line) => {
      log.push(line);
      if (log.length > KEPT_LOG_LINES) log.shift();
    });
    const exited = new Promise<number | string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
    });
    const ready = Promise.withResolvers<string>();
    let other: string[] = [];
    readLines(child.stdout, (line) => {
      if (line.startsWith('{"ready":true')) ready.resolve(line);
      else other = [...other, line].slice(-KEPT_LOG_LINES);
    });
    const early = exited.then((end) => {
      throw new Error(`the router ended before it was ready (${end})\n${[...other, ...log].join('\n')}`);
    });
    early.catch(() => {});
    try {
      const line = await within(Promise.race([ready.promise, early]), 'ready line of the router', READY_WITHIN_MS);
      return new RouterProcess(child, exited, JSON.parse(line) as ReadyLine, log, ownDir);
    } catch (error) {
      child.kill('SIGKILL');
      if (ownDir !== null) rmSync(ownDir, { recursive: true, force: true });
      throw new Error(`${(error as Error).message}\n${log.join('\n')}`, { cause: error });
    }
  }

  /** Its address as a client's `fs.defaultFS`. */
  get uri(): string {
    return `hdfs://${this.host}:${this.port}`;
  }

  /** The newest lines of its log, for the message of a failing test. */
  get log(): string {
    return this.#log.join('\n');
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Asks it to drain and end; its exit code, or the signal that ended it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> {
    this.#child.kill(signal);
    return await within(this.#exited, `the router ends after ${signal}`, STOP_WITHIN_MS);
  }

  /** Resolves with its exit code, or the signal that ended it. */
  get exited(): Promise<number | string> {
    return this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (this.#child.exitCode === null && this.#child.signalCode === null) await this.stop();
    } catch {
      this.#child.kill('SIGKILL');
      await this.#exited;
    } finally {
      if (this.#ownDir !== null) rmSync(this.#ownDir, { recursive: true, force: true });
    }
  }
}

function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1));
}

/** Writes hdfs-site.xml and hdfs-rbf-site.xml for the nameservices into a new directory under the system's temporary one. */
export function writeConfig(options: Pick<RouterProcessOptions, 'nameservices' | 'keys'>): string {
  const hdfs: Record<string, string> = {};
  const nameservices = Object.entries(options.nameservices ?? {});
  hdfs['dfs.nameservices'] = nameservices.map(([id]) => id).join(',');
  const monitored: string[] = [];
  for (const [ns, namenodes] of nameservices) {
    const ids = namenodes.flatMap(({ id }) => (id === undefined ? [] : [id]));
    if (ids.length > 0) hdfs[`dfs.ha.namenodes.${ns}`] = ids.join(',');
    for (const { id, host, port } of namenodes) {
      const name = id === undefined ? ns : `${ns}.${id}`;
      hdfs[`dfs.namenode.rpc-address.${name}`] = `${host ?? '127.0.0.1'}:${port}`;
      monitored.push(name);
    }
  }
  const rbf: Record<string, string> = {
    'dfs.federation.router.monitor.namenode': monitored.join(','),
    'dfs.federation.router.monitor.localnamenode.enable': 'false',
    'dfs.federation.router.http.enable': 'false',
    ...options.keys,
  };
  const dir = mkdtempSync(join(tmpdir(), 'switchyard-conf-'));
  writeFileSync(join(dir, 'hdfs-site.xml'), siteXml(hdfs));
  writeFileSync(join(dir, 'hdfs-rbf-site.xml'), siteXml(rbf));
  return dir;
}

function siteXml(values: Readonly<Record<string, string>>): string {
  const quote = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const properties = Object.entries(values).map(
    ([name, value]) => `  <property><name>${quote(name)}</name><value>${quote(value)}</value></property>\n`,
  );
  return `<?xml version="1.0"?>\n<configuration>\n${properties.join('')}</configuration>\n`;
}
