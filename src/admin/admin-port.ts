import { formatAddress, type HostPort } from '../config/address.ts';
import type { AdminSettings } from '../config/admin-settings.ts';
import type { Log } from '../control/log.ts';
import { ListenError } from '../control/router-types.ts';
import type { Identity } from '../control/rpc-server/connection.ts';
import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import { RpcServer } from '../control/rpc-server/server.ts';
import { type Login, makeServices, type ServicesOptions } from './services.ts';

/** Longest user, real user or protocol name. */
const MAX_NAME_BYTES = 4_096;

export interface AdminPortOptions {
  readonly settings: AdminSettings;
  readonly services: ServicesOptions;
  /** Why a real user may not act for another one; null when he may. */
  refusalOf(identity: {
    readonly user: string;
    readonly realUser: string;
    readonly address: string;
  }): Promise<string | null>;
  readonly log: Log;
}

export type AdminPortFigures = Pick<RpcServer<Login>, 'connections' | 'runningCalls' | 'answered'>;

/** The admin port of a router: what `hdfs dfsrouteradmin` and other routers speak to. */
export class AdminPort implements AsyncDisposable {
  readonly #options: AdminPortOptions;
  readonly #server: RpcServer<Login>;

  constructor(options: AdminPortOptions) {
    const { settings, services, log } = options;
    this.#options = options;
    this.#server = new RpcServer({
      host: settings.bindHost,
      port: settings.port,
      maxFrameBytes: settings.maxRequestBytes,
      idleMs: settings.idleMs,
      services: makeServices(services),
      login: (identity) => this.#login(identity),
      onUnexpected: (method, error) => log.error({ method, err: error }, 'admin port: a call failed'),
    });
  }

  /** What it does: connections, calls that run, and those answered. */
  get figures(): AdminPortFigures {
    const { connections, runningCalls, answered } = this.#server;
    return { connections, runningCalls, answered };
  }

  get port(): number {
    return this.#server.port;
  }

  /** Where other routers and tools reach it; only while it listens. */
  get address(): HostPort {
    return { host: this.#options.settings.reachableHost, port: this.port };
  }

  /** Rejects with ListenError when the port cannot be had. */
  async start(): Promise<void> {
    const { bindHost, port } = this.#options.settings;
    try {
      await this.#server.start();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new ListenError(
        `cannot listen on ${formatAddress(bindHost, port)} (dfs.federation.router.admin-address): ${why}; choose another port, stop what holds it, or set dfs.federation.router.admin.enable to false`,
      );
    }
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #login({ user, realUser, protocol, machine }: Identity): Promise<Login> {
    if (user === '') throw new RemoteException(JAVA.ACCESS_CONTROL, 'the connection context names no user');
    for (const name of [user, realUser, protocol]) {
      if (Buffer.byteLength(name) <= MAX_NAME_BYTES) continue;
      throw new RemoteException(
        JAVA.ACCESS_CONTROL,
        `a name in the connection context is longer than ${MAX_NAME_BYTES} bytes`,
      );
    }
    if (realUser !== '') {
      const refusal = await this.#options.refusalOf({ user, realUser, address: machine });
      if (refusal !== null) throw new RemoteException(JAVA.AUTHORIZATION, refusal);
    }
    return { user };
  }
}
