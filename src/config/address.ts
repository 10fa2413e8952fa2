import { ValueError } from './config-error.ts';

/** A host name or numeric address (IPv6 without brackets) and a port, 0 for any free one. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

const ALLOWED = 'host:port, e.g. router1.example.com:8888 or [::1]:8888';

/*
 *   address   = [ scheme "://" ] authority [ "/" … ]      the path only after a scheme
 *   authority = host [ ":" [ port ] ]                     without a port: defaultPort
 *   host      = name of letters, digits, "-", "."  |  "[" IPv6 "]"
 */
export function parseAddress(text: string, defaultPort: number): HostPort {
  const trimmed = text.trim();
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//.exec(trimmed);
  const authority = scheme === null ? trimmed : (trimmed.slice(scheme[0].length).split('/')[0] ?? '');
  const match = /^(?:\[([0-9A-Fa-f:.]+(?:%\w+)?)\]|([A-Za-z0-9](?:[A-Za-z0-9.-]*)))(?::(\d*))?$/.exec(authority);
  if (match === null) throw new ValueError('not an address', ALLOWED);
  const [, ipv6, name, digits] = match;
  const port = digits === undefined || digits === '' ? defaultPort : Number(digits);
  if (port < 0) throw new ValueError('has no port', ALLOWED);
  if (port > 65535) throw new ValueError(`port ${port} is out of range`, 'a port from 0 to 65535');
  return { host: ipv6 ?? name ?? '', port };
}

/** host:port as it is written in configurations and logs. */
export function formatAddress(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
