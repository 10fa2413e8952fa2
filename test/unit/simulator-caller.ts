/** Calls of a simulated NameNode over its wire, by several users, and the check that the standby follows the active one. */
import { expect } from 'vitest';
import { METHODS, PROTOCOLS } from '../../src/call/methods.ts';
import { RemoteError, RpcClient } from '../../src/control/rpc-client.ts';
import type { SimulatorOptions } from '../../src/simulator/options.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import type { Plain } from '../../src/wire/messages.ts';

export const IO = 'java.io.IOException';
export const NOT_FOUND = 'java.io.FileNotFoundException';
export const DENIED = 'org.apache.hadoop.security.AccessControlException';
export const ILLEGAL = 'org.apache.hadoop.HadoopIllegalArgumentException';
export const CREATE = 1;
export const OVERWRITE = 2;
export const BLOCK_BYTES = 1024;
/** "Leave it as it is" in setQuota. */
export const DONT_SET = 2n ** 63n - 1n;

/** The response, or `Class: first line of the text`. */
export type Answer = Plain | string;

export class SimulatorCaller implements AsyncDisposable {
  readonly simulator: Simulator;
  readonly #clients = new Map<string, RpcClient>();

  private constructor(simulator: Simulator) {
    this.simulator = simulator;
  }

  /** One nameservice with an active and a standby NameNode, whose superuser is root. */
  static async start(options: SimulatorOptions = {}): Promise<SimulatorCaller> {
    const groups = { bob: ['staff'], carol: ['staff', 'editors'] };
    return new SimulatorCaller(await startSimulator({ nameservices: ['ns0'], superuser: 'root', groups, ...options }));
  }

  async ask(method: string, request: object = {}, user = 'root', nameservice = 0): Promise<Answer> {
    const served = METHODS.find((one) => one.name === method);
    if (served === undefined) throw new Error(`no method ${method}`);
    const client = await this.#client(user, nameservice);
    const protocol = PROTOCOLS[served.protocol]!.name;
    try {
      const { response } = await client.call<Plain>(protocol, method, served.request, served.response, request);
      return response;
    } catch (error) {
      if (error instanceof RemoteError) return error.message;
      throw error;
    }
  }

  async #client(user: string, nameservice: number): Promise<RpcClient> {
    const key = `${user} ${nameservice}`;
    const known = this.#clients.get(key);
    if (known !== undefined) return known;
    const { host, port } = this.simulator.nameservices[nameservice]!.namenodes[0]!;
    const client = await RpcClient.connect({ host, port, user });
    this.#clients.set(key, client);
    return client;
  }

  mkdirs(src: string, user?: string, perm = 0o755): Promise<Answer> {
    return this.ask('mkdirs', { src, masked: { perm }, unmasked: { perm: 0o777 }, createParent: true }, user);
  }

  /** Opens a file for writing. */
  open(src: string, more: object = {}, user?: string): Promise<Answer> {
    const perm = { perm: 0o644 };
    return this.ask(
      'create',
      {
        src,
        masked: perm,
        clientName: 'c1',
        createFlag: CREATE | OVERWRITE,
        createParent: true,
        replication: 3,
        blockSize: BLOCK_BYTES,
        cryptoProtocolVersion: ['ENCRYPTION_ZONES'],
        ...more,
      },
      user,
    );
  }

  /** Adds a block to an open file; its LocatedBlockProto. */
  async addBlock(src: string, previous?: Plain): Promise<Plain> {
    const request = { src, clientName: 'c1', ...(previous === undefined ? {} : { previous }) };
    const answer = await this.ask('addBlock', { ...request, excludeNodes: [], favoredNodes: [], flags: [] });
    if (typeof answer === 'string') throw new Error(answer);
    return answer['block'] as Plain;
  }

  complete(src: string, last?: Plain): Promise<Answer> {
    return this.ask('complete', { src, clientName: 'c1', ...(last === undefined ? {} : { last }) });
  }

  /** A closed file with blocks of these lengths. */
  async write(src: string, lengths: readonly number[] = [], more: object = {}): Promise<void> {
    expect(await this.open(src, more)).toBeTypeOf('object');
    let last: Plain | undefined;
    for (const numBytes of lengths) {
      const { b } = await this.addBlock(src, last);
      last = { ...(b as Plain), numBytes };
    }
    expect(await this.complete(src, last)).toEqual({ result: true });
  }

  async info(src: string, user?: string): Promise<Plain | undefined> {
    const answer = await this.ask('getFileInfo', { src }, user);
    if (typeof answer === 'string') throw new Error(answer);
    return answer['fs'] as Plain | undefined;
  }

  /** Names in one page, and how many remain. */
  async page(src: string, startAfter = ''): Promise<{ names: string[]; remaining: number } | string> {
    const answer = await this.ask('getListing', { src, startAfter: Buffer.from(startAfter), needLocation: false });
    if (typeof answer === 'string') return answer;
    const list = answer['dirList'] as Plain;
    return { names: namesOf(list), remaining: list['remainingEntries'] as number };
  }

  /** The standby has done all edits, and come to the same transaction each time: it throws in the simulator otherwise. */
  async checkStandby(): Promise<void> {
    for (const { state, appliedTxId, lastTxId } of await this.simulator.control({ op: 'status' })) {
      if (state === 'standby') expect(appliedTxId).toBe(lastTxId);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients.values()) client.close();
    await this.simulator.close();
  }
}

export function namesOf(list: Plain): string[] {
  return (list['partialListing'] as Plain[]).map((entry) => (entry['path'] as Buffer).toString());
}
