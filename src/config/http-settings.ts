import { isAbsolute } from 'node:path';
import type { Configuration } from './configuration.ts';

const ROUTER = 'dfs.federation.router';
const IDLE = 'hadoop.http.idle_timeout.ms';
const DEFAULT_HTTP_PORT = 50071;

/** Names the file of tokens. */
export const TOKEN_FILE_KEY = 'switchyard.http.token.file';

/** What the HTTP server goes by. */
export interface HttpSettings {
  /** There is one. */
  readonly enabled: boolean;
  /** Interface that it is bound to. */
  readonly bindHost: string;
  readonly port: number;
  /** A connection without requests is closed after it. */
  readonly idleMs: number;
  /** As whom requests without a token read. */
  readonly staticUser: string;
  /** Users and their tokens; null: nothing can be changed over HTTP. */
  readonly tokenFile: string | null;
}

/** A ConfigError names the first value that cannot be used. */
export function readHttpSettings(configuration: Configuration): HttpSettings {
  const address = configuration.readAddress(`${ROUTER}.http-address`, DEFAULT_HTTP_PORT);
  const idleMs = configuration.readInteger(IDLE);
  if (idleMs < 1) throw configuration.error(IDLE, 'too small', 'allowed: 1 or more');
  const tokenFile = configuration.readTrimmed(TOKEN_FILE_KEY);
  if (tokenFile !== '' && !isAbsolute(tokenFile)) {
    throw configuration.error(TOKEN_FILE_KEY, 'not a whole path', `write it from the root, e.g. /etc/${tokenFile}`);
  }
  return {
    enabled: configuration.readBoolean(`${ROUTER}.http.enable`),
    bindHost: configuration.readString(`${ROUTER}.http-bind-host`) || address.host,
    port: address.port,
    idleMs,
    staticUser: configuration.readString('hadoop.http.staticuser.user'),
    tokenFile: tokenFile === '' ? null : tokenFile,
  };
}
