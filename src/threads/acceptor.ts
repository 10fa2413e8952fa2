/** Entry of an acceptor thread: a piscina task that ends when the main thread says stop. */

import { startAcceptor, tellAcceptor } from './acceptor-side.ts';
import type { FromThread, ThreadStart, ToThread } from './messages.ts';

export default function runAcceptor(start: ThreadStart): Promise<void> {
  const acceptor = startAcceptor(start);
  const stopped = Promise.withResolvers<void>();
  start.port.on('message', (message: ToThread) => {
    if (tellAcceptor(acceptor, start, message) || message.kind !== 'stop') return;
    start.port.postMessage({ kind: 'stopped', cut: acceptor.outstanding.count } satisfies FromThread);
    acceptor.close();
    start.port.close();
    stopped.resolve();
  });
  start.port.postMessage({ kind: 'ready' } satisfies FromThread);
  return stopped.promise;
}
