import type { MessagePort } from 'node:worker_threads';
import type { FromScheduler, ToScheduler } from '../admission/scheduler/exchanged.ts';
import type { AdmissionMemory } from '../admission/shared/memory.ts';
import type { ClientIdentity } from '../handoff/link.ts';
import type { RingPlumbing } from '../handoff/ring-end.ts';
import type { UsageData } from '../mount/given-usage.ts';
import type { FigureData } from '../mount/order/figures.ts';
import type { ObserverMemory } from '../observer/shared/memory.ts';
import type { EpochWords, SharedBytes } from '../shared/epochs.ts';
import type { AdmissionSettings, Settings, Topology } from '../shared/settings.ts';

/** What a thread is started with (the piscina task); everything else reaches it by `port`. */
export interface ThreadStart {
  /** Acceptor or worker index among its kind. */
  readonly index: number;
  /** Number among all threads: counters and epochs. */
  readonly thread: number;
  readonly settings: Settings;
  readonly topology: Topology;
  readonly control: SharedBytes;
  readonly counters: SharedBytes;
  readonly epochs: EpochWords;
  /** Connections by address and user, of all acceptors. Null when neither has a limit. */
  readonly clients: SharedBytes | null;
  /** Null when no nameservice takes part in reads from observers. */
  readonly observers: ObserverMemory | null;
  readonly admission: AdmissionMemory;
  readonly port: MessagePort;
}

/** Main thread to thread. */
export type ToThread =
  /** A ring to this peer; takes the place of an earlier one to the same. */
  | { readonly kind: 'link'; readonly peer: number; readonly plumbing: RingPlumbing }
  /** To an acceptor: the worker has died. To a worker: the acceptor has. */
  | { readonly kind: 'peer-down'; readonly peer: number }
  | { readonly kind: 'snapshot'; readonly buffer: SharedBytes }
  | { readonly kind: 'block-pools'; readonly pools: readonly (readonly [string, number])[] }
  /** What is used under mount points with limits; takes the place of all that was known. */
  | { readonly kind: 'quota-usage'; readonly usage: UsageData }
  /** What LOCAL and SPACE go by; takes the place of all that was known. */
  | { readonly kind: 'order-figures'; readonly data: FigureData }
  | ToScheduler
  /** Takes the place of the settings that the thread was started with. */
  | { readonly kind: 'admission'; readonly admission: AdmissionSettings }
  | { readonly kind: 'listen'; readonly port: number }
  | {
      readonly kind: 'authorized';
      readonly connection: number;
      readonly generation: number;
      readonly refusal: string | null;
    }
  | { readonly kind: 'drain' }
  | { readonly kind: 'stop' };

/** Thread to main thread. */
export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'listen-failed'; readonly message: string }
  | {
      readonly kind: 'authorize';
      readonly connection: number;
      readonly generation: number;
      readonly identity: ClientIdentity;
    }
  | { readonly kind: 'note'; readonly text: string }
  /** It is on the mount snapshot that it was given last, and says so in its epoch word. */
  | { readonly kind: 'announced' }
  | FromScheduler
  | { readonly kind: 'drained' }
  /** Answer to `stop`: calls that were outstanding. */
  | { readonly kind: 'stopped'; readonly cut: number };
