import type { AdmissionSettings } from '../../src/shared/settings.ts';
import { disposeOpened } from './dispose-opened.ts';
import { InlineRouter, type InlineRouterOptions } from './inline-router.ts';
import { RawClient } from './raw-client.ts';
import { type NameNodeCall, ScriptedNameNode } from './scripted-namenode.ts';

/** One level, first come, first served, and four calls in flight at each of two nameservices. */
export const FOUR_IN_FLIGHT: AdmissionSettings = {
  capacity: 1000,
  levels: 1,
  capacityWeights: [1],
  multiplexerWeights: [1],
  scheduler: null,
  backoff: false,
  overflowFailover: false,
  coalesceReads: false,
  timeLimitMs: 60_000,
  windows: [
    { floor: 4, ceiling: 4 },
    { floor: 4, ceiling: 4 },
  ],
};

/** Two nameservices and what a test opens before them; ns0 keeps its calls in `held` until the test says otherwise. */
export class AdmissionStage implements AsyncDisposable {
  readonly ns0: ScriptedNameNode;
  readonly ns1: ScriptedNameNode;
  /** Calls at ns0 that have no answer yet. */
  readonly held: NameNodeCall[] = [];
  readonly #opened: (Disposable | AsyncDisposable)[] = [];

  private constructor(ns0: ScriptedNameNode, ns1: ScriptedNameNode) {
    this.ns0 = ns0;
    this.ns1 = ns1;
    ns0.handler = (call) => this.held.push(call);
  }

  static async start(): Promise<AdmissionStage> {
    return new AdmissionStage(await ScriptedNameNode.start('ns0'), await ScriptedNameNode.start('ns1'));
  }

  async router(
    admission: AdmissionSettings,
    { settings, ...options }: Partial<InlineRouterOptions> = {},
  ): Promise<InlineRouter> {
    const router = await InlineRouter.start({
      nameservices: { ns0: this.ns0.port, ns1: this.ns1.port },
      mounts: ['/zero=ns0:/', '/one=ns1:/'],
      ...options,
      settings: { admission, ...settings },
    });
    this.#opened.push(router);
    return router;
  }

  async connect(router: InlineRouter, user = 'alice', realUser?: string): Promise<RawClient> {
    const client = await RawClient.connect(router, realUser === undefined ? { user } : { user, realUser });
    this.#opened.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await disposeOpened(this.#opened);
    await this.ns0[Symbol.asyncDispose]();
    await this.ns1[Symbol.asyncDispose]();
  }
}
