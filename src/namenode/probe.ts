import net from 'node:net';
import { encodeCall } from '../wire/encode-call.ts';
import { encodeHandshake } from '../wire/handshake.ts';

export interface ProbeTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly clientId: Buffer;
  readonly timeoutMs: number;
}

const PROTOCOL = 'org.apache.hadoop.hdfs.protocol.ClientProtocol';

/**
 * Asks a NameNode for a sign of life on a fresh connection: the cheapest call that takes no lock of its namespace (getHAServiceState).
 * Any byte in answer, an error included, means that it lives.
 */
export function probeNameNode(target: ProbeTarget, answered: (alive: boolean) => void): void {
  let done = false;
  const socket = net.connect({ host: target.host, port: target.port, noDelay: true });
  const timer = setTimeout(() => end(false), target.timeoutMs);
  function end(alive: boolean): void {
    if (done) return;
    done = true;
    clearTimeout(timer);
    socket.destroy();
    answered(alive);
  }
  socket.on('connect', () => {
    socket.write(encodeHandshake({ user: target.user, realUser: '', protocol: PROTOCOL, clientId: target.clientId }));
    socket.write(
      encodeCall({
        protocol: PROTOCOL,
        version: 1,
        method: 'getHAServiceState',
        callId: 0,
        clientId: target.clientId,
        body: Buffer.alloc(0),
      }),
    );
  });
  socket.on('data', () => end(true));
  socket.on('error', () => end(false));
  socket.on('close', () => end(false));
}
