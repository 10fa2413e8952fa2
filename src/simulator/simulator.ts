/** Simulated HDFS nameservices in a thread of their own: in-memory NameNodes that speak the real wire protocol on loopback. */
import { Worker } from 'node:worker_threads';
import type { ControlRequest, ControlResults } from './control-requests.ts';
import { ControlError } from './control-requests.ts';
import type { SimulatorOptions } from './options.ts';
import { completeOptions } from './options.ts';
import type { FromSimulator, ToSimulator } from './worker.ts';

export interface SimulatedNameNode {
  /** nn0, nn1, … */
  readonly id: string;
  readonly host: string;
  readonly port: number;
}

export interface SimulatedNameservice {
  readonly id: string;
  /** nn0 starts as the active one, observers come last. */
  readonly namenodes: readonly SimulatedNameNode[];
}

export interface Simulator extends AsyncDisposable {
  readonly nameservices: readonly SimulatedNameservice[];
  /** Rejects with ControlError when the request cannot be carried out, or the simulator has ended. */
  control<R extends ControlRequest>(request: R): Promise<ControlResults[R['op']]>;
  /** Closes all ports and ends the thread. */
  close(): Promise<void>;
}

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/**
 * Starts the NameNodes and waits until all of them listen. Throws SimulatorOptionError for options that cannot be, and an Error that
 * names the port when one is taken.
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const thread = new SimulatorThread(new Worker(workerFile(), { workerData: completeOptions(options) }));
  try {
    await thread.started;
    const status = await thread.control({ op: 'status' });
    for (const { nameservice, namenode, host, port } of status) {
      thread.add(nameservice, { id: namenode, host, port });
    }
    return thread;
  } catch (error) {
    await thread.terminate();
    throw error;
  }
}

/** Beside this file, with the same suffix: sources run as they are, the package holds JavaScript. */
function workerFile(): URL {
  return new URL(import.meta.filename.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);
}

class SimulatorThread implements Simulator {
  readonly nameservices: { id: string; namenodes: SimulatedNameNode[] }[] = [];
  readonly started: Promise<unknown>;
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  readonly #exited: Promise<void>;
  #sequence = 0;
  /** Why nothing more can be asked, '' while the thread runs. */
  #ended = '';

  constructor(worker: Worker) {
    this.#worker = worker;
    this.started = new Promise((resolve, reject) => this.#pending.set(0, { resolve, reject }));
    worker.on('message', (message: FromSimulator) => this.#onMessage(message));
    worker.on('error', (error: unknown) => this.#end(`the simulator failed: ${String(error)}`));
    this.#exited = new Promise((resolve) => {
      worker.once('exit', () => {
        this.#end('the simulator has ended');
        resolve();
      });
    });
  }

  add(nameservice: string, namenode: SimulatedNameNode): void {
    let found = this.nameservices.find((one) => one.id === nameservice);
    if (found === undefined) {
      found = { id: nameservice, namenodes: [] };
      this.nameservices.push(found);
    }
    found.namenodes.push(namenode);
  }

  control<R extends ControlRequest>(request: R): Promise<ControlResults[R['op']]> {
    return this.#ask(request) as Promise<ControlResults[R['op']]>;
  }

  async close(): Promise<void> {
    if (this.#ended === '') {
      await this.#ask(null);
    }
    await this.#exited;
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #ask(request: ControlRequest | null): Promise<unknown> {
    if (this.#ended !== '') {
      return Promise.reject(new ControlError(this.#ended));
    }
    const sequence = ++this.#sequence;
    const answer = new Promise<unknown>((resolve, reject) => this.#pending.set(sequence, { resolve, reject }));
    this.#worker.postMessage({ sequence, request } satisfies ToSimulator);
    return answer;
  }

  #onMessage({ sequence, result, error }: FromSimulator): void {
    const pending = this.#pending.get(sequence);
    this.#pending.delete(sequence);
    if (error === undefined) {
      pending?.resolve(result);
    } else {
      pending?.reject(new ControlError(error));
    }
  }

  #end(why: string): void {
    this.#ended ||= why;
    for (const { reject } of this.#pending.values()) {
      reject(new ControlError(this.#ended));
    }
    this.#pending.clear();
  }
}
