import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RawClient } from '../support/raw-client.ts';
import { RouterProcess } from '../support/router-process.ts';
import { readLines, waitUntil, within } from '../support/wait.ts';
import { findFreePort } from '../support/zookeeper-server.ts';

const RIG = fileURLToPath(new URL('./rig/rig.mjs', import.meta.url));
/** Shared by all rigs, so that class path and classes are made once. */
const RIG_BUILD = process.env['RIG_BUILD'] ?? join(tmpdir(), 'hadoop-rig', 'build');
/** The first use fetches Hadoop's jars. */
const UP_WITHIN_MS = 600_000;
const DOWN_WITHIN_MS = 60_000;
/** Another program may take a port between its choice and its use. */
const STARTS = 3;
const CONTROL_WITHIN_MS = 60_000;
const COMMAND_WITHIN_MS = 120_000;
const ROUTER_READY_WITHIN_MS = 60_000;

/**
 * What the suites run against. `switchyard` is the router of this tree; the others show that the tests themselves are right:
 * `java-router` is Hadoop's own Router over the same rig, `namenode` the active NameNode of ns0 without any router.
 */
export const ENDPOINT: string = process.env['SWITCHYARD_TEST_ENDPOINT'] ?? 'switchyard';
if (!['switchyard', 'java-router', 'namenode'].includes(ENDPOINT)) {
  throw new Error(`SWITCHYARD_TEST_ENDPOINT is ${ENDPOINT}: take switchyard, java-router or namenode`);
}

/** Everything that the suites can do, however long it takes; else what fits into a run for every change. */
export const FULL: boolean = process.env['SWITCHYARD_TEST_FULL'] === '1';

export interface RigOptions {
  readonly nameservices?: number;
  /** How many of them, from the first on, are HA groups; the others have one NameNode. Left out: all. */
  readonly ha?: number;
  /** Of each HA group. */
  readonly observers?: number;
  readonly datanodes?: number;
  /** Java Routers inside the rig's JVM, see `rigRouter`. */
  readonly javaRouters?: number;
  /** The State Store in a ZooKeeper of the rig, else in files. */
  readonly zookeeper?: boolean;
  /** `/path=ns:/path` or `/path=ns0,ns1:/path@ORDER`, written into the State Store that the configuration names. */
  readonly mounts?: readonly string[];
  /** Settings of all servers of the rig, and of the configuration that the router under test reads. */
  readonly conf?: Readonly<Record<string, string>>;
  /** Settings of the NameNodes and DataNodes alone. */
  readonly namenodeConf?: Readonly<Record<string, string>>;
  /** Settings of the Java Routers inside the rig's JVM, of each its own. */
  readonly routerConf?: readonly Readonly<Record<string, string>>[];
}

export interface RigNameNode {
  readonly ns: string;
  readonly nn: string;
  readonly role: string;
  readonly rpc: string;
  readonly http: string;
  /** Id of its nameservice's block pool. */
  readonly blockPool: string;
  /** Last transaction, applied or written. */
  readonly lastTxId: number;
}

export interface RigJavaRouter {
  readonly rpc: string;
  readonly admin: string | null;
  readonly http: string | null;
}

export interface RigStatus {
  readonly pid: number;
  readonly control: string;
  readonly conf: string;
  readonly auditLog: string;
  readonly user: string;
  readonly namenodes: readonly RigNameNode[];
  readonly datanodes: readonly { readonly xfer: string; readonly ipc: string }[];
  readonly routers: readonly RigJavaRouter[];
  /** host:port; null: the State Store is in files. */
  readonly zookeeper: string | null;
  readonly mounts: readonly string[];
}

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The environment of every process of one rig. */
function rigEnvironment(home: string): NodeJS.ProcessEnv {
  return { ...process.env, RIG_HOME: home, RIG_BUILD };
}

/** A command of the rig that reads its standard input as long as it runs. */
export function spawnRig(rig: Rig, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [RIG, ...args], { stdio: ['pipe', 'pipe', 'pipe'], env: rigEnvironment(rig.home) });
}

/** Runs a program to its end and keeps what it prints. Kills it after `limitMs`. */
async function runCommand(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  limitMs: number,
): Promise<CommandResult> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 255));
  });
  try {
    const code = await within(ended, `the end of ${args.slice(0, 3).join(' ')}`, limitMs);
    return { code, out, err };
  } catch (error) {
    child.kill('SIGTERM');
    throw new Error(`${(error as Error).message}\n${out}\n${err}`, { cause: error });
  }
}

/** Runs a class of the rig's class path that needs no Hadoop cluster; `files` are written to its directory. What it prints. */
export async function runRigClass(
  mainClass: string,
  args: readonly string[],
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'switchyard-rig-'));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(home, name), text);
    const paths = args.map((arg) => (arg in files ? join(home, arg) : arg));
    const { code, out, err } = await runCommand(
      process.execPath,
      [RIG, 'java', mainClass, ...paths],
      rigEnvironment(home),
      UP_WITHIN_MS,
    );
    if (code !== 0) throw new Error(`${mainClass} ended with ${code}\n${err}`);
    return out;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** A real Hadoop: NameNodes and DataNodes in one JVM, under a directory of its own that goes with it. */
export class Rig implements AsyncDisposable {
  readonly home: string;
  readonly up: RigStatus;
  readonly #killAtExit: () => void;

  private constructor(home: string, up: RigStatus) {
    this.home = home;
    this.up = up;
    this.#killAtExit = () => {
      try {
        process.kill(up.pid, 'SIGKILL');
      } catch {
        // it has ended already
      }
    };
    process.once('exit', this.#killAtExit);
  }

  static async start(options: RigOptions = {}): Promise<Rig> {
    const home = mkdtempSync(join(tmpdir(), 'switchyard-rig-'));
    const args = [RIG, 'up', '--nameservices', String(options.nameservices ?? 2)];
    if (options.ha !== undefined) args.push('--ha', String(options.ha));
    if (options.datanodes !== undefined) args.push('--datanodes', String(options.datanodes));
    if (options.observers !== undefined) args.push('--observers', String(options.observers));
    if (options.zookeeper === true) args.push('--zookeeper');
    if (options.javaRouters !== undefined) args.push('--java-routers', String(options.javaRouters));
    for (const mount of options.mounts ?? []) args.push('--mount', mount);
    const addSettings = (flag: string, conf: Readonly<Record<string, string>> = {}, of = ''): void => {
      for (const [key, value] of Object.entries(conf)) args.push(flag, `${of}${key}=${value}`);
    };
    addSettings('--conf', options.conf);
    addSettings('--namenode-conf', options.namenodeConf);
    for (const [i, conf] of (options.routerConf ?? []).entries()) addSettings('--router-conf', conf, `${i}:`);
    let done = await runCommand(process.execPath, args, rigEnvironment(home), UP_WITHIN_MS);
    for (let tries = 1; tries < STARTS && /Failed to bind|Address already in use/.test(done.err); tries++) {
      done = await runCommand(process.execPath, args, rigEnvironment(home), UP_WITHIN_MS);
    }
    if (done.code !== 0) {
      rmSync(home, { recursive: true, force: true });
      throw new Error(`the rig did not start: ${done.out}${done.err}`);
    }
    const lines = done.out.trimEnd().split('\n');
    return new Rig(home, JSON.parse(lines.at(-1) ?? '') as RigStatus);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off('exit', this.#killAtExit);
    try {
      await this.command(['down'], DOWN_WITHIN_MS);
    } catch {
      this.#killAtExit();
    }
    rmSync(this.home, { recursive: true, force: true });
  }

  /** One control request, e.g. `{ op: 'failover', ns: 'ns0', to: 'nn1' }`; its result, or an error with the rig's words. */
  async ctl(request: Readonly<Record<string, unknown>>): Promise<unknown> {
    const colon = this.up.control.lastIndexOf(':');
    const socket = connect({ host: this.up.control.slice(0, colon), port: Number(this.up.control.slice(colon + 1)) });
    const answer = Promise.withResolvers<string>();
    socket.on('error', answer.reject);
    readLines(socket, answer.resolve);
    socket.on('close', () => answer.reject(new Error('the rig closed the control connection')));
    socket.write(`${JSON.stringify(request)}\n`);
    try {
      const line = await within(answer.promise, `answer of the rig to ${JSON.stringify(request)}`, CONTROL_WITHIN_MS);
      const { ok, result, error } = JSON.parse(line) as { ok: boolean; result?: unknown; error?: string };
      if (!ok) throw new Error(`rig: ${JSON.stringify(request)}: ${error}`);
      return result;
    } finally {
      socket.destroy();
    }
  }

  /** One command of the rig, such as `['probe', 'users', '--fs', uri]`, in a JVM of its own. */
  async command(
    args: readonly string[],
    limitMs: number = COMMAND_WITHIN_MS,
    env: NodeJS.ProcessEnv = {},
  ): Promise<CommandResult> {
    return await runCommand(process.execPath, [RIG, ...args], { ...rigEnvironment(this.home), ...env }, limitMs);
  }

  namenode(ns: string, nn: string): RigNameNode {
    const found = this.up.namenodes.find((one) => one.ns === ns && one.nn === nn);
    if (found === undefined) throw new Error(`the rig has no NameNode ${ns}.${nn}`);
    return found;
  }

  /** The NameNode that is active now. */
  async active(ns: string): Promise<RigNameNode> {
    const status = (await this.ctl({ op: 'status' })) as RigStatus;
    const found = status.namenodes.find((one) => one.ns === ns && one.role === 'active');
    if (found === undefined) throw new Error(`no NameNode of ${ns} is active`);
    return found;
  }

  /** The active NameNode without any router. */
  async endpointOf(ns: string): Promise<Endpoint> {
    return directEndpoint((await this.active(ns)).rpc);
  }

  /** Makes directories straight on the NameNodes: the targets of mounts. `ns0:/a/b` each. */
  async makeTargets(targets: readonly string[]): Promise<void> {
    await using shell = await Shell.start(this);
    for (const target of targets) {
      const colon = target.indexOf(':');
      const { rpc } = await this.active(target.slice(0, colon));
      const made = await shell.run(['-mkdir', '-p', `hdfs://${rpc}${target.slice(colon + 1)}`]);
      if (made.code !== 0) throw new Error(`cannot make ${target}: ${made.err}`);
    }
  }

  /** The lines of the NameNodes' audit log (all NameNodes together) that contain `text`. */
  auditLines(text: string): string[] {
    if (!existsSync(this.up.auditLog)) return [];
    return readFileSync(this.up.auditLog, 'utf8')
      .split('\n')
      .filter((line) => line.includes(text));
  }
}

interface Answer extends CommandResult {
  /** Time that the command took inside its JVM. */
  readonly ms: number;
}

/**
 * Commands of HDFS's tools, FsShell's unless another is named, one after the other in a JVM that stays: each is a new client with a client id and a connection of its own,
 * without the two seconds that a JVM takes to start. Several shells run at the same time.
 */
export class Shell implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #waiting: { resolve(line: string): void; reject(error: Error): void }[] = [];
  #ended: string | null = null;
  readonly #closed: Promise<void>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    const log: string[] = [];
    if (child.stderr !== null) readLines(child.stderr, (line) => log.push(line));
    if (child.stdout !== null) readLines(child.stdout, (line) => this.#waiting.shift()?.resolve(line));
    this.#closed = new Promise((resolve) => {
      const end = (why: string): void => {
        this.#ended = `the shell ended (${why})\n${log.slice(-20).join('\n')}`;
        for (const { reject } of this.#waiting.splice(0)) reject(new Error(this.#ended));
        resolve();
      };
      child.once('error', (error) => end(error.message));
      child.once('close', (code, signal) => end(String(code ?? signal)));
    });
  }

  /** `uri` is the file system of paths without one. */
  static async start(rig: Rig, uri?: string): Promise<Shell> {
    const args = ['shell', ...(uri === undefined ? [] : ['--fs', uri])];
    return new Shell(spawnRig(rig, args));
  }

  /** Runs one command. `keep` leaves the client's connection open for the next command; `tool` is a name of the rig's Tools. */
  async run(
    args: readonly string[],
    {
      user,
      keep,
      tool,
      limitMs = COMMAND_WITHIN_MS,
    }: { user?: string; keep?: boolean; tool?: string; limitMs?: number } = {},
  ): Promise<Answer> {
    if (this.#ended !== null) throw new Error(this.#ended);
    const line = new Promise<string>((resolve, reject) => this.#waiting.push({ resolve, reject }));
    this.#child.stdin?.write(`${JSON.stringify({ args, user, keep, tool })}\n`);
    return JSON.parse(await within(line, `the end of ${args.join(' ')}`, limitMs)) as Answer;
  }

  /** Runs one command that must succeed; what it prints. */
  async ok(args: readonly string[], user?: string): Promise<string> {
    const { code, out, err } = await this.run(args, user === undefined ? {} : { user });
    if (code !== 0) throw new Error(`${args.join(' ')}: exit ${code}\n${err}${out}`);
    return out;
  }

  /** Runs one command that must fail; what it prints to its standard error. */
  async fails(args: readonly string[], user?: string): Promise<string> {
    const { code, out, err } = await this.run(args, user === undefined ? {} : { user });
    if (code === 0) throw new Error(`${args.join(' ')} succeeded\n${out}`);
    return err;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin?.end();
    try {
      await within(this.#closed, 'the shell ends', 10_000);
    } catch {
      // The launcher passes it on to the JVM, which a SIGKILL would leave behind.
      this.#child.kill('SIGTERM');
      await this.#closed;
    }
  }
}

/** Something that serves HDFS clients. */
export interface Endpoint extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** `hdfs://host:port` */
  readonly uri: string;
  readonly log: string;
}

/** The router takes changes from its start on: it would wait for other routers to know its mount table. Several may run at a time. */
export const OWN_KEYS: Readonly<Record<string, string>> = {
  'dfs.federation.router.safemode.enable': 'false',
  'dfs.federation.router.admin-address': '127.0.0.1:0',
};

/** Starts what `kind` names over the rig's configuration and State Store; `keys` override settings of the router. */
export async function startEndpoint(
  rig: Rig,
  keys: Readonly<Record<string, string>> = {},
  kind: string = ENDPOINT,
): Promise<Endpoint> {
  if (kind === 'namenode') return await rig.endpointOf('ns0');
  if (kind === 'java-router') return await JavaRouter.start(rig, keys);
  const args = Object.entries({ ...OWN_KEYS, ...keys }).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
  return await RouterProcess.start({
    configDir: rig.up.conf,
    // In the State Store a router is known by its port.
    port: await findFreePort(),
    args,
    env: { HADOOP_USER_NAME: rig.up.user },
  });
}

/** A Java Router inside the rig's JVM, once it knows the NameNodes behind these mounts. */
export async function rigRouter(rig: Rig, index = 0, mounts: readonly string[] = rig.up.mounts): Promise<Endpoint> {
  const router = rig.up.routers[index];
  if (router === undefined) throw new Error(`the rig has no Java Router ${index}`);
  const endpoint = directEndpoint(router.rpc);
  await knowsMounts(endpoint, rig, mounts);
  return endpoint;
}

/** A Java Router says that it is ready before it knows of any NameNode. */
async function knowsMounts(
  router: { readonly host: string; readonly port: number },
  rig: Rig,
  mounts: readonly string[] = rig.up.mounts,
): Promise<void> {
  using client = await RawClient.connect(router, { user: rig.up.user });
  for (const mount of mounts) {
    const src = mount.slice(0, mount.indexOf('='));
    const call = { method: 'getFileInfo', request: { src } };
    await waitUntil(async () => (await client.call(call)).status === 'SUCCESS', `answer for ${src}`);
  }
}

/** Something that listens at `host:port` and is ended by others. */
export function directEndpoint(rpc: string): Endpoint {
  const colon = rpc.lastIndexOf(':');
  return {
    host: rpc.slice(0, colon),
    port: Number(rpc.slice(colon + 1)),
    uri: `hdfs://${rpc}`,
    log: '',
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Hadoop's Router in a JVM of its own. */
class JavaRouter implements Endpoint {
  readonly host: string;
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #log: string[];

  private constructor(child: ChildProcess, rpc: string, log: string[]) {
    const { host, port } = directEndpoint(rpc);
    this.host = host;
    this.port = port;
    this.#child = child;
    this.#log = log;
  }

  static async start(rig: Rig, keys: Readonly<Record<string, string>>): Promise<JavaRouter> {
    const args = [RIG, 'router', ...Object.entries(keys).map(([key, value]) => `${key}=${value}`)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env: rigEnvironment(rig.home) });
    const log: string[] = [];
    readLines(child.stderr, (line) => log.push(line));
    const ready = Promise.withResolvers<string>();
    readLines(child.stdout, ready.resolve);
    child.once('close', () => ready.reject(new Error(`the Java Router ended\n${log.join('\n')}`)));
    const line = await within(ready.promise, 'ready line of the Java Router', ROUTER_READY_WITHIN_MS);
    const router = new JavaRouter(child, (JSON.parse(line) as { rpc: string }).rpc, log);
    await knowsMounts(router, rig);
    return router;
  }

  get uri(): string {
    return `hdfs://${this.host}:${this.port}`;
  }

  get log(): string {
    return this.#log.slice(-200).join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.kill('SIGTERM');
    await within(closed, 'the Java Router ends', 30_000);
  }
}
