import type { ChildProcess } from 'node:child_process';
import { readLines, within } from '../support/wait.ts';
import { type Endpoint, type Rig, spawnRig } from './support.ts';

const ANSWER_WITHIN_MS = 150_000;
const END_WITHIN_MS = 10_000;
const HA = 'org.apache.hadoop.hdfs.server.namenode.ha';
/** The nameservice as which a client knows its routers. */
const ROUTERS = 'routers';

/** How a Java client comes to read from observers through a router, or does not. */
export const CLIENT_KINDS = {
  /** What every client is without any setting. */
  plain: {},
  optedIn: { 'dfs.client.rbf.observer.read.enable': 'true' },
  /** One router, known by its address. */
  RouterObserverReadProxyProvider: {},
  /** A list of routers. */
  RouterObserverReadConfiguredFailoverProxyProvider: {},
  /** As the last one, with an msync before every read. */
  msyncEachTime: {},
} as const;
export type ClientKind = keyof typeof CLIENT_KINDS;

/** Settings and file system of a client of a kind over these routers, the first of which it asks first. */
function settingsOf(kind: ClientKind, routers: readonly Endpoint[]): { uri: string; conf: Record<string, string> } {
  const first = routers[0];
  if (first === undefined) throw new Error('a client needs a router');
  const provider = 'dfs.client.failover.proxy.provider';
  if (kind === 'RouterObserverReadProxyProvider') {
    return { uri: first.uri, conf: { [`${provider}.${first.host}`]: `${HA}.${kind}` } };
  }
  if (kind === 'plain' || kind === 'optedIn') {
    if (routers.length === 1) return { uri: first.uri, conf: { ...CLIENT_KINDS[kind] } };
    return logical(
      { ...CLIENT_KINDS[kind], [`${provider}.${ROUTERS}`]: `${HA}.ConfiguredFailoverProxyProvider` },
      routers,
    );
  }
  const period = kind === 'msyncEachTime' ? { [`dfs.client.failover.observer.auto-msync-period.${ROUTERS}`]: '0' } : {};
  const conf = { [`${provider}.${ROUTERS}`]: `${HA}.RouterObserverReadConfiguredFailoverProxyProvider`, ...period };
  return logical(conf, routers);
}

function logical(
  conf: Readonly<Record<string, string>>,
  routers: readonly Endpoint[],
): { uri: string; conf: Record<string, string> } {
  const addresses = routers.map(({ host, port }, i) => [
    `dfs.namenode.rpc-address.${ROUTERS}.r${i}`,
    `${host}:${port}`,
  ]);
  return {
    uri: `hdfs://${ROUTERS}`,
    conf: {
      'dfs.nameservices': ROUTERS,
      [`dfs.ha.namenodes.${ROUTERS}`]: routers.map((_, i) => `r${i}`).join(','),
      ...Object.fromEntries(addresses),
      'dfs.client.failover.random.order': 'false',
      ...conf,
    },
  };
}

/** Settings and file system of a client that knows these routers as the NameNodes of one nameservice, and asks the first of them first. */
export function routerSettings(routers: readonly Endpoint[]): { uri: string; conf: Record<string, string> } {
  return logical(
    { [`dfs.client.failover.proxy.provider.${ROUTERS}`]: `${HA}.ConfiguredFailoverProxyProvider` },
    routers,
  );
}

/** What one operation came to. */
export interface Outcome {
  readonly ok: boolean;
  /** Of an operation that has a value. */
  readonly value?: unknown;
  /** `CLASS: first line` of the exception that the application gets. */
  readonly error?: string;
  /** Time that the operation took inside the client's JVM. */
  readonly ms: number;
}

export interface JavaStatus {
  readonly directory: boolean;
  readonly length: number;
  readonly mode: number;
  readonly mtime: number;
}

/** Hadoop's own clients in one JVM, see the rig's Clients.java. */
export class JavaClients implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve(outcome: Outcome): void; reject(error: Error): void }>();
  readonly #closed: Promise<void>;
  #ended: string | null = null;
  #requests = 0;
  #clients = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    const log: string[] = [];
    if (child.stderr !== null) readLines(child.stderr, (line) => log.push(line));
    if (child.stdout !== null) readLines(child.stdout, (line) => this.#take(line));
    this.#closed = new Promise((resolve) => {
      const end = (why: string): void => {
        this.#ended = `the clients' JVM ended (${why})\n${log.slice(-20).join('\n')}`;
        for (const { reject } of this.#waiting.values()) reject(new Error(this.#ended));
        this.#waiting.clear();
        resolve();
      };
      child.once('error', (error) => end(error.message));
      child.once('close', (code, signal) => end(String(code ?? signal)));
    });
  }

  static start(rig: Rig): JavaClients {
    return new JavaClients(spawnRig(rig, ['clients']));
  }

  /** A new client that has heard nothing yet from any router. */
  async open(
    kind: ClientKind,
    routers: readonly Endpoint[],
    { user, conf = {} }: { user?: string; conf?: Readonly<Record<string, string>> } = {},
  ): Promise<JavaClient> {
    const name = `${kind}-${this.#clients++}`;
    const settings = settingsOf(kind, routers);
    const request = { uri: settings.uri, conf: { ...settings.conf, ...conf }, user };
    const { ok, error } = await this.ask(name, 'open', request);
    if (!ok) throw new Error(`${name} did not open: ${error}`);
    return new JavaClient(this, name);
  }

  async ask(client: string, op: string, fields: Readonly<Record<string, unknown>>): Promise<Outcome> {
    if (this.#ended !== null) throw new Error(this.#ended);
    const id = this.#requests++;
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    this.#waiting.set(id, { resolve, reject });
    this.#child.stdin?.write(`${JSON.stringify({ id, client, op, ...fields })}\n`);
    return await within(promise, `${op} of ${client}`, ANSWER_WITHIN_MS);
  }

  #take(line: string): void {
    const { id, ...outcome } = JSON.parse(line) as Outcome & { id: number };
    this.#waiting.get(id)?.resolve(outcome);
    this.#waiting.delete(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin?.end();
    try {
      await within(this.#closed, "the clients' JVM ends", END_WITHIN_MS);
    } catch {
      // The launcher passes it on to the JVM, which a SIGKILL would leave behind.
      this.#child.kill('SIGTERM');
      await this.#closed;
    }
  }
}

/** One of them. Operations are those of Clients.java. */
export class JavaClient implements AsyncDisposable {
  readonly #clients: JavaClients;
  readonly name: string;

  constructor(clients: JavaClients, name: string) {
    this.#clients = clients;
    this.name = name;
  }

  /** One operation, whatever comes of it. */
  async attempt(op: string, path = '', fields: Readonly<Record<string, unknown>> = {}): Promise<Outcome> {
    return await this.#clients.ask(this.name, op, { path, ...fields });
  }

  /** One operation that must succeed; its value. */
  async run(op: string, path = '', fields: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    const { ok, value, error } = await this.attempt(op, path, fields);
    if (!ok) throw new Error(`${op} ${path} of ${this.name}: ${error}`);
    return value;
  }

  async status(path: string): Promise<JavaStatus> {
    return (await this.run('status', path)) as JavaStatus;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.attempt('close');
  }
}
