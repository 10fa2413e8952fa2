import type { FromLoader, ThreadStart, ToLoader } from '../plan/plan.ts';
import { LoadError } from '../run/load-error.ts';
import { LoadThread } from './load-thread.ts';

/**
 * Task of a loader thread: connects, says `connected`, begins when it is told to, reports each second and at the end. Resolves when the final
 * report or `failed` is posted, or the main thread has closed the line.
 */
export default async function run(start: ThreadStart): Promise<void> {
  const { port } = start;
  const post = (message: FromLoader): void => port.postMessage(message);
  try {
    const load = new LoadThread(start, post);
    port.on('message', (message: ToLoader) => {
      switch (message.kind) {
        case 'begin':
          load.begin(message.startAtEpochMs);
          return;
        case 'stop':
          load.stop();
          return;
        case 'over':
          load.takeOver(message.calls);
          return;
        case 'ended':
          load.onThreadEnded(message.thread);
      }
    });
    port.on('close', () => load.abandon());
    load.connect();
    await load.done;
  } catch (error) {
    if (!(error instanceof LoadError)) throw error;
    post({ kind: 'failed', message: error.message });
  } finally {
    port.close();
  }
}
