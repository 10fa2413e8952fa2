/** What failed calls of the preparation and the removal mean for people. */
import { RemoteError, RpcError } from '../../control/rpc-client.ts';
import { plainText } from '../result/format.ts';
import { LoadError } from '../run/load-error.ts';
import type { Server } from './own-directory.ts';

/** Of what a server says. */
const MAX_SAID_CHARACTERS = 500;

/** What a failed call means for the user, with what to do about it. */
export function explain(error: unknown, { host, port }: Server): string {
  const where = `${host}:${port}`;
  if (error instanceof LoadError) return error.message;
  if (error instanceof RpcError) {
    return error.code === 'CONNECT' || error.code === 'MALFORMED'
      ? `${error.message}; name the RPC port of a router or NameNode with --fs`
      : error.message;
  }
  if (!(error instanceof RemoteError)) return error instanceof Error ? error.message : String(error);
  const remedy = REMEDIES.find(({ sign }) => sign.test(error.className) || sign.test(firstLine(error.text)));
  const said = plainText(error.message, MAX_SAID_CHARACTERS);
  return `${where} answered ${said}${remedy === undefined ? '' : `; ${remedy.text}`}`;
}

/** By Java class or first line of the text, the first that fits. */
const REMEDIES: readonly { readonly sign: RegExp; readonly text: string }[] = [
  {
    sign: /SafeModeException|safe mode/i,
    text: 'wait until the NameNode has left safe mode (hdfs dfsadmin -safemode get)',
  },
  {
    sign: /StandbyException|ObserverRetryOnActiveException/,
    text: 'name the active NameNode, or a router, with --fs',
  },
  { sign: /AccessControlException/, text: 'name a user who may write there with --user, or another directory' },
  {
    sign: /RouterResolveException|Cannot find locations/,
    text: 'no mount point of this router holds it: name a directory below one with --mounts',
  },
  { sign: /QuotaExceeded|MaxDirectoryItems/, text: 'ask for fewer --files, or name another directory' },
  {
    sign: /UnsupportedOperationException|mount point/,
    text: 'name a directory below a mount point with one destination',
  },
];

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
