import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { formatAddress } from '../config/address.ts';
import type { HttpSettings } from '../config/http-settings.ts';
import type { Log } from '../control/log.ts';
import { ListenError } from '../control/router-types.ts';
import { JAVA } from '../control/rpc-server/remote-exception.ts';
import { beginRequest, endRequest, type HttpFigures, noHttpFigures } from './http-figures.ts';
import { bodyOf, HttpRefusal, refusalOf } from './refusal.ts';

/** Connections at one time; one more is closed at once. */
export const MAX_CONNECTIONS = 256;
/** Requests that run at one time, several of one connection included; one more is answered with 503. */
export const MAX_RUNNING_REQUESTS = 128;
/** Longest request line and headers: a path of 8,000 characters of three bytes, each byte written as `%XX`, and some more. */
export const MAX_HEADER_BYTES = 96 * 1024;
/** Longest body, where a route does not say otherwise. */
export const MAX_BODY_BYTES = 1024 * 1024;
/** Longest value in the path of a URL. */
const MAX_PARAMETER_CHARACTERS = 256;
/** For the headers, and for all of a request, to come in. */
const HEADERS_WITHIN_MS = 10_000;
const REQUEST_WITHIN_MS = 30_000;
/** How often that is looked at. */
const LOOK_EVERY_MS = 1_000;
/** Longest time from a request to its answer. */
const ANSWER_WITHIN_MS = 60_000;
/** How long `stop` waits for requests that run. */
const STOP_WITHIN_MS = 2_000;

/** What answers have that say nothing else: they are not stored, not guessed at, and not shown inside pages of others. */
const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
} as const;

/** How requests are checked: values are what they are, so text is no number, and a field that nobody knows is a slip. */
export const CHECKS = { coerceTypes: false, removeAdditional: false, allowUnionTypes: true } as const;

/** A part of what is served: adds its routes, and hooks that are its own. */
export type HttpPart = (app: FastifyInstance) => void;

export interface HttpServerOptions {
  readonly settings: HttpSettings;
  readonly parts: readonly HttpPart[];
  readonly log: Log;
  /** For a request to come in, its headers first, and to be answered; ms. */
  readonly requestWithinMs?: number;
  readonly answerWithinMs?: number;
  /** Where it counts; left out: `HttpServer.figures` are its own. */
  readonly figures?: HttpFigures;
}

/** The router's HTTP server: limits, time limits and refusals, the same for all its parts. */
export class HttpServer implements AsyncDisposable {
  readonly #options: HttpServerOptions;
  readonly #app: FastifyInstance;
  readonly figures: HttpFigures;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.figures = options.figures ?? noHttpFigures();
    this.#app = fastify({
      serverFactory: (listener) => makeServer(listener, options),
      clientErrorHandler: answerBadRequest,
      handlerTimeout: options.answerWithinMs ?? ANSWER_WITHIN_MS,
      bodyLimit: MAX_BODY_BYTES,
      routerOptions: { maxParamLength: MAX_PARAMETER_CHARACTERS },
      ajv: { customOptions: CHECKS },
    });
    this.#addRules();
    for (const part of options.parts) {
      this.#app.register((scope, _, done) => {
        part(scope);
        done();
      });
    }
  }

  /** Port that it listens on; 0 before. */
  get port(): number {
    const address = this.#app.server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** host:port with the real port; only while it listens. */
  get address(): string {
    return formatAddress(this.#options.settings.bindHost, this.port);
  }

  get runningRequests(): number {
    return this.figures.running;
  }

  /** Rejects with ListenError when the port cannot be had. */
  async start(): Promise<void> {
    const { bindHost, port } = this.#options.settings;
    await this.#app.ready();
    try {
      await this.#app.listen({ host: bindHost, port });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new ListenError(
        `cannot listen on ${formatAddress(bindHost, port)} (dfs.federation.router.http-address): ${why}; choose another port, stop what holds it, or set dfs.federation.router.http.enable to false`,
      );
    }
    // What fails later (no descriptors left, for one) costs that client its connection.
    this.#app.server.on('error', (error) => this.#options.log.error({ err: error }, 'HTTP: accept failed'));
  }

  /** Accepts nothing more; requests that run get a moment to be answered. */
  async stop(): Promise<void> {
    const { server } = this.#app;
    const timer = setTimeout(() => server.closeAllConnections(), STOP_WITHIN_MS);
    await this.#app.close();
    clearTimeout(timer);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #addRules(): void {
    const app = this.#app;
    app.removeContentTypeParser('text/plain');
    app.addHook('onRequest', async (_, reply) => {
      reply.headers(HEADERS);
      const { raw } = reply;
      const sinceMs = performance.now();
      beginRequest(this.figures);
      raw.once('close', () => {
        const status = raw.writableFinished ? raw.statusCode : 0;
        const bytes = Number(raw.getHeader('content-length') ?? 0);
        endRequest(this.figures, performance.now() - sinceMs, status, bytes);
      });
      if (this.figures.running > MAX_RUNNING_REQUESTS) {
        const why = `Server too busy: ${MAX_RUNNING_REQUESTS} requests run already`;
        throw new HttpRefusal(503, JAVA.RETRIABLE, why, 'try again later, with fewer requests at a time');
      }
    });
    app.setNotFoundHandler(({ method, url }) => {
      const path = url.split('?', 1)[0];
      const remedy = 'GET /api/v1/openapi.json lists what there is of the API';
      throw new HttpRefusal(404, JAVA.FILE_NOT_FOUND, `there is nothing at ${method} ${path}`, remedy);
    });
    app.setErrorHandler((error, { method, routeOptions }, reply) => {
      const refusal = refusalOf(error) ?? this.#unforeseen(error, `${method} ${routeOptions.url ?? ''}`);
      if (refusal.status === 401) reply.header('www-authenticate', 'Bearer realm="switchyard"');
      return reply.code(refusal.status).send(bodyOf(refusal));
    });
  }

  #unforeseen(error: unknown, request: string): HttpRefusal {
    this.#options.log.error({ request, err: error }, 'HTTP: a request failed');
    const message = error instanceof Error ? error.message : String(error);
    return new HttpRefusal(500, JAVA.IO, message, 'the log of the router says more; please report it');
  }
}

function makeServer(listener: RequestListener, { settings, requestWithinMs }: HttpServerOptions): Server {
  const { idleMs } = settings;
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: requestWithinMs ?? HEADERS_WITHIN_MS,
      requestTimeout: requestWithinMs ?? REQUEST_WITHIN_MS,
      connectionsCheckingInterval: LOOK_EVERY_MS,
      keepAliveTimeout: idleMs,
    },
    listener,
  );
  // A client that takes no answer is no better than one that sends nothing.
  server.setTimeout(ANSWER_WITHIN_MS + idleMs);
  server.maxConnections = MAX_CONNECTIONS;
  return server;
}

/** What is no HTTP, too long or too slow: there is no request yet that could be answered. */
function answerBadRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  let refusal = new HttpRefusal(400, JAVA.ILLEGAL_ARGUMENT, 'this is no HTTP request', 'send HTTP/1.1');
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    refusal = new HttpRefusal(408, JAVA.IO, 'the request did not come in time', 'send all of it at once');
  } else if (error.code === 'HPE_HEADER_OVERFLOW') {
    const what = `request line and headers are longer than ${MAX_HEADER_BYTES} bytes`;
    refusal = new HttpRefusal(431, JAVA.ILLEGAL_ARGUMENT, what, 'send shorter ones');
  }
  const body = JSON.stringify(bodyOf(refusal));
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
