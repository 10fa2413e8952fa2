/**
 * Loaded before a router (`--import`), in each of its threads: names below `.failover.test` resolve as the file FAILOVER_HOSTS says at that
 * moment, a JSON object of addresses. Other names go to the system.
 */
import dns from 'node:dns';
import { readFileSync } from 'node:fs';

const system = dns.lookup;

function lookup(host: string, options: unknown, found: (...answer: unknown[]) => void): void {
  if (!host.endsWith('.failover.test')) {
    (system as (...all: unknown[]) => void)(host, options, found);
    return;
  }
  const address = (JSON.parse(readFileSync(process.env['FAILOVER_HOSTS'] as string, 'utf8')) as Record<string, string>)[
    host
  ];
  const callback = (typeof options === 'function' ? options : found) as (...answer: unknown[]) => void;
  const isAll = (options as { all?: boolean } | null)?.all === true;
  setImmediate(() => {
    if (address === undefined)
      callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' }));
    else if (isAll) callback(null, [{ address, family: 4 }]);
    else callback(null, address, 4);
  });
}

Object.assign(dns, { lookup });
