import { lookup } from 'node:dns/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** A name service that takes longer counts as one that does not know the name: nothing waits long for it at the start. */
const RESOLVE_WITHIN_MS = 2_000;

/** Numeric addresses of a host name; none when it has none or cannot be looked up. */
export type LookUpHost = (host: string) => Promise<readonly string[]>;

/** Asks the operating system. */
export const lookUpHost: LookUpHost = async (host) => {
  const stop = new AbortController();
  const found = lookup(host, { all: true }).catch(() => []);
  const addresses = await Promise.race([found, sleep(RESOLVE_WITHIN_MS, [], { signal: stop.signal }).catch(() => [])]);
  stop.abort();
  return addresses.map(({ address }) => address);
};
