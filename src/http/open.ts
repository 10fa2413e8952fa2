import type { Administration } from '../admin/administration.ts';
import { storeError } from '../admin/mounts.ts';
import type { Configuration } from '../config/configuration.ts';
import { type HttpSettings, TOKEN_FILE_KEY } from '../config/http-settings.ts';
import type { Log } from '../control/log.ts';
import type { RouterServices, RouterVersion } from '../control/router-types.ts';
import type { Settings, Topology } from '../shared/settings.ts';
import type { RouterStatus } from '../state-store/records.ts';
import { api } from './api/api.ts';
import type { RouterView } from './api/parts.ts';
import { viewClients } from './api/view-clients.ts';
import { viewNameservices } from './api/view-nameservices.ts';
import { viewObservers } from './api/view-observers.ts';
import { viewQueues } from './api/view-queues.ts';
import { noHttpFigures } from './http-figures.ts';
import { HttpServer } from './http-server.ts';
import { openJmx } from './jmx/open.ts';
import { statusOf } from './jmx/scrape.ts';
import { Login } from './login.ts';
import { conf } from './pages/conf.ts';
import { healthPages } from './pages/health.ts';
import { logLevel } from './pages/log-level.ts';
import { stacks } from './pages/stacks.ts';
import { TokenFile, TokenFileError } from './tokens.ts';

export interface OpenHttpOptions {
  readonly http: HttpSettings;
  readonly settings: Settings;
  readonly topology: Topology;
  readonly configuration: Configuration;
  readonly version: RouterVersion;
  readonly log: Log;
}

/** Opens the HTTP server of a router. Rejects with ListenError, or ConfigError for a file of tokens that cannot be used. */
export async function openHttp(
  { http, settings, topology, configuration, version, log }: OpenHttpOptions,
  services: RouterServices,
  administration: Administration,
): Promise<HttpServer> {
  const { federation, block, observerReads, admission, scheduler, counters, rings } = services;
  const { mounts, router, access } = administration;
  const tokens = http.tokenFile === null ? null : new TokenFile(http.tokenFile);
  if (tokens !== null) await requireTokens(tokens, configuration);
  const self = (): RouterView => ({
    self: true,
    address: settings.routerId,
    status: router.isInSafeMode ? 'SAFEMODE' : 'RUNNING',
    version: version.version,
    compileInfo: version.compileInfo,
    adminAddress: administration.adminAddress,
    dateStarted: version.startedMs,
    dateModified: Date.now(),
    mountTableVersion: -1,
    membershipVersion: -1,
  });
  const routers = (): RouterView[] => {
    if (federation.stored === null) return [self()];
    try {
      const records = federation.stored.routers.all();
      return records.map(({ dateCreated: _, ...record }) => ({
        ...record,
        self: record.address === settings.routerId,
      }));
    } catch (error) {
      throw storeError(error);
    }
  };
  const figures = noHttpFigures();
  const httpPort = (): number => server.port;
  const login = new Login({ callerOf: (user) => access.callerOf(user), tokens, staticUser: http.staticUser, log });
  const status = (): RouterStatus => statusOf(services);
  const server: HttpServer = new HttpServer({
    settings: http,
    parts: [
      api({
        parts: {
          mounts,
          router,
          defaults: settings,
          nameservices: () => viewNameservices(topology, settings.defaultNameservice, block, federation.membership),
          observers: () => viewObservers(topology, settings, block, federation.membership, observerReads),
          queues: () => viewQueues(topology, admission()),
          scheduler,
          clients: () => viewClients(counters()),
          rings,
          routers,
          now: Date.now,
        },
        login,
        version: version.version,
        log,
      }),
      openJmx({ settings, topology, configuration, version, services, administration, http: figures, httpPort, log }),
      healthPages({ ...services, status }),
      conf(configuration),
      stacks(services.threads),
      logLevel(log, login),
    ],
    figures,
    log,
  });
  await server.start();
  return server;
}

async function requireTokens(tokens: TokenFile, configuration: Configuration): Promise<void> {
  try {
    await tokens.check();
  } catch (error) {
    if (!(error instanceof TokenFileError)) throw error;
    throw configuration.error(TOKEN_FILE_KEY, error.message, error.remedy);
  }
}
