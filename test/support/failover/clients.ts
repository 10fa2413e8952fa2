import { RemoteError, RpcClient } from '../../../src/control/rpc-client.ts';
import type { Stage } from './stage.ts';

const PROTOCOL = 'org.apache.hadoop.hdfs.protocol.ClientProtocol';
/** As a Java client's, `ipc.client.rpc-timeout.ms`. */
const TIMEOUT_MS = 120_000;
/** Between the calls of one client. */
const PAUSE_MS = 20;

/** One call that was answered. */
export interface Answered {
  readonly client: number;
  readonly isWrite: boolean;
  readonly sentMs: number;
  readonly answeredMs: number;
  /** '' for a success, else the exception. */
  readonly error: string;
}

/** Clients of one nameservice, each with a call at a time, reads and writes in turn. None is repeated: what the router says is what counts. */
export class Clients {
  readonly count: number;
  readonly answered: Answered[] = [];
  readonly #stage: Stage;
  readonly #nameservice: string;
  readonly #waiters = new Set<() => void>();
  #isOver = false;
  #loops: Promise<void>[] = [];

  constructor(stage: Stage, nameservice: string, count: number) {
    this.#stage = stage;
    this.#nameservice = nameservice;
    this.count = count;
  }

  start(): void {
    this.#loops = Array.from({ length: this.count }, (_, client) => this.#run(client));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
  }

  /** Resolves once `check` is true; looked at after each answer. */
  async until(check: () => boolean): Promise<void> {
    if (check()) return;
    await new Promise<void>((resolve) => {
      const waiter = (): void => {
        if (!check()) return;
        this.#waiters.delete(waiter);
        resolve();
      };
      this.#waiters.add(waiter);
    });
  }

  /** Every client has had `times` writes done that were sent after `sinceMs`. */
  async untilServed(sinceMs: number, times = 1): Promise<void> {
    await this.until(() => {
      const done = new Array<number>(this.count).fill(0);
      for (let i = this.answered.length - 1; i >= 0; i--) {
        const { client, isWrite, sentMs, answeredMs, error } = this.answered[i] as Answered;
        if (answeredMs < sinceMs) break;
        if (isWrite && error === '' && sentMs >= sinceMs) done[client] = (done[client] as number) + 1;
      }
      return done.every((each) => each >= times);
    });
  }

  async #run(client: number): Promise<void> {
    const { host, port } = this.#stage.router;
    using rpc = await RpcClient.connect({ host, port, user: this.#stage.user, timeoutMs: TIMEOUT_MS });
    for (let n = 0; !this.#isOver; n++) {
      const isWrite = n % 2 === 1;
      const sentMs = performance.now();
      const error = await this.#call(
        rpc,
        isWrite ? `/${this.#nameservice}/c${client}-${n}` : `/${this.#nameservice}`,
        isWrite,
      );
      this.answered.push({ client, isWrite, sentMs, answeredMs: performance.now(), error });
      for (const waiter of [...this.#waiters]) waiter();
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  async #call(rpc: RpcClient, src: string, isWrite: boolean): Promise<string> {
    try {
      if (isWrite) {
        const request = { src, masked: { perm: 0o755 }, createParent: true };
        await rpc.call(
          PROTOCOL,
          'mkdirs',
          'hadoop.hdfs.MkdirsRequestProto',
          'hadoop.hdfs.MkdirsResponseProto',
          request,
        );
      } else {
        const [asked, answered] = ['hadoop.hdfs.GetFileInfoRequestProto', 'hadoop.hdfs.GetFileInfoResponseProto'];
        await rpc.call(PROTOCOL, 'getFileInfo', asked, answered, { src });
      }
      return '';
    } catch (error) {
      if (error instanceof RemoteError) return error.message;
      throw error;
    }
  }
}
