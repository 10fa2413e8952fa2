import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { SchedulerReport } from '../../src/admission/scheduler/decay-scheduler.ts';
import { readFigures } from '../../src/admission/shared/figures.ts';
import { type AdmissionWords, createAdmissionMemory, openAdmissionMemory } from '../../src/admission/shared/memory.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { type HttpSettings, readHttpSettings } from '../../src/config/http-settings.ts';
import { api } from '../../src/http/api/api.ts';
import type { ApiParts, NameserviceView } from '../../src/http/api/parts.ts';
import { viewClients } from '../../src/http/api/view-clients.ts';
import { viewQueues } from '../../src/http/api/view-queues.ts';
import { type HttpPart, HttpServer } from '../../src/http/http-server.ts';
import { Login } from '../../src/http/login.ts';
import { TokenFile } from '../../src/http/tokens.ts';
import { createCounters, readCounters } from '../../src/shared/counters.ts';
import type { Topology } from '../../src/shared/settings.ts';
import { AdminRig, type AdminRigOptions, KNOWN, ROUTER_USER } from './admin-rig.ts';
import { observedNs0 } from './observed.ts';

const KNOWN_TOPOLOGY: Topology = { nameservices: KNOWN.map((id) => ({ id, namenodes: [] })) };

/** Tokens of users, as the rig's file has them. */
export const TOKENS: Readonly<Record<string, string>> = {
  [ROUTER_USER]: 'superuser-0123456789',
  alice: 'alice-abcdefghijklmno',
  bob: 'bob-ABCDEFGHIJKLMNOPQ',
};

export const VERSION = '1.2.3';

export interface HttpRigOptions extends AdminRigOptions {
  /** Lines of the file of tokens; null: there is none. */
  readonly tokens?: string | null;
  readonly keys?: Readonly<Record<string, string>>;
  readonly more?: readonly HttpPart[];
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Null: it has no body. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever the API says
  readonly body: any;
}

/** The HTTP server of one router over a State Store in memory. */
export class HttpRig implements AsyncDisposable {
  /** What the API shows of the scheduler. */
  schedulerReport: SchedulerReport | null = null;
  readonly #admission = createAdmissionMemory(KNOWN_TOPOLOGY, 1, 1);
  /** What a worker writes of admission, as the API shows it. */
  readonly admission: AdmissionWords = openAdmissionMemory(this.#admission, KNOWN_TOPOLOGY, 0);
  readonly admin: AdminRig;
  readonly server: HttpServer;
  readonly parts: ApiParts;
  readonly login: Login;
  readonly settings: HttpSettings;
  readonly tokenFile: string;
  readonly lines: string[] = [];
  readonly #directory: string;

  private constructor(admin: AdminRig, options: HttpRigOptions) {
    this.admin = admin;
    this.#directory = mkdtempSync(join(tmpdir(), 'switchyard-http-'));
    this.tokenFile = join(this.#directory, 'tokens');
    const lines = Object.entries(TOKENS).map(([user, token]) => `${user} ${token}\n`);
    const { tokens = lines.join(''), keys = {} } = options;
    if (tokens !== null) writeFileSync(this.tokenFile, tokens, { mode: 0o600 });
    const set = {
      'dfs.federation.router.http-address': '127.0.0.1:0',
      ...(tokens === null ? {} : { 'switchyard.http.token.file': this.tokenFile }),
      ...keys,
    };
    const overrides = Object.entries(set).map(([key, value]) => ({ key, value, origin: 'test' }));
    this.settings = readHttpSettings(new Configuration({ directory: null, overrides }));
    const { mounts, router, access } = admin.administration;
    const log = pino({ level: 'debug' }, { write: (line: string) => void this.lines.push(line) });
    this.parts = {
      mounts,
      router,
      defaults: { routerUser: ROUTER_USER, superGroup: 'supergroup' },
      nameservices: () => KNOWN.map((id) => viewOf(id, router.disabledNameservices())),
      observers: () => observedNs0(),
      scheduler: () => this.schedulerReport,
      clients: () => viewClients(readCounters(createCounters(1))),
      rings: () => ({ calls: 0, replies: 0, capacity: 0 }),
      queues: () => viewQueues(KNOWN_TOPOLOGY, readFigures(this.#admission.figures, KNOWN.length)),
      routers: () =>
        (admin.routers?.all() ?? []).map(({ dateCreated: _, ...record }) => ({
          ...record,
          self: record.address === 'router:8888',
        })),
      now: Date.now,
    };
    const { tokenFile, staticUser } = this.settings;
    this.login = new Login({
      callerOf: (user) => access.callerOf(user),
      tokens: tokenFile === null ? null : new TokenFile(tokenFile),
      staticUser,
      log,
    });
    const part = api({ parts: this.parts, login: this.login, version: VERSION, log });
    this.server = new HttpServer({ settings: this.settings, parts: [part, ...(options.more ?? [])], log });
  }

  static async start(options: HttpRigOptions = {}): Promise<HttpRig> {
    const rig = new HttpRig(await AdminRig.start(options), options);
    await rig.server.start();
    return rig;
  }

  /** One request below /api/v1. `user`: whose token it carries, '' for none. */
  async ask(method: string, path: string, body?: unknown, user: string = ROUTER_USER): Promise<Answer> {
    const headers: Record<string, string> = {};
    if (user !== '') headers['authorization'] = `Bearer ${TOKENS[user] ?? user}`;
    if (body !== undefined) headers['content-type'] = 'application/json';
    return await this.send(`/api/v1${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  }

  async send(path: string, options: RequestInit = {}): Promise<Answer> {
    const response = await fetch(`http://127.0.0.1:${this.server.port}${path}`, options);
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
    await this.admin[Symbol.asyncDispose]();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

function viewOf(id: string, disabled: readonly string[]): NameserviceView {
  return {
    id,
    enabled: !disabled.includes(id),
    default: id === 'ns0',
    namenodes: [
      {
        id: 'nn0',
        rpcAddress: `${id}:8020`,
        webAddress: `http://${id}:9870`,
        state: 'ACTIVE',
        takesCalls: true,
        configured: true,
        safeMode: null,
        reportedAt: null,
        answeredAt: 1,
      },
    ],
  };
}

/** A mount entry as a request has it. */
export function mountBody(path: string, more: object = {}): object {
  return { path, destinations: [{ nameservice: 'ns0', path }], ...more };
}
