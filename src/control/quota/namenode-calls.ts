import { PROTOCOLS } from '../../call/methods.ts';
import type { ControlBlock } from '../../shared/control-block.ts';
import type { HaState } from '../hdfs-client.ts';
import type { MonitoredNamenode } from '../membership/addresses.ts';
import { RemoteError, RpcClient, RpcError } from '../rpc-client.ts';

/** Longest wait for one answer: a directory without limits of its own is counted by walking through it. */
const CALL_WITHIN_MS = 30_000;
/** Longest wait for a connection, and for what a NameNode says of its state. */
const OPEN_WITHIN_MS = 5_000;

const CLIENT_PROTOCOL = PROTOCOLS[0]?.name ?? '';
/** Another NameNode may answer. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'org.apache.hadoop.ipc.StandbyException',
  'org.apache.hadoop.ipc.RetriableException',
  'org.apache.hadoop.ipc.ObserverRetryOnActiveException',
]);

/** No NameNode of a nameservice answers; the message names them with their reasons. */
export class NameserviceUnreachable extends Error {
  override readonly name = 'NameserviceUnreachable';
  readonly nameservice: string;

  constructor(nameservice: string, reason: string) {
    super(`nameservice ${nameservice}: ${reason}`);
    this.nameservice = nameservice;
  }
}

export interface NamenodeCallsOptions {
  readonly namenodes: readonly MonitoredNamenode[];
  readonly block: Pick<ControlBlock, 'activeOf' | 'isDisabled'>;
  /** The router's own user. */
  readonly user: string;
  readonly connectTimeoutMs: number;
  readonly callTimeoutMs?: number;
}

/**
 * A batch of calls of the router's own to active NameNodes: one connection to each nameservice that is called. A nameservice of which no
 * NameNode answered is not asked again in the same batch.
 */
export class NamenodeCalls implements Disposable {
  readonly #options: NamenodeCallsOptions;
  readonly #lines = new Map<string, Line>();
  #isClosed = false;

  constructor(options: NamenodeCallsOptions) {
    this.#options = options;
  }

  /**
   * Calls a method of ClientProtocol whose messages are named after it. Rejects with the NameNode's RemoteError, with RpcError when this call
   * alone got no answer in time, and with NameserviceUnreachable.
   */
  async call<Response extends object>(nameservice: string, method: string, request: object): Promise<Response> {
    if (this.#isClosed) throw new NameserviceUnreachable(nameservice, 'given up');
    let line = this.#lines.get(nameservice);
    if (line === undefined) {
      line = new Line(nameservice, this.#options);
      this.#lines.set(nameservice, line);
    }
    return await line.call<Response>(method, request);
  }

  isDisabled(nameservice: string): boolean {
    const { namenodes, block } = this.#options;
    const namenode = namenodes.find(({ nameserviceId }) => nameserviceId === nameservice);
    return namenode !== undefined && block.isDisabled(namenode.nameservice);
  }

  /** Gives up what is under way. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const line of this.#lines.values()) line.close();
  }
}

/** The NameNodes of one nameservice, from the one taken for active on; each is tried once. */
class Line {
  readonly #nameservice: string;
  readonly #options: NamenodeCallsOptions;
  readonly #namenodes: readonly MonitoredNamenode[];
  readonly #reasons: string[] = [];
  #at = 0;
  #client: Promise<RpcClient> | null = null;
  #answers = 0;

  constructor(nameservice: string, options: NamenodeCallsOptions) {
    this.#nameservice = nameservice;
    this.#options = options;
    const own = options.namenodes.filter(({ nameserviceId }) => nameserviceId === nameservice);
    const active = options.block.activeOf(own[0]?.nameservice ?? 0);
    this.#namenodes = own.toSorted((a, b) => Number(b.index === active) - Number(a.index === active));
  }

  async call<Response extends object>(method: string, request: object): Promise<Response> {
    const stem = `hadoop.hdfs.${method.charAt(0).toUpperCase()}${method.slice(1)}`;
    for (;;) {
      const at = this.#at;
      const namenode = this.#namenodes[at];
      if (namenode === undefined) throw this.#unreachable();
      const answersBefore = this.#answers;
      try {
        this.#client ??= this.#open(namenode);
        const client = await this.#client;
        const types = [`${stem}RequestProto`, `${stem}ResponseProto`] as const;
        const { response } = await client.call<Response>(CLIENT_PROTOCOL, method, ...types, request);
        this.#answers++;
        return response;
      } catch (error) {
        if (at !== this.#at) continue;
        if (!isElsewhere(error)) {
          if (error instanceof RemoteError) this.#answers++;
          throw error;
        }
        // The NameNode is at work: only this one took too long.
        if (error instanceof RpcError && error.code === 'TIMEOUT' && this.#answers !== answersBefore) throw error;
        this.#moveOn(namenode, error);
      }
    }
  }

  close(): void {
    this.#at = this.#namenodes.length;
    if (this.#reasons.length === 0) this.#reasons.push('given up');
    this.#drop();
  }

  /** Rejects also when the NameNode is not the active one: an observer would answer the calls, with what it knows. */
  async #open({ service: { host, port }, namenodeId }: MonitoredNamenode): Promise<RpcClient> {
    const { user, connectTimeoutMs, callTimeoutMs = CALL_WITHIN_MS } = this.#options;
    const client = await RpcClient.connect({
      host,
      port,
      user,
      connectTimeoutMs: Math.min(connectTimeoutMs, OPEN_WITHIN_MS),
      timeoutMs: callTimeoutMs,
    });
    if (namenodeId === '' || this.#namenodes.length === 1) return client;
    try {
      const state = await askState(client);
      if (state === 'ACTIVE') return client;
      throw new NotActive(`is ${state.toLowerCase()}`);
    } catch (error) {
      // It does not tell: the calls will show it.
      if (error instanceof RemoteError && !isElsewhere(error)) return client;
      client.close();
      throw error;
    }
  }

  #moveOn({ service: { host, port } }: MonitoredNamenode, error: unknown): void {
    this.#reasons.push(`${host}:${port}: ${error instanceof Error ? error.message : String(error)}`);
    this.#at++;
    this.#drop();
  }

  #drop(): void {
    this.#client?.then(
      (client) => client.close(),
      () => {},
    );
    this.#client = null;
  }

  #unreachable(): NameserviceUnreachable {
    const reason = this.#reasons.join('; ') || 'it is not configured here; add it to dfs.nameservices';
    return new NameserviceUnreachable(this.#nameservice, reason);
  }
}

async function askState(client: RpcClient): Promise<HaState> {
  const { response } = await client.call<{ state: HaState }>(
    CLIENT_PROTOCOL,
    'getHAServiceState',
    'hadoop.hdfs.HAServiceStateRequestProto',
    'hadoop.hdfs.HAServiceStateResponseProto',
    {},
    { timeoutMs: OPEN_WITHIN_MS },
  );
  return response.state;
}

class NotActive extends Error {
  override readonly name = 'NotActive';
}

function isElsewhere(error: unknown): boolean {
  if (error instanceof RemoteError) return error.fatal || ELSEWHERE.has(error.className);
  return error instanceof RpcError || error instanceof NotActive;
}
