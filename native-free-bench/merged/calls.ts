/** The calls of this bench, made by a client that decodes no more than it must: the bench shares its core with the NameNodes. */

import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { RpcClient } from '../../src/control/rpc-client.ts';
import { ENTRIES_OK, EntryScan, isInOrder, scanStatus } from '../../src/wire/listing-scan.ts';
import { median } from '../harness/table.ts';

const CLIENT_PROTOCOL = 'org.apache.hadoop.hdfs.protocol.ClientProtocol';
const CALL_TIMEOUT_MS = 60_000;
/** A GetListingResponseProto read with its DirectoryListingProto, field 1, as bytes: decoding 2,000 entries takes longer than merging them. */
const UNDECODED = 'hadoop.hdfs.router.MountTableRecordBytesProto';

/** What a closed loop of calls came to. */
export interface Closed {
  readonly calls: number;
  readonly errors: number;
  readonly elapsedMs: number;
  /** Of one call. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Names that were listed. */
  readonly entries: number;
}

interface Page {
  readonly count: number;
  readonly lastName: Buffer;
  readonly more: boolean;
  readonly errors: number;
}

export class Caller implements Disposable {
  readonly #hdfs: HdfsClient;
  readonly #scan = new EntryScan();

  private constructor(hdfs: HdfsClient) {
    this.#hdfs = hdfs;
  }

  static async connect(port: number): Promise<Caller> {
    const rpc = await RpcClient.connect({ host: '127.0.0.1', port, user: 'bench', timeoutMs: CALL_TIMEOUT_MS });
    return new Caller(new HdfsClient(rpc));
  }

  async summary(path: string): Promise<void> {
    await this.#call('getContentSummary', { path });
  }

  async renewLease(): Promise<void> {
    await this.#call('renewLease', { clientName: 'bench' });
  }

  /** One page; names out of order, or not behind `startAfter`, are an error. */
  async page(src: string, startAfter: Buffer): Promise<Page> {
    const { entries } = await this.#call<{ entries: Buffer[] }>(
      'getListing',
      { src, startAfter, needLocation: false },
      UNDECODED,
    );
    const [dirList] = entries;
    if (dirList === undefined) throw new Error(`${src} is not there`);
    const scan = this.#scan;
    // A DirectoryListingProto has its entries where a status answer has its status.
    const isRight = scanStatus(dirList, 0, dirList.length, scan) === ENTRIES_OK && isInOrder(dirList, scan, startAfter);
    const last = scan.count - 1;
    return {
      count: scan.count,
      lastName: last < 0 ? startAfter : Buffer.from(dirList.subarray(scan.nameStartOf(last), scan.nameEndOf(last))),
      more: scan.remaining > 0,
      errors: isRight ? 0 : 1,
    };
  }

  [Symbol.dispose](): void {
    this.#hdfs.close();
  }

  async #call<Response extends object>(method: string, request: object, responseType?: string): Promise<Response> {
    const stem = `hadoop.hdfs.${method.charAt(0).toUpperCase()}${method.slice(1)}`;
    const { response } = await this.#hdfs.rpc.call<Response>(
      CLIENT_PROTOCOL,
      method,
      `${stem}RequestProto`,
      responseType ?? `${stem}ResponseProto`,
      request,
    );
    return response;
  }
}

/** A whole directory, page by page; a call is a page. A page with names out of order or twice counts as an error. */
export async function listAll(caller: Caller, path: string): Promise<Closed> {
  const started = performance.now();
  const times: number[] = [];
  let startAfter: Buffer = Buffer.alloc(0);
  let entries = 0;
  let errors = 0;
  for (;;) {
    const from = performance.now();
    const page = await caller.page(path, startAfter);
    times.push(performance.now() - from);
    errors += page.errors;
    entries += page.count;
    startAfter = page.lastName;
    if (!page.more || page.count === 0) break;
  }
  return summarise(times, errors, performance.now() - started, entries);
}

/** The same call again and again for a time, so many at once. */
export async function repeatFor(ms: number, inFlight: number, call: () => Promise<void>): Promise<Closed> {
  const started = performance.now();
  const times: number[] = [];
  let errors = 0;
  const loop = async (): Promise<void> => {
    while (performance.now() - started < ms) {
      const from = performance.now();
      try {
        await call();
        times.push(performance.now() - from);
      } catch {
        errors++;
      }
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  return summarise(times, errors, performance.now() - started, 0);
}

function summarise(times: readonly number[], errors: number, elapsedMs: number, entries: number): Closed {
  const sorted = times.toSorted((a, b) => a - b);
  return {
    calls: times.length,
    errors,
    elapsedMs,
    p50Ms: times.length === 0 ? 0 : median(times),
    p99Ms: sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? 0,
    entries,
  };
}
