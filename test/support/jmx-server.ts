import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { nextEvent } from './wait.ts';

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

export const FSNAMESYSTEM = {
  name: 'Hadoop:service=NameNode,name=FSNamesystem',
  CapacityRemaining: 600,
  CapacityTotal: 1_000,
  FilesTotal: 11,
  BlocksTotal: 12,
  MissingBlocks: 1,
  PendingReplicationBlocks: 2,
  UnderReplicatedBlocks: 3,
  PendingDeletionBlocks: 4,
  PendingSPSPaths: 0,
  ProvidedCapacityTotal: 5,
} as const;
export const FSNAMESYSTEM_STATE = {
  name: 'Hadoop:service=NameNode,name=FSNamesystemState',
  NumLiveDataNodes: 3,
  NumDeadDataNodes: 1,
  NumStaleDataNodes: 0,
  NumDecommissioningDataNodes: 0,
  NumDecomLiveDataNodes: 0,
  NumDecomDeadDataNodes: 0,
  NumInMaintenanceLiveDataNodes: 2,
} as const;
const INFO: Readonly<Record<string, number>> = {
  CorruptFilesCount: 7,
  NumberOfMissingBlocksWithReplicationFactorOne: 8,
  HighestPriorityLowRedundancyReplicatedBlocks: 9,
};

/** The web server of a NameNode, with its /jmx alone. */
export class JmxServer implements AsyncDisposable {
  /** Beans of the question for FSNamesystem*. */
  beans: readonly object[] = [FSNAMESYSTEM, FSNAMESYSTEM_STATE];
  /** Answers in place of it. */
  respond: Respond | null = null;
  requests = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => this.#onRequest(request, response));
  }

  static async start(host = '127.0.0.1'): Promise<JmxServer> {
    const jmx = new JmxServer();
    jmx.#server.listen(0, host);
    await nextEvent(jmx.#server, 'listening', 'the web server listens');
    return jmx;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = nextEvent(this.#server, 'close', 'the web server is closed');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    this.requests++;
    if (this.respond !== null) {
      this.respond(request, response);
      return;
    }
    const query = new URL(request.url ?? '', 'http://namenode').searchParams;
    const [bean, attribute = ''] = (query.get('get') ?? '').split('::');
    const value = INFO[attribute];
    let answer: object = { beans: this.beans };
    if (query.has('get')) {
      answer = { beans: [{ name: bean, ...(value === undefined ? { result: 'ERROR' } : { [attribute]: value }) }] };
    }
    response.end(JSON.stringify(answer));
  }
}
