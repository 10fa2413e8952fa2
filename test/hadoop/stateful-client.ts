import { decodePlain, encode, messageType, type Plain } from '../../src/wire/messages.ts';
import { decodeResponse, type RawCall, RawClient, type RawReply } from '../support/raw-client.ts';

const REPLY_WITHIN_MS = 150_000;

/** State ids by nameservice. */
export type StateIds = ReadonlyMap<string, bigint>;

/** RouterFederatedStateProto as bytes. */
export function encodeState(stateIds: StateIds | Readonly<Record<string, bigint | number>>): Buffer {
  const namespaceStateIds = stateIds instanceof Map ? Object.fromEntries(stateIds) : stateIds;
  return encode(messageType('hadoop.hdfs.RouterFederatedStateProto'), { namespaceStateIds });
}

export function decodeState(bytes: Buffer): Map<string, bigint> {
  const plain = decodePlain(messageType('hadoop.hdfs.RouterFederatedStateProto'), bytes, 0, bytes.length);
  const entries = Object.entries((plain['namespaceStateIds'] as Record<string, bigint | number> | undefined) ?? {});
  return new Map(entries.map(([nameservice, stateId]) => [nameservice, BigInt(stateId)]));
}

/** The field of an answer's header as it was sent; null where it has none. */
export function stateBytesOf(reply: RawReply): Buffer | null {
  const bytes = reply.header['routerFederatedState'] as Uint8Array | undefined;
  return bytes === undefined ? null : Buffer.from(bytes);
}

/**
 * A client with a router's state as a Java client has it: sends what it has been told once it has been told anything, takes what successes
 * tell, by maximum, and may talk to one router after the other.
 */
export class StatefulClient implements Disposable {
  readonly #connections: readonly RawClient[];
  readonly #stateIds = new Map<string, bigint>();
  #isTold = false;

  private constructor(connections: readonly RawClient[]) {
    this.#connections = connections;
  }

  static async connect(
    routers: readonly { readonly host: string; readonly port: number }[],
    user: string,
  ): Promise<StatefulClient> {
    const connections: RawClient[] = [];
    for (const router of routers) connections.push(await RawClient.connect(router, { user }));
    return new StatefulClient(connections);
  }

  get stateIds(): StateIds {
    return this.#stateIds;
  }

  /** One call through a router, whatever comes of it. */
  async call(call: RawCall, router = 0): Promise<RawReply> {
    const connection = this.#connections[router];
    if (connection === undefined) throw new RangeError(`the client knows no router ${router}`);
    const header = this.#isTold ? { routerFederatedState: encodeState(this.#stateIds) } : {};
    const reply = await connection.call({ ...call, header: { ...header, ...call.header } }, REPLY_WITHIN_MS);
    if (reply.status === 'SUCCESS') this.#learn(stateBytesOf(reply));
    return reply;
  }

  /** One call that must succeed; its response message. */
  async result(call: RawCall, router = 0): Promise<Plain> {
    const reply = await this.call(call, router);
    if (reply.status !== 'SUCCESS') throw new Error(`${call.method}: ${reply.exception}: ${reply.message}`);
    return decodeResponse(call.method, reply.body);
  }

  #learn(bytes: Buffer | null): void {
    if (bytes === null) return;
    this.#isTold = true;
    for (const [nameservice, stateId] of decodeState(bytes)) {
      if (stateId > (this.#stateIds.get(nameservice) ?? -1n)) this.#stateIds.set(nameservice, stateId);
    }
  }

  [Symbol.dispose](): void {
    for (const connection of this.#connections) connection[Symbol.dispose]();
  }
}
