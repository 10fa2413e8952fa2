/** Entry of a worker thread: a piscina task that ends when the main thread says stop. */
import { RingAcceptorLink } from '../handoff/ring-link.ts';
import type { FromThread, ThreadStart, ToThread } from './messages.ts';
import { startEngine, tellEngine } from './worker-side.ts';

export default function runWorker(start: ThreadStart): Promise<void> {
  const engine = startEngine(start);
  const links = new Map<number, RingAcceptorLink>();
  const stopped = Promise.withResolvers<void>();
  start.port.on('message', (message: ToThread) => {
    if (tellEngine(engine, start, message)) return;
    if (message.kind === 'link') {
      const link = new RingAcceptorLink(message.peer, message.plumbing, engine);
      links.set(message.peer, link);
      engine.addLink(link);
    } else if (message.kind === 'peer-down') {
      const link = links.get(message.peer);
      if (link === undefined) return;
      links.delete(message.peer);
      link.close();
      engine.removeLink(link);
    } else if (message.kind === 'stop') {
      engine.close();
      for (const link of links.values()) link.close();
      start.port.close();
      stopped.resolve();
    }
  });
  start.port.postMessage({ kind: 'ready' } satisfies FromThread);
  return stopped.promise;
}
