import { RpcClient } from '../../../src/control/rpc-client.ts';
import { GivenFigures } from '../../../src/mount/order/figures.ts';
import { type Simulator, startSimulator } from '../../../src/simulator/simulator.ts';
import { InlineRouter } from '../../support/inline-router.ts';
import { MethodClient } from '../../support/method-cluster.ts';
import { createRequest, mkdirsRequest } from '../../support/several-mounts.ts';
import { type Location, MountRules, parentOf } from './mount-rules.ts';
import { NAMESERVICES, type Plan } from './plan.ts';

export const USER = 'hdfs';
/** The nameservice behind no router: one plain tree. */
const PLAIN = 'plain';
const HOST = '127.0.0.1';

/** A router over simulated nameservices, and beside it a NameNode whose one tree is what the router's clients should see. */
export class World implements AsyncDisposable {
  readonly routed: MethodClient;
  readonly plain: MethodClient;
  /** By nameservice, without the router. */
  readonly direct: ReadonlyMap<string, MethodClient>;
  readonly #router: InlineRouter;
  readonly #simulator: Simulator;

  private constructor(
    router: InlineRouter,
    simulator: Simulator,
    routed: MethodClient,
    plain: MethodClient,
    direct: ReadonlyMap<string, MethodClient>,
  ) {
    this.#router = router;
    this.#simulator = simulator;
    this.routed = routed;
    this.plain = plain;
    this.direct = direct;
  }

  static async start(pageSize: number, defaultNameservice: string): Promise<World> {
    const simulator = await startSimulator({
      superuser: USER,
      namenodes: 1,
      datanodes: 3,
      listingLimit: pageSize,
      nameservices: [...NAMESERVICES, PLAIN],
    });
    const ports = new Map(simulator.nameservices.map(({ id, namenodes }) => [id, namenodes[0]?.port ?? 0]));
    const router = await InlineRouter.start({
      nameservices: Object.fromEntries(NAMESERVICES.map((id) => [id, ports.get(id) ?? 0])),
      mounts: [],
      settings: { defaultNameservice: (NAMESERVICES as readonly string[]).indexOf(defaultNameservice) },
    });
    router.engine.figures = new GivenFigures(
      {
        clients: [[HOST, 'ns2']],
        available: NAMESERVICES.map((id, i) => [id, 1_000 * (i + 1)]),
      },
      NAMESERVICES,
    );
    const clients = new Map<string, MethodClient>();
    for (const [id, port] of ports) clients.set(id, await connect(port));
    for (const [index, id] of NAMESERVICES.entries()) {
      const client = clients.get(id) as MethodClient;
      const { info } = await client.call<{ info: { blockPoolID: string } }>('NamenodeProtocol.versionRequest');
      router.engine.blockPools.set(info.blockPoolID, index);
    }
    const plain = clients.get(PLAIN) as MethodClient;
    clients.delete(PLAIN);
    return new World(router, simulator, await connect(router.port), plain, clients);
  }

  /** Empties all nameservices and lays out what a plan begins with. */
  async begin({ mounts, directories, files, defaultNameservice }: Plan): Promise<void> {
    for (const client of [this.plain, ...this.direct.values()]) await empty(client);
    this.#router.swapMounts(mounts);
    const rules = new MountRules(mounts, defaultNameservice);
    for (const path of rules.skeleton()) await this.plain.call('ClientProtocol.mkdirs', mkdirsRequest(path));
    for (const { nameservice, path } of directories) {
      await this.of(nameservice).call('ClientProtocol.mkdirs', mkdirsRequest(path));
    }
    for (const { nameservice, path } of files) {
      await this.of(nameservice).call('ClientProtocol.mkdirs', mkdirsRequest(parentOf(path)));
      await this.of(nameservice).call('ClientProtocol.create', createRequest(path));
    }
  }

  of(nameservice: string): MethodClient {
    const client = this.direct.get(nameservice);
    if (client === undefined) throw new Error(`no nameservice ${nameservice}`);
    return client;
  }

  /** Which of the locations have something, and whether it is a directory. */
  async holders(locations: readonly Location[]): Promise<{ location: Location; isDirectory: boolean }[]> {
    const holders: { location: Location; isDirectory: boolean }[] = [];
    for (const location of locations) {
      try {
        const { fs } = await this.of(location.nameservice).call<{ fs?: { fileType: string } }>(
          'ClientProtocol.getFileInfo',
          {
            src: location.path,
          },
        );
        if (fs !== undefined) holders.push({ location, isDirectory: fs.fileType === 'IS_DIR' });
      } catch {
        // A file in its way.
      }
    }
    return holders;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of [this.routed, this.plain, ...this.direct.values()]) client[Symbol.dispose]();
    await this.#router[Symbol.asyncDispose]();
    await this.#simulator.close();
  }
}

async function connect(port: number): Promise<MethodClient> {
  return new MethodClient(await RpcClient.connect({ host: HOST, port, user: USER }), new Set());
}

async function empty(client: MethodClient): Promise<void> {
  for (;;) {
    const { dirList } = await client.call<{ dirList: { partialListing: { path: Buffer }[] } }>(
      'ClientProtocol.getListing',
      {
        src: '/',
        startAfter: Buffer.alloc(0),
        needLocation: false,
      },
    );
    if (dirList.partialListing.length === 0) break;
    for (const { path } of dirList.partialListing) {
      await client.call('ClientProtocol.delete', { src: `/${path.toString()}`, recursive: true });
    }
  }
  const { xAttrs } = await client.call<{ xAttrs?: { name: string }[] }>('ClientProtocol.getXAttrs', {
    src: '/',
    xAttrs: [],
  });
  for (const { name } of xAttrs ?? []) {
    await client.call('ClientProtocol.removeXAttr', { src: '/', xAttr: { namespace: 'USER', name } });
  }
  await client.call('ClientProtocol.setPermission', { src: '/', permission: { perm: 0o755 } });
  await client.call('ClientProtocol.setOwner', { src: '/', username: USER, groupname: 'supergroup' });
}
