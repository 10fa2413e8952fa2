/** Real NameNodes of Hadoop, in one JVM of the rig of test/hadoop, and the faults that they can have. */

import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { askRig, rigEnv } from '../against/java-router.ts';
import { Child } from '../harness/children.ts';
import type { RunDirectory } from '../harness/run-directory.ts';
import { type Fault, Namenodes } from './namenodes.ts';

/** rig.json, as far as it is needed. */
interface RigState {
  readonly control: string;
  readonly user: string;
  readonly namenodes: readonly { readonly ns: string; readonly nn: string; readonly rpc: string }[];
}

/** Faults that they can have. */
export const REAL_FAULTS = ['dead', 'hung', 'standby'] as const satisfies readonly Fault[];
const READY_MS = 180_000;
const ANSWER_MS = 60_000;
const LOOK_MS = 100;

export class RigNamenodes extends Namenodes {
  readonly child: Child;
  readonly #control: net.Socket;
  readonly #answers: Interface;

  private constructor(state: RigState, child: Child, control: net.Socket) {
    const ids = [...new Set(state.namenodes.map(({ ns }) => ns))];
    super(
      ids.map((id) => ({
        id,
        namenodes: state.namenodes
          .filter(({ ns }) => ns === id)
          .map(({ nn, rpc }) => ({ id: nn, host: '127.0.0.1', port: Number(rpc.replace(/.*:/, '')) })),
      })),
      { superuser: state.user, stateIds: false, replication: 1 },
    );
    this.child = child;
    this.#control = control;
    this.#answers = createInterface({ input: control });
  }

  static async start(count: number, directory: RunDirectory): Promise<RigNamenodes> {
    const home = join(directory.path, 'namenodes');
    const env = rigEnv(home, directory.env);
    const command = askRig(['up', '--print', '--nameservices', String(count), '--datanodes', '1', '--no-audit'], env);
    const child = new Child({ name: 'Hadoop rig', env, ...command });
    const file = join(home, 'rig', 'rig.json');
    const ended = child.waitFor(() => false, READY_MS);
    const written = new AbortController();
    await Promise.race([ended, awaitFile(file, written.signal)]).finally(() => written.abort());
    ended.catch(() => undefined);
    const state = JSON.parse(readFileSync(file, 'utf8')) as RigState;
    const control = net.connect({ host: '127.0.0.1', port: Number(state.control.replace(/.*:/, '')) });
    await once(control, 'connect');
    const namenodes = new RigNamenodes(state, child, control);
    await namenodes.fill();
    return namenodes;
  }

  async makeSick(id: string, fault: Fault): Promise<void> {
    switch (fault) {
      case 'dead':
        return await this.#each('stop', id);
      case 'hung':
        return await this.#each('hang', id);
      case 'standby':
        return await this.#ask({ op: 'transition', ns: id, nn: 'nn0', to: 'standby' });
      default:
        throw new Error(`real NameNodes cannot be ${fault}`);
    }
  }

  async heal(id: string, fault: Fault): Promise<void> {
    if (fault === 'hung') return await this.#each('resume', id);
    if (fault === 'dead') await this.#each('start', id);
    await this.#ask({ op: 'transition', ns: id, nn: 'nn0', to: 'active' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#answers.close();
    this.#control.destroy();
    await this.child.stop();
  }

  #each(op: string, id: string): Promise<void> {
    return this.forEach(id, ({ nameservice, namenode }) => this.#ask({ op, ns: nameservice, nn: namenode }));
  }

  async #ask(request: object): Promise<void> {
    const answered = once(this.#answers, 'line', { signal: AbortSignal.timeout(ANSWER_MS) });
    this.#control.write(`${JSON.stringify(request)}\n`);
    const [line] = (await answered) as [string];
    const { ok, error } = JSON.parse(line) as { ok: boolean; error?: string };
    if (!ok) throw new Error(`the Hadoop rig does not carry out ${JSON.stringify(request)}: ${error}`);
  }
}

async function awaitFile(file: string, given: AbortSignal): Promise<void> {
  while (!existsSync(file) && !given.aborted) await sleep(LOOK_MS);
}
