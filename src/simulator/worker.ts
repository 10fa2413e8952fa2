/** Entry of the simulator's thread: a cluster, and control requests over the thread's port. */
import { parentPort, workerData } from 'node:worker_threads';
import { Cluster } from './cluster.ts';
import type { ControlRequest } from './control-requests.ts';
import type { CompleteOptions } from './options.ts';

/** Main thread → simulator. */
export interface ToSimulator {
  readonly sequence: number;
  /** Null: close all ports and end. */
  readonly request: ControlRequest | null;
}

/** Simulator → main thread; `sequence` 0 says whether the start succeeded. */
export interface FromSimulator {
  readonly sequence: number;
  readonly result?: unknown;
  /** Message of the error, when there was one. */
  readonly error?: string;
}

const port = parentPort;
if (port === null) {
  throw new Error('worker.ts is a thread: call startSimulator');
}

const cluster = new Cluster(workerData as CompleteOptions);

async function answer(sequence: number, work: () => Promise<unknown>): Promise<void> {
  let message: FromSimulator;
  try {
    message = { sequence, result: await work() };
  } catch (error) {
    message = { sequence, error: error instanceof Error ? error.message : String(error) };
  }
  port?.postMessage(message);
}

port.on('message', ({ sequence, request }: ToSimulator) => {
  if (request !== null) {
    void answer(sequence, () => cluster.control(request));
    return;
  }
  void answer(sequence, () => cluster.close()).then(() => port.close());
});

await answer(0, () => cluster.start());
