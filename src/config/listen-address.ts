import { createServer } from 'node:net';
import type { Configuration } from './configuration.ts';

const ADDRESS = 'dfs.federation.router.rpc-address';
const BIND_HOST = 'dfs.federation.router.rpc-bind-host';

/** Port of a router address written without one. */
export const DEFAULT_ROUTER_PORT = 8888;

/** The host that the client port is bound to, and the key that names it. */
export function readListenHost(configuration: Configuration): { host: string; key: string } {
  const bindHost = configuration.readString(BIND_HOST);
  if (bindHost !== '') return { host: bindHost, key: BIND_HOST };
  return { host: configuration.readAddress(ADDRESS, DEFAULT_ROUTER_PORT).host, key: ADDRESS };
}

/** Rejects with a ConfigError when no port of the configured host can be had here: the name is unknown, or it is another machine's. */
export async function requireLocalHost(configuration: Configuration): Promise<void> {
  const { host, key } = readListenHost(configuration);
  const code = await tryHost(host);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    throw configuration.error(
      key,
      `the host name ${host} is not known here (${code})`,
      'correct it, or use 0.0.0.0 for all addresses of this machine',
    );
  }
  if (code === 'EADDRNOTAVAIL') {
    throw configuration.error(
      key,
      `${host} is no address of this machine (${code})`,
      'name one that is, or 0.0.0.0 for all of them',
    );
  }
}

/** Binds any free port of the host and gives it back; resolves with the code of the error, null when there was none. */
async function tryHost(host: string): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const probe = createServer();
  probe.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? null));
  probe.listen({ host, port: 0 }, () => probe.close(() => resolve(null)));
  return await promise;
}
