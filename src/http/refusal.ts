/** Answers to requests that are not done: a status, and in the body a Java class, what is wrong and what to do about it. */
import { JAVA, type JavaClass, RemoteException } from '../control/rpc-server/remote-exception.ts';

/** Thrown to be answered with. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  readonly status: number;
  readonly javaClass: JavaClass;
  readonly remedy: string;

  constructor(status: number, javaClass: JavaClass, message: string, remedy: string) {
    super(message);
    this.status = status;
    this.javaClass = javaClass;
    this.remedy = remedy;
  }
}

/** Body of a refusal: that of WebHDFS, and the remedy. */
export interface RefusalBody {
  readonly RemoteException: {
    /** Simple name of the class. */
    readonly exception: string;
    readonly javaClassName: string;
    readonly message: string;
    readonly remedy: string;
  };
}

type Verdict = readonly [status: number, remedy: string];

const CORRECT = 'correct the request; GET /api/v1/openapi.json says what each one takes';
const LATER = 'try again later; the log of the router says more';

/** Status and remedy by class; of classes that are not here: `UNLISTED`. */
const BY_CLASS: Readonly<Partial<Record<JavaClass, Verdict>>> = {
  [JAVA.ACCESS_CONTROL]: [403, 'use the token of a superuser, or of a user whom the mount entry allows it'],
  [JAVA.ILLEGAL_ARGUMENT]: [400, CORRECT],
  [JAVA.NAME_TOO_LONG]: [
    400,
    'take shorter names, or raise dfs.federation.router.fs-limits.max-component-length of the router',
  ],
  [JAVA.NO_LOCATION]: [404, 'enable the nameservice, or add a mount entry that leads to another one'],
  [JAVA.RESOLVE]: [404, 'add a mount entry at or above the path, or configure a default nameservice'],
  [JAVA.RETRIABLE]: [503, LATER],
  [JAVA.STATE_STORE_UNAVAILABLE]: [503, 'look at the State Store and at the log of the router, and try again later'],
};
const UNLISTED: Verdict = [500, LATER];

/** What fastify refuses by itself, by its codes. */
const BY_CODE: Readonly<Record<string, string>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'send less at a time',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'send JSON, with the header Content-Type: application/json',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'send a JSON object, or leave the header Content-Type out',
  FST_ERR_HANDLER_TIMEOUT: 'it may still be done: look before you repeat it',
};

/** The refusal that an error is answered with; null for one that nobody has foreseen. */
export function refusalOf(error: unknown): HttpRefusal | null {
  if (error instanceof HttpRefusal) return error;
  if (error instanceof RemoteException) {
    const [status, remedy] = BY_CLASS[error.javaClass] ?? UNLISTED;
    return new HttpRefusal(status, error.javaClass, error.message, remedy);
  }
  const { statusCode, code } = error as { statusCode?: unknown; code?: unknown };
  if (!(error instanceof Error) || typeof statusCode !== 'number' || typeof code !== 'string') return null;
  const remedy = BY_CODE[code];
  if (statusCode === 503) return new HttpRefusal(503, JAVA.RETRIABLE, error.message, remedy ?? LATER);
  if (statusCode < 400 || statusCode >= 500) return null;
  return new HttpRefusal(statusCode, JAVA.ILLEGAL_ARGUMENT, error.message, remedy ?? CORRECT);
}

export function bodyOf({ javaClass, message, remedy }: HttpRefusal): RefusalBody {
  const exception = javaClass.split(/[.$]/).at(-1) ?? javaClass;
  return { RemoteException: { exception, javaClassName: javaClass, message, remedy } };
}
