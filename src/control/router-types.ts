import type { Configuration } from '../config/configuration.ts';
import type { MountEntry } from '../mount/entry.ts';
import type { Settings, Topology } from '../shared/settings.ts';
import type { Log } from './log.ts';

export interface RouterOptions {
  readonly settings: Settings;
  readonly topology: Topology;
  readonly entries: readonly MountEntry[];
  readonly configuration: Configuration;
  readonly log: Log;
}

/** A router that serves clients. */
export interface RunningRouter {
  /** host:port of the client port, with the real port. */
  readonly rpc: string;
  /**
   * Stops accepting, answers new calls with StandbyException, lets calls in flight finish for `Settings.drainMs`, and closes. Resolves
   * with the number of calls that did not finish; asked again, with the same answer.
   */
  drain(): Promise<{ cut: number }>;
  /** Resolves with an exit code when the router has ended, drained or not. */
  readonly closed: Promise<number>;
}

/** The client port cannot be had; the message says why and what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}
