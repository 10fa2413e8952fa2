import { Acceptor, type AcceptorHost } from '../client/acceptor.ts';
import { RingWorkerLink } from '../handoff/ring-link.ts';
import { ClientCounts } from '../shared/client-counts.ts';
import { ControlBlock } from '../shared/control-block.ts';
import { Counters } from '../shared/counters.ts';
import type { FromThread, ThreadStart, ToThread } from './messages.ts';

/** An acceptor with its line to the main thread; used by the acceptor thread and by the inline one. */
export function startAcceptor(start: ThreadStart): Acceptor {
  const tell = (message: FromThread): void => start.port.postMessage(message);
  const host: AcceptorHost = {
    authorize: (connection, generation, identity) => tell({ kind: 'authorize', connection, generation, identity }),
    note: (text) => tell({ kind: 'note', text }),
    drained: () => tell({ kind: 'drained' }),
  };
  const block = new ControlBlock(start.control, start.topology.nameservices.length);
  const clients = start.clients === null ? null : new ClientCounts(start.clients, start.index);
  return new Acceptor(start.settings, block, new Counters(start.counters, start.thread), host, clients);
}

const links = new WeakMap<Acceptor, Map<number, RingWorkerLink>>();

/** What a dead worker had answered before it died is in the ring: passed on before the rest of its calls are given up. */
function drainWhole(acceptor: Acceptor, link: RingWorkerLink | undefined): void {
  if (link === undefined) return;
  for (let before = -1; before !== acceptor.outstanding.count; ) {
    before = acceptor.outstanding.count;
    link.drain();
  }
}

/** What the main thread says to an acceptor; false for a message that is not for one. */
export function tellAcceptor(acceptor: Acceptor, start: ThreadStart, message: ToThread): boolean {
  switch (message.kind) {
    case 'link': {
      const link = new RingWorkerLink(message.peer, message.plumbing, acceptor);
      let known = links.get(acceptor);
      if (known === undefined) {
        known = new Map();
        links.set(acceptor, known);
      }
      known.set(message.peer, link);
      acceptor.addWorker(message.peer, link);
      return true;
    }
    case 'peer-down':
      drainWhole(acceptor, links.get(acceptor)?.get(message.peer));
      acceptor.onWorkerDown(message.peer);
      return true;
    case 'listen':
      acceptor.listen(
        message.port,
        (port) => start.port.postMessage({ kind: 'listening', port } satisfies FromThread),
        (error) => start.port.postMessage({ kind: 'listen-failed', message: error.message } satisfies FromThread),
      );
      return true;
    case 'authorized':
      acceptor.onAuthorized(message.connection, message.generation, message.refusal);
      return true;
    case 'drain':
      acceptor.drain();
      return true;
    default:
      return false;
  }
}
