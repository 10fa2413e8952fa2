import { createServer } from 'node:net';

/**
 * Rejects when anybody holds this port: it is bound alone and given back. Acceptors that share a port (SO_REUSEPORT) would be let in beside those
 * of another router of the same user, and the kernel would spread the clients over both.
 */
export async function requireFreePort(host: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const probe = createServer();
  probe.on('error', reject);
  probe.listen({ host, port }, () => probe.close(() => resolve()));
  await promise;
}
