/** The nameservices behind the peers, and what can be wrong with one of them; simulated ones, in a thread of the bench. */

import { setTimeout as sleep } from 'node:timers/promises';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import type { ConfigFileOptions } from '../../src/simulator/config-files.ts';
import { type CompleteOptions, completeOptions } from '../../src/simulator/options.ts';
import { type SimulatedNameservice, type Simulator, startSimulator } from '../../src/simulator/simulator.ts';

export const FAULTS = ['dead', 'hung', 'standby', 'slow', 'erroring', 'flapping'] as const;
export type Fault = (typeof FAULTS)[number];

export const FAULT_MEANINGS: Readonly<Record<Fault, string>> = {
  dead: 'both NameNodes refuse connections',
  hung: 'both accept and read calls, and answer none',
  standby: 'both NameNodes are standbys',
  slow: 'all calls take 100 times as long',
  erroring: 'each call is answered with RetriableException',
  flapping: 'both NameNodes are gone for a second, back for a second, and so on',
};

/** A mount of order HASH_ALL over all nameservices: calls to it fan out. */
export const ALL_MOUNT = '/all';
export const FILES_OF_EACH = 16;
const SERVICE_MS = 1;
const SLOWER = 100;
const FLAP_MS = 1_000;
const ALWAYS = Number.MAX_SAFE_INTEGER;
const NAMENODES_OF_EACH = 2;

export interface MountEntry {
  readonly path: string;
  readonly nameservices: readonly string[];
}

/** Nameservices with two NameNodes each, nn0 active, and the same files in all. */
export abstract class Namenodes implements AsyncDisposable {
  /** Those that serve files; calls to ALL_MOUNT fan out to them. */
  readonly ids: readonly string[];
  /** With those that were added. */
  readonly nameservices: SimulatedNameservice[];
  readonly config: ConfigFileOptions;

  protected constructor(nameservices: readonly SimulatedNameservice[], config: ConfigFileOptions) {
    this.ids = nameservices.map(({ id }) => id);
    this.nameservices = [...nameservices];
    this.config = config;
  }

  abstract makeSick(id: string, fault: Fault): Promise<void>;
  /** Resolves when the nameservice serves again. */
  abstract heal(id: string, fault: Fault): Promise<void>;
  abstract [Symbol.asyncDispose](): Promise<void>;

  /** One more nameservice, whose NameNode is somebody else's; nothing fans out to it. */
  add(id: string, port: number): void {
    this.nameservices.push({ id, namenodes: [{ id: 'nn0', host: '127.0.0.1', port }] });
  }

  /** A mount for each nameservice, named like it, and the one over all that serve files. */
  get mounts(): MountEntry[] {
    return [
      ...this.nameservices.map(({ id }) => ({ path: `/${id}`, nameservices: [id] })),
      { path: ALL_MOUNT, nameservices: this.ids },
    ];
  }

  /** As clients of a router name them. */
  pathsOf(ids: readonly string[]): string[] {
    return ids.flatMap((id) => Array.from({ length: FILES_OF_EACH }, (_, i) => `/${id}/f${i}`));
  }

  /** Port of the first NameNode, which is the active one. */
  portOf(id: string): number {
    return this.nameservices.find((each) => each.id === id)?.namenodes[0]?.port ?? 0;
  }

  /** Makes the files. */
  protected async fill(): Promise<void> {
    await Promise.all(this.ids.map((id) => this.#fill(id)));
  }

  protected async forEach(
    nameservice: string,
    ask: (which: { readonly nameservice: string; readonly namenode: string }) => Promise<unknown>,
  ): Promise<void> {
    const found = this.nameservices.find(({ id }) => id === nameservice);
    for (const { id } of found?.namenodes ?? []) await ask({ nameservice, namenode: id });
  }

  async #fill(id: string): Promise<void> {
    using client = await HdfsClient.connect({ host: '127.0.0.1', port: this.portOf(id), user: this.config.superuser });
    for (const directory of [`/${id}`, ALL_MOUNT]) {
      await client.mkdirs(directory);
      for (let i = 0; i < FILES_OF_EACH; i++) await client.createEmptyFile(`${directory}/f${i}`);
    }
  }
}

/** In-memory NameNodes in a thread of this process; calls take SERVICE_MS. */
export class SimulatedNamenodes extends Namenodes {
  readonly simulator: Simulator;
  /** Resolves once a flapping nameservice has stopped flapping, with both NameNodes back. */
  #flapping: Promise<void> = Promise.resolve();
  #flaps = false;

  private constructor(simulator: Simulator, options: CompleteOptions) {
    super(simulator.nameservices, options);
    this.simulator = simulator;
  }

  static async start(count: number): Promise<SimulatedNamenodes> {
    const options = completeOptions({
      serviceTime: { kind: 'constant', ms: SERVICE_MS },
      nameservices: Array.from({ length: count }, (_, i) => `ns${i}`),
      namenodes: NAMENODES_OF_EACH,
    });
    const namenodes = new SimulatedNamenodes(await startSimulator(options), options);
    await namenodes.fill();
    return namenodes;
  }

  /** Of each NameNode; 0: no cap. */
  async setCap(callsPerSecond: number): Promise<void> {
    await this.simulator.control({ op: 'settings', settings: { callsPerSecond } });
  }

  async makeSick(id: string, fault: Fault): Promise<void> {
    switch (fault) {
      case 'dead':
        return await this.#stop(id);
      case 'hung':
        return await this.forEach(id, (which) => this.simulator.control({ op: 'hang', mode: 'calls', ...which }));
      case 'standby':
        await this.simulator.control({ op: 'transition', nameservice: id, namenode: 'nn0', to: 'standby' });
        return;
      case 'slow':
        return await this.#setServiceMs(id, SERVICE_MS * SLOWER);
      case 'erroring':
        return await this.forEach(id, (which) =>
          this.simulator.control({ op: 'restart', notStartedCalls: ALWAYS, ...which }),
        );
      case 'flapping':
        this.#flaps = true;
        this.#flapping = this.#flap(id);
    }
  }

  async heal(id: string, fault: Fault): Promise<void> {
    switch (fault) {
      case 'dead':
        return await this.#start(id);
      case 'hung':
        return await this.forEach(id, (which) => this.simulator.control({ op: 'resume', ...which }));
      case 'standby':
        return await this.#activate(id);
      case 'slow':
        return await this.#setServiceMs(id, SERVICE_MS);
      case 'erroring':
        return await this.forEach(id, (which) => this.simulator.control({ op: 'restart', ...which }));
      case 'flapping':
        this.#flaps = false;
        return await this.#flapping;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#flaps = false;
    await this.#flapping;
    await this.simulator.close();
  }

  /** Ends with the NameNodes up. */
  async #flap(id: string): Promise<void> {
    while (this.#flaps) {
      await this.#stop(id);
      await sleep(FLAP_MS);
      await this.#start(id);
      if (this.#flaps) await sleep(FLAP_MS);
    }
  }

  async #stop(id: string): Promise<void> {
    await this.forEach(id, (which) => this.simulator.control({ op: 'stop', ...which }));
  }

  async #start(id: string): Promise<void> {
    await this.forEach(id, (which) => this.simulator.control({ op: 'start', ...which }));
    await this.#activate(id);
  }

  async #activate(id: string): Promise<void> {
    await this.simulator.control({ op: 'transition', nameservice: id, namenode: 'nn0', to: 'active' });
  }

  async #setServiceMs(id: string, ms: number): Promise<void> {
    const settings = { serviceTime: { kind: 'constant', ms } } as const;
    await this.forEach(id, (of) => this.simulator.control({ op: 'settings', settings, of }));
  }
}
