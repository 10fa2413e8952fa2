import type { IncomingHttpHeaders } from 'node:http';
import type { AdminCaller } from '../admin/access.ts';
import { TOKEN_FILE_KEY } from '../config/http-settings.ts';
import type { Log } from '../control/log.ts';
import { JAVA } from '../control/rpc-server/remote-exception.ts';
import { HttpRefusal } from './refusal.ts';
import { type TokenFile, TokenFileError } from './tokens.ts';

const BEARER = /^Bearer +(\S+)$/i;
const HOW_TO = 'send the header Authorization: Bearer TOKEN, with a token from the file of the router';

export interface LoginOptions {
  /** Rejects with RemoteException when the groups of the user cannot be told. */
  callerOf(user: string): Promise<AdminCaller>;
  /** Null: there are no tokens, and nobody may change anything. */
  readonly tokens: TokenFile | null;
  /** Who reads without a token. */
  readonly staticUser: string;
  readonly log: Log;
}

/** Tells who asks: anyone may read, changes take a token. What a caller may do is for the rules of administration to say (src/admin). */
export class Login {
  readonly #options: LoginOptions;
  /** Why the file of tokens cannot be used, as it was last told to the log. */
  #trouble = '';

  constructor(options: LoginOptions) {
    this.#options = options;
  }

  /** Rejects with HttpRefusal, or RemoteException. */
  async callerOf(headers: IncomingHttpHeaders, isChange: boolean): Promise<AdminCaller> {
    const { tokens, staticUser, callerOf } = this.#options;
    if (isChange) refuseOtherSites(headers);
    const { authorization } = headers;
    if (authorization === undefined && !isChange) return await callerOf(staticUser);
    if (tokens === null) {
      throw new HttpRefusal(
        403,
        JAVA.ACCESS_CONTROL,
        'this router has no file of tokens: over HTTP nothing can be changed',
        `set ${TOKEN_FILE_KEY} and start it again, or use switchyard admin; reading takes no token`,
      );
    }
    if (authorization === undefined) throw unknown('a change takes a token');
    const [, token] = BEARER.exec(authorization) ?? [];
    if (token === undefined) throw unknown('the header Authorization is not Bearer and a token');
    const user = await this.#userOf(tokens, token);
    if (user === null) throw unknown('no such token');
    return await callerOf(user);
  }

  async #userOf(tokens: TokenFile, token: string): Promise<string | null> {
    try {
      const user = await tokens.userOf(token);
      this.#trouble = '';
      return user;
    } catch (error) {
      if (!(error instanceof TokenFileError)) throw error;
      const { message, remedy } = error;
      if (message !== this.#trouble) {
        this.#options.log.error({ file: tokens.path, reason: message, remedy }, 'HTTP: no token counts');
      }
      this.#trouble = message;
      const why = 'the router cannot use its file of tokens';
      throw new HttpRefusal(503, JAVA.RETRIABLE, why, 'the log of the router says why; put it right and try again');
    }
  }
}

/** Browsers say where a request comes from: pages of others have no business here, whatever they send along. */
function refuseOtherSites(headers: IncomingHttpHeaders): void {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return;
  throw new HttpRefusal(
    403,
    JAVA.ACCESS_CONTROL,
    'a page of another site asks for a change',
    'ask from the page of the router, or with a program of yours',
  );
}

function unknown(message: string): HttpRefusal {
  return new HttpRefusal(401, JAVA.AUTHENTICATION, message, HOW_TO);
}
