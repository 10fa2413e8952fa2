import type { Plain } from '../../src/wire/messages.ts';
import type { RawReply } from '../support/raw-client.ts';
import { decodeResponse, RawClient } from '../support/raw-client.ts';

/** Calls of the client protocol by name and path, without what a Java client would add: retries, checks, paging. */

const CLIENT_NAME = 'switchyard-test';
/** Pages of one listing; more mean that the cursor does not move. */
const MAX_PAGES = 1000;
/** A NameNode may take a while after a failover, or while other tests keep the machine busy. */
const REPLY_WITHIN_MS = 60_000;

export interface Status {
  /** As the answer names it: the last component in listings, '' for the asked path itself. */
  readonly name: string;
  readonly directory: boolean;
  readonly length: number;
  readonly mode: number;
  readonly owner: string;
  readonly group: string;
  readonly children: number;
}

export interface Page {
  readonly entries: readonly Status[];
  readonly remaining: number;
}

export interface Summary {
  readonly files: number;
  readonly directories: number;
  readonly length: number;
}

/** A refusal: the class without its package. Answers and refusals are compared alike. */
export interface Refusal {
  readonly refused: string;
  readonly message: string;
}

export function isRefusal(answer: unknown): answer is Refusal {
  return typeof answer === 'object' && answer !== null && Object.hasOwn(answer, 'refused');
}

function readStatus(plain: Plain): Status {
  return {
    name: String(plain['path']),
    directory: plain['fileType'] === 'IS_DIR',
    length: Number(plain['length']),
    mode: Number((plain['permission'] as Plain)['perm']),
    owner: String(plain['owner']),
    group: String(plain['group']),
    children: Number(plain['childrenNum'] ?? -1),
  };
}

export class RawNamespace implements Disposable {
  readonly #client: RawClient;

  private constructor(client: RawClient) {
    this.#client = client;
  }

  static async connect(server: { readonly host: string; readonly port: number }, user: string): Promise<RawNamespace> {
    return new RawNamespace(await RawClient.connect(server, { user }));
  }

  [Symbol.dispose](): void {
    this.#client[Symbol.dispose]();
  }

  /** Any method: its answer, or how it was refused. */
  async ask(method: string, request: object): Promise<Plain | Refusal> {
    const reply: RawReply = await this.#client.call({ method, request }, REPLY_WITHIN_MS);
    if (reply.exception !== '') {
      return { refused: reply.exception.slice(reply.exception.lastIndexOf('.') + 1), message: reply.message };
    }
    return decodeResponse(method, reply.body);
  }

  /** As `ask`, the field `result` of the answer. */
  async #result(method: string, request: object): Promise<boolean | Refusal> {
    const answer = await this.ask(method, request);
    return isRefusal(answer) ? answer : Boolean(answer['result']);
  }

  mkdirs(src: string): Promise<boolean | Refusal> {
    return this.#result('mkdirs', { src, masked: { perm: 0o755 }, createParent: true });
  }

  /** An empty file, closed; overwrites none. */
  async create(src: string): Promise<boolean | Refusal> {
    const created = await this.open(src);
    if (isRefusal(created)) return created;
    return await this.#result('complete', { src, clientName: CLIENT_NAME });
  }

  /** A file that stays open. */
  open(src: string): Promise<Plain | Refusal> {
    return this.ask('create', {
      src,
      masked: { perm: 0o644 },
      clientName: CLIENT_NAME,
      createFlag: 1,
      createParent: true,
      replication: 1,
      blockSize: 1 << 20,
    });
  }

  delete(src: string, recursive: boolean): Promise<boolean | Refusal> {
    return this.#result('delete', { src, recursive });
  }

  rename(src: string, dst: string): Promise<boolean | Refusal> {
    return this.#result('rename', { src, dst });
  }

  /** True, or why not. */
  async renameStrictly(src: string, dst: string): Promise<boolean | Refusal> {
    const answer = await this.ask('rename2', { src, dst, overwriteDest: false });
    return isRefusal(answer) ? answer : true;
  }

  async setPermission(src: string, perm: number): Promise<boolean | Refusal> {
    const answer = await this.ask('setPermission', { src, permission: { perm } });
    return isRefusal(answer) ? answer : true;
  }

  /** Null where nothing is. */
  async status(src: string, method = 'getFileInfo'): Promise<Status | null | Refusal> {
    const answer = await this.ask(method, { src });
    if (isRefusal(answer)) return answer;
    const status = answer['fs'] as Plain | undefined;
    return status === undefined ? null : readStatus(status);
  }

  /** One page of a listing, null where nothing is. */
  async page(src: string, startAfter: string): Promise<Page | null | Refusal> {
    const answer = await this.ask('getListing', { src, startAfter: Buffer.from(startAfter), needLocation: false });
    if (isRefusal(answer)) return answer;
    const list = answer['dirList'] as Plain | undefined;
    if (list === undefined) return null;
    const entries = (list['partialListing'] as Plain[]).map(readStatus);
    return { entries, remaining: Number(list['remainingEntries']) };
  }

  /** All entries of a listing in the order of the answers, null where nothing is. */
  async list(src: string): Promise<Status[] | null | Refusal> {
    const all: Status[] = [];
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const page = await this.page(src, all.at(-1)?.name ?? '');
      if (page === null) return pages === 0 ? null : all;
      if (isRefusal(page)) return page;
      all.push(...page.entries);
      if (page.remaining === 0) return all;
      if (page.entries.length === 0)
        throw new Error(`listing of ${src}: an empty page says that ${page.remaining} remain`);
    }
    throw new Error(`listing of ${src}: no end after ${MAX_PAGES} pages`);
  }

  async names(src: string): Promise<string[] | null | Refusal> {
    const entries = await this.list(src);
    return entries === null || isRefusal(entries) ? entries : entries.map(({ name }) => name);
  }

  async summary(path: string): Promise<Summary | Refusal> {
    const answer = await this.ask('getContentSummary', { path });
    if (isRefusal(answer)) return answer;
    const summary = answer['summary'] as Plain;
    return {
      files: Number(summary['fileCount']),
      directories: Number(summary['directoryCount']),
      length: Number(summary['length']),
    };
  }
}
