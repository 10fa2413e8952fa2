import type { CounterName } from '../../shared/counters.ts';
import type { ClientsView } from './parts.ts';

export function viewClients(counters: Readonly<Record<CounterName, number>>): ClientsView {
  return {
    open: counters.clientsOpen,
    paused: counters.clientsPaused,
    callsOutstanding: counters.callsOutstanding,
    unreadKib: counters.unreadKib,
    refused: {
      connections: counters.clientsRefused,
      ofAddress: counters.addressesRefused,
      ofUser: counters.usersRefused,
      handshakes: counters.handshakesRefused,
    },
    closed: {
      slowHandshake: counters.slowHandshakesClosed,
      slowSender: counters.slowSendersClosed,
      longFrame: counters.longFramesClosed,
      slowReader: counters.slowReadersClosed,
      unreadReplies: counters.unreadRepliesClosed,
      idle: counters.idleClientsClosed,
      backOff: counters.clientsDisconnected,
    },
    memoryRefusals: counters.memoryRefusals,
    pausesInFlight: counters.pausesInFlight,
  };
}
