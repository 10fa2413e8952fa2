import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil, within } from './wait.ts';

const JAR = '/usr/share/java/zookeeper.jar';
const HOST = '127.0.0.1';
const READY_WITHIN_MS = 30_000;
const ASK_WITHIN_MS = 500;
const LOOK_MS = 1;
const KEPT_OUTPUT_BYTES = 4_000;

/** Server's tick; sessions last two ticks at least. */
export const TICK_MS = 500;
/** Shortest session that the server gives. */
export const MIN_SESSION_MS = 1_000;

/**
 * A ZooKeeper server of its own: a process with a directory and a free port, both gone at the end.
 *
 *   await using server = await ZooKeeperServer.start();
 */
export class ZooKeeperServer implements AsyncDisposable {
  readonly host: string = HOST;
  readonly port: number;
  readonly #directory: string;
  #child: ChildProcess | null = null;
  #output = '';
  #exited: Promise<unknown> = Promise.resolve();

  private constructor(port: number, directory: string) {
    this.port = port;
    this.#directory = directory;
  }

  static async start(): Promise<ZooKeeperServer> {
    if (!existsSync(JAR)) throw new Error(`no ${JAR}: apt-get install zookeeper openjdk-17-jre-headless`);
    const directory = mkdtempSync(join(tmpdir(), 'zookeeper-'));
    const server = new ZooKeeperServer(await findFreePort(), directory);
    writeFileSync(
      join(directory, 'zoo.cfg'),
      [
        `dataDir=${join(directory, 'data')}`,
        `clientPort=${server.port}`,
        `clientPortAddress=${HOST}`,
        `tickTime=${TICK_MS}`,
        `minSessionTimeout=${MIN_SESSION_MS}`,
        'admin.enableServer=false',
        'maxClientCnxns=0',
        '4lw.commands.whitelist=srvr',
      ].join('\n'),
    );
    try {
      await server.restart();
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  get address(): { readonly host: string; readonly port: number } {
    return { host: this.host, port: this.port };
  }

  /** Starts the process, after `kill`, with the data that is there. */
  async restart(): Promise<void> {
    const child = spawn(
      'java',
      [
        ...['-Xmx192m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dzookeeper.forceSync=no'],
        ...['-cp', JAR, 'org.apache.zookeeper.server.ZooKeeperServerMain', join(this.#directory, 'zoo.cfg')],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.#child = child;
    this.#output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-KEPT_OUTPUT_BYTES);
      });
    }
    let hasExited = false;
    const { promise, resolve } = Promise.withResolvers<void>();
    child.on('error', () => resolve());
    child.on('exit', () => resolve());
    this.#exited = promise.then(() => {
      hasExited = true;
    });
    await waitUntil(
      async () => {
        if (hasExited) throw new Error(`the ZooKeeper server has ended: ${this.#output}`);
        return await isReady(this.port);
      },
      'the ZooKeeper server answers',
      READY_WITHIN_MS,
    );
  }

  /** Stops the process where it is: connections stay, nothing is answered. */
  hang(): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    process.kill(pid, 'SIGSTOP');
    // Its threads stop one by one: on a busy machine one of them may answer for a while.
    while (!isStopped(pid)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** What was acknowledged is on the disk. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await within(this.#exited, 'the ZooKeeper server has ended');
  }

  /** Forgets everything that was stored; to be called after `kill`. */
  wipe(): void {
    rmSync(join(this.#directory, 'data'), { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** All threads of the process are stopped. */
function isStopped(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) => {
    const status = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
    return status[status.lastIndexOf(')') + 2] === 'T';
  });
}

/** A port that was free a moment ago, for what cannot be told to take any. */
export async function findFreePort(): Promise<number> {
  const listener = createServer();
  const { promise, resolve } = Promise.withResolvers<void>();
  listener.listen(0, HOST, resolve);
  await promise;
  const address = listener.address();
  const closed = Promise.withResolvers<void>();
  listener.close(() => closed.resolve());
  await closed.promise;
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Asks as the server's operators do. */
async function isReady(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let answer = '';
  const socket = connect({ host: HOST, port });
  socket.on('connect', () => socket.write('srvr'));
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
  });
  socket.on('error', () => resolve(false));
  socket.on('close', () => resolve(answer.includes('Mode:')));
  // While it starts the server takes connections that it forgets.
  socket.setTimeout(ASK_WITHIN_MS, () => socket.destroy());
  return await promise;
}
