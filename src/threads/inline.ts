/** Entry of an inline thread: acceptor and worker in one, without a ring between them. A piscina task that ends when the main thread says stop. */
import { makeInlineLinks } from '../handoff/inline-link.ts';
import { startAcceptor, tellAcceptor } from './acceptor-side.ts';
import type { FromThread, ThreadStart, ToThread } from './messages.ts';
import { startEngine, tellEngine } from './worker-side.ts';

export default function runInline(start: ThreadStart): Promise<void> {
  const engine = startEngine(start);
  const acceptor = startAcceptor(start);
  const { workerLink, acceptorLink } = makeInlineLinks(0, 0, acceptor, engine);
  engine.addLink(acceptorLink);
  acceptor.addWorker(0, workerLink);
  const stopped = Promise.withResolvers<void>();
  start.port.on('message', (message: ToThread) => {
    if (tellEngine(engine, start, message) || tellAcceptor(acceptor, start, message) || message.kind !== 'stop') return;
    start.port.postMessage({ kind: 'stopped', cut: acceptor.outstanding.count } satisfies FromThread);
    acceptor.close();
    engine.close();
    start.port.close();
    stopped.resolve();
  });
  start.port.postMessage({ kind: 'ready' } satisfies FromThread);
  return stopped.promise;
}
