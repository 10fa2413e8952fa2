import type { HdfsClient } from '../../control/hdfs-client.ts';
import type { LoadPlan, Target } from '../plan/plan.ts';
import { connect, fileOptions, markerPath, ownerOf, type Server } from './own-directory.ts';

const RENEW_EACH_MS = 60_000;
const TIMEOUT_MS = 20_000;

/**
 * Renews the markers of a run while it goes on, so that `load clean` leaves its directories alone. A marker is written over by an empty file:
 * its time is then that of the server, whose clock `load clean` goes by as well. A marker that is gone is not made again. A renewal that fails
 * is left to the next one.
 */
export class MarkerRenewal implements Disposable {
  readonly #server: Server;
  readonly #targets: readonly Target[];
  readonly #user: string;
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;
  #client: HdfsClient | null = null;
  #isOver = false;

  constructor(plan: LoadPlan, user: string = ownerOf(plan), everyMs: number = RENEW_EACH_MS) {
    this.#server = plan;
    this.#targets = plan.targets;
    this.#user = user;
    this.#everyMs = everyMs;
    this.#plan();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#client?.close();
  }

  #plan(): void {
    if (this.#isOver) return;
    this.#timer = setTimeout(() => {
      this.#renewAll()
        .catch(() => undefined)
        .finally(() => this.#plan());
    }, this.#everyMs);
    this.#timer.unref();
  }

  /** A connection of its own each time: servers close those on which nothing happens. */
  async #renewAll(): Promise<void> {
    using client = await connect(this.#server, this.#user, TIMEOUT_MS);
    this.#client = client;
    for (const { own } of this.#targets) {
      if (this.#isOver) return;
      // One mount whose NameNode is away keeps none of the others back.
      await renew(client, own).catch(() => undefined);
    }
    this.#client = null;
  }
}

async function renew(client: HdfsClient, own: string): Promise<void> {
  const marker = markerPath(own);
  if ((await client.getFileInfo(marker)) === undefined) return;
  await client.createEmptyFile(marker, { ...fileOptions(), overwrite: true });
}
