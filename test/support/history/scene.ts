import { check } from './checker.ts';
import type { Carrier, HistoryClient } from './client.ts';
import { Deployment } from './deployment.ts';
import { History } from './history.ts';
import type { Report } from './report.ts';

export const ACTIVE = { nameservice: 'ns0', namenode: 'nn0' } as const;
export const STANDBY = { nameservice: 'ns0', namenode: 'nn1' } as const;
export const OBSERVER = { nameservice: 'ns0', namenode: 'nn2' } as const;

const CLIENTS = 8;
export const FILES = 4;

export interface SceneOptions {
  readonly keys?: Readonly<Record<string, string>>;
  readonly freshMs?: number;
}

/**
 * One nameservice with one observer behind two routers in this thread, and clients that a test leads step by step: small histories in which
 * exactly one thing goes wrong.
 */
export class Scene implements AsyncDisposable {
  readonly deployment: Deployment;
  readonly history: History;
  #clients = 0;

  private constructor(deployment: Deployment, history: History) {
    this.deployment = deployment;
    this.history = history;
  }

  /** With all files written, by a client of its own. */
  static async start({ keys = {}, freshMs = Number.POSITIVE_INFINITY }: SceneOptions = {}): Promise<Scene> {
    const deployment = await Deployment.start({ kind: 'inline', nameservices: ['ns0'], observers: 1, keys });
    const history = new History({ nameservices: ['ns0'], filesPerNameservice: FILES, clients: CLIENTS, freshMs });
    const scene = new Scene(deployment, history);
    const setter = scene.connect('federated');
    for (let file = 0; file < FILES; file++) await setter.write(file, 0);
    return scene;
  }

  connect(carrier: Carrier): HistoryClient {
    return this.deployment.connect(this.history, this.#clients++, carrier);
  }

  get control(): Deployment['simulator']['control'] {
    return this.deployment.simulator.control.bind(this.deployment.simulator);
  }

  /** Reads that a NameNode has executed. */
  async readsAt({ nameservice, namenode }: { nameservice: string; namenode: string }): Promise<number> {
    const counts = await this.control({ op: 'counts' });
    return counts[`${nameservice} ${namenode} getFileInfo`] ?? 0;
  }

  get report(): Report {
    return check(this.history);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.deployment[Symbol.asyncDispose]();
  }
}
