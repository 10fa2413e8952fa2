import { Reader } from 'protobufjs';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { RemoteError } from '../../src/control/rpc-client.ts';
import { escapeKey } from '../../src/state-store/record-names.ts';
import {
  decodeMembership,
  decodeRouter,
  type MembershipRecord,
  type RecordType,
  type RouterRecord,
} from '../../src/state-store/records.ts';
import { ErrorCode, isCode } from '../../src/state-store/zookeeper/protocol.ts';
import { RouterProcess } from '../support/router-process.ts';
import { WAIT_MS, waitUntil } from '../support/wait.ts';
import { findFreePort } from '../support/zookeeper-server.ts';
import { TestSession } from '../support/zookeeper-session.ts';
import { type CommandResult, directEndpoint, Rig, Shell } from './support.ts';

const PARENT = '/hdfs-federation';
/** Several rounds of heartbeats, with other work on the machine. */
export const SOON_MS = 30_000;
/** Fields of a MountTableRecordProto that are dates. */
const DATE_FIELDS: readonly number[] = [3, 4];

export const FAILOVER_PROVIDERS = ['ConfiguredFailoverProxyProvider', 'RequestHedgingProxyProvider'] as const;
export type FailoverProvider = (typeof FAILOVER_PROVIDERS)[number];

/** One router of the deployment, whatever it is made of. */
export interface Member {
  readonly name: string;
  readonly kind: 'java' | 'switchyard';
  readonly host: string;
  readonly port: number;
  /** host:port */
  readonly admin: string;
  /** host:port; null without one. */
  readonly http: string | null;
}

type Administered = Pick<Member, 'name' | 'admin'>;

/** Two Java Routers and two Switchyard routers before real NameNodes, on one ZooKeeper. */
export class MixedDeployment implements AsyncDisposable {
  readonly rig: Rig;
  readonly shell: Shell;
  readonly session: TestSession;
  readonly members: readonly Member[];
  readonly switchyards: readonly RouterProcess[];
  readonly #ended: AsyncDisposableStack;

  private constructor(
    rig: Rig,
    shell: Shell,
    session: TestSession,
    switchyards: readonly RouterProcess[],
    ended: AsyncDisposableStack,
  ) {
    this.rig = rig;
    this.shell = shell;
    this.session = session;
    this.switchyards = switchyards;
    this.#ended = ended;
    const java = rig.up.routers.map(({ rpc, admin, http }, i): Member => {
      const { host, port } = directEndpoint(rpc);
      return { name: `java${i}`, kind: 'java', host, port, admin: admin ?? '', http };
    });
    const own = switchyards.map(({ host, port, adminPort }, i): Member => {
      return { name: `switchyard${i}`, kind: 'switchyard', host, port, admin: `127.0.0.1:${adminPort}`, http: null };
    });
    this.members = [...java, ...own];
  }

  static async start(conf: Readonly<Record<string, string>>): Promise<MixedDeployment> {
    await using starting = new AsyncDisposableStack();
    const rig = starting.use(await Rig.start({ nameservices: 2, javaRouters: 2, zookeeper: true, conf }));
    if (rig.up.zookeeper === null) throw new Error('the rig has no ZooKeeper');
    const shell = starting.use(await Shell.start(rig));
    const switchyards: RouterProcess[] = [];
    for (let i = 0; i < 2; i++) switchyards.push(starting.use(await startSwitchyard(rig)));
    const { host, port } = directEndpoint(rig.up.zookeeper);
    const session = starting.use(await new TestSession([{ host, port }], { timeoutMs: 10_000 }).open());
    const deployment = new MixedDeployment(rig, shell, session, switchyards, starting.move());
    await deployment.#allServe();
    return deployment;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ended.disposeAsync();
  }

  /** The members of a kind. */
  of(kind: Member['kind']): readonly [Member, Member] {
    return this.members.filter((member) => member.kind === kind) as [Member, Member];
  }

  /** One command of `hdfs dfsrouteradmin` through a member. */
  async administer(member: Administered, line: string, user?: string): Promise<CommandResult> {
    const args = ['-D', `dfs.federation.router.admin-address=${member.admin}`, ...line.split(' ')];
    return await this.shell.run(args, { tool: 'dfsrouteradmin', ...(user === undefined ? {} : { user }) });
  }

  /** One command that must succeed; what it prints. */
  async change(member: Administered, line: string): Promise<string> {
    const { code, out, err } = await this.administer(member, line);
    if (code !== 0 || !/Success/i.test(out)) throw new Error(`${line} through ${member.name}: ${code}\n${out}${err}`);
    return out;
  }

  /** One command of `hdfs dfs` of a client that knows these members as the NameNodes of one nameservice, in this order. */
  async runOverAll(members: readonly Member[], provider: FailoverProvider, args: readonly string[]): Promise<string> {
    const ids = members.map(({ name }) => name);
    const keys = {
      'dfs.nameservices': 'routers',
      'dfs.ha.namenodes.routers': ids.join(','),
      ...Object.fromEntries(
        members.map(({ name, host, port }) => [`dfs.namenode.rpc-address.routers.${name}`, `${host}:${port}`]),
      ),
      'dfs.client.failover.proxy.provider.routers': `org.apache.hadoop.hdfs.server.namenode.ha.${provider}`,
    };
    const options = Object.entries(keys).flatMap(([key, value]) => ['-D', `${key}=${value}`]);
    return await this.shell.ok([...options, '-fs', 'hdfs://routers', ...args]);
  }

  /** The answer of a client's calls through a member, or the class of the exception. */
  async call<T>(
    member: Pick<Member, 'host' | 'port'>,
    ask: (client: HdfsClient) => Promise<T>,
    user: string = this.rig.up.user,
  ): Promise<T | string> {
    const { host, port } = member;
    using client = await HdfsClient.connect({ host, port, user });
    try {
      return await ask(client);
    } catch (error) {
      if (error instanceof RemoteError) return error.className;
      throw error;
    }
  }

  /** Each member's answer, by its name. */
  async callAll<T>(ask: (client: HdfsClient) => Promise<T>): Promise<Record<string, T | string>> {
    return await this.each((member) => this.call(member, ask));
  }

  async each<T>(ask: (member: Member) => Promise<T>): Promise<Record<string, T>> {
    const answers: Record<string, T> = {};
    for (const member of this.members) answers[member.name] = await ask(member);
    return answers;
  }

  /** The same answer four times. */
  everywhere<T>(answer: T): Record<string, T> {
    return Object.fromEntries(this.members.map(({ name }) => [name, answer]));
  }

  /** Waits until what every member says is `answer`. */
  async untilAll<T>(ask: (member: Member) => Promise<T>, answer: T, what: string): Promise<void> {
    const wanted = JSON.stringify(this.everywhere(answer));
    let last = '';
    try {
      await waitUntil(
        async () => {
          last = JSON.stringify(await this.each(ask));
          return last === wanted;
        },
        what,
        SOON_MS,
      );
    } catch (error) {
      throw new Error(`${(error as Error).message}: ${last}, wanted ${wanted}`, { cause: error });
    }
  }

  /** Protobuf bytes of all records of a type, by znode. */
  async records(type: RecordType): Promise<Map<string, Buffer>> {
    const place = `${PARENT}/${type}`;
    const names = await this.session.getChildren(place, false);
    const found = new Map<string, Buffer>();
    for (const name of names.sort()) {
      try {
        found.set(name, Buffer.from(await this.session.read(`${place}/${name}`), 'base64'));
      } catch (error) {
        // Removed since it was listed.
        if (!isCode(error, ErrorCode.NO_NODE)) throw error;
      }
    }
    return found;
  }

  async routers(): Promise<RouterRecord[]> {
    return Array.from((await this.records('RouterState')).values(), (bytes) => decodeRouter(bytes).record);
  }

  async memberships(): Promise<MembershipRecord[]> {
    return Array.from((await this.records('MembershipState')).values(), (bytes) => decodeMembership(bytes).record);
  }

  /** The record of a member; null before its first heartbeat. */
  async routerRecordOf(member: Member): Promise<RouterRecord | null> {
    return (await this.routers()).find(({ address }) => address.endsWith(`:${member.port}`)) ?? null;
  }

  /** What is stored of a mount entry, without its dates, as text. */
  async mountBytes(sourcePath: string): Promise<string> {
    const text = await this.session.read(`${PARENT}/MountTable/${escapeKey(sourcePath)}`);
    const bytes = Buffer.from(text, 'base64');
    if (bytes.toString('base64') !== text) throw new Error(`${sourcePath}: not plain base64: ${text}`);
    return withoutDates(bytes).toString('hex');
  }

  /** Status by port, as a Java Router's page has it. */
  async routersOnPage(member: Member): Promise<Record<string, string>> {
    const routers = JSON.parse(await this.#attribute(member, 'FederationState', 'Routers')) as Record<
      string,
      { address: string; status: string }
    >;
    return Object.fromEntries(
      Object.values(routers)
        .map(({ address, status }): [string, string] => [address.slice(address.lastIndexOf(':') + 1), status])
        .sort(),
    );
  }

  async #attribute(member: Member, bean: string, attribute: string): Promise<string> {
    const query = `get=Hadoop:service=Router,name=${bean}::${attribute}`;
    const answer = await fetch(`http://${member.http}/jmx?${query}`, { signal: AbortSignal.timeout(WAIT_MS) });
    const { beans = [] } = (await answer.json()) as { beans?: Record<string, string>[] };
    const value = beans[0]?.[attribute];
    if (value === undefined) throw new Error(`${member.name} has no ${bean} ${attribute}`);
    return value;
  }

  /** All of them run, and know all NameNodes. */
  async #allServe(): Promise<void> {
    await waitUntil(
      async () => (await this.routers()).filter(({ status }) => status === 'RUNNING').length === 4,
      'four routers run',
      SOON_MS,
    );
    await this.untilAll(
      (member) => this.call(member, async (client) => (await client.list('/')) !== null),
      true,
      'every router shows its root',
    );
  }
}

/** The fields of a record but for its dates, byte for byte and in their order. */
function withoutDates(bytes: Buffer): Buffer {
  const reader = Reader.create(bytes);
  const kept: Buffer[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const tag = reader.uint32();
    reader.skipType(tag & 7);
    if (!DATE_FIELDS.includes(tag >>> 3)) kept.push(bytes.subarray(start, reader.pos));
  }
  return Buffer.concat(kept);
}

/** A router of this tree over the rig's configuration and State Store. */
export async function startSwitchyard(rig: Rig, keys: Readonly<Record<string, string>> = {}): Promise<RouterProcess> {
  const all = { 'dfs.federation.router.admin-address': '127.0.0.1:0', ...keys };
  return await RouterProcess.start({
    configDir: rig.up.conf,
    // In the State Store a router is known by its port.
    port: await findFreePort(),
    args: Object.entries(all).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
    env: { HADOOP_USER_NAME: rig.up.user },
  });
}
