import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ControlRequest, Which } from '../../../src/simulator/control-requests.ts';
import { type SimulatedNameNode, type Simulator, startSimulator } from '../../../src/simulator/simulator.ts';
import { RouterProcess } from '../router-process.ts';

/** Where NameNodes with a name are, before and after they move. */
export const OLD_HOME = '127.0.0.2';
export const NEW_HOME = '127.0.0.1';
const USER = 'hdfs';
const PRELOAD = new URL('./fake-hosts.ts', import.meta.url).href;

export interface StageOptions {
  /** Nameservices of two NameNodes each, nn0 active; mounted at `/ID`. */
  readonly nameservices: readonly string[];
  /** Those of them whose NameNodes the router knows by name, `NN.ID.failover.test`; the addresses are set by `moveTo`. */
  readonly named: readonly string[];
  /** `key=value` each, for --set of the router. */
  readonly set?: readonly string[];
}

/** Simulated nameservices behind one router process, to whose NameNodes anything can happen. */
export class Stage implements AsyncDisposable {
  readonly user = USER;
  readonly router: RouterProcess;
  readonly #simulator: Simulator;
  readonly #directory: string;
  readonly #hosts: Record<string, string>;

  private constructor(router: RouterProcess, simulator: Simulator, directory: string, hosts: Record<string, string>) {
    this.router = router;
    this.#simulator = simulator;
    this.#directory = directory;
    this.#hosts = hosts;
  }

  static async start({ nameservices, named, set = [] }: StageOptions): Promise<Stage> {
    const simulator = await startSimulator({ nameservices, namenodes: 2, superuser: USER });
    const directory = mkdtempSync(join(tmpdir(), 'switchyard-failover-'));
    const hosts: Record<string, string> = {};
    const specs = simulator.nameservices.map(({ id, namenodes }) => {
      if (!named.includes(id)) return [id, namenodes] as const;
      return [
        id,
        namenodes.map((namenode) => {
          const host = nameOf(id, namenode.id);
          hosts[host] = NEW_HOME;
          return { ...namenode, host };
        }),
      ] as const;
    });
    const file = join(directory, 'hosts.json');
    writeFileSync(file, JSON.stringify(hosts));
    const router = await RouterProcess.start({
      nameservices: Object.fromEntries(specs),
      mounts: nameservices.map((id) => `/${id}=${id}:/`),
      args: set.flatMap((assignment) => ['--set', assignment]),
      env: { HADOOP_USER_NAME: USER, FAILOVER_HOSTS: file, NODE_OPTIONS: `--import=${PRELOAD}` },
    });
    return new Stage(router, simulator, directory, hosts);
  }

  control(request: ControlRequest): Promise<unknown> {
    return this.#simulator.control(request);
  }

  namenode({ nameservice, namenode }: Which): SimulatedNameNode {
    const found = this.#simulator.nameservices.find(({ id }) => id === nameservice);
    return found?.namenodes.find(({ id }) => id === namenode) as SimulatedNameNode;
  }

  /** What the name of a NameNode resolves to from now on. */
  moveTo({ nameservice, namenode }: Which, address: string): void {
    this.#hosts[nameOf(nameservice, namenode)] = address;
    writeFileSync(join(this.#directory, 'hosts.json'), JSON.stringify(this.#hosts));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.router[Symbol.asyncDispose]();
    await this.#simulator.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

function nameOf(nameservice: string, namenode: string): string {
  return `${namenode}.${nameservice}.failover.test`;
}
