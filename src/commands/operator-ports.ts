import { type OpenOptions, openAdministration } from '../admin/open.ts';
import type { HttpSettings } from '../config/http-settings.ts';
import type { OpenAdministration, RouterServices, RouterVersion } from '../control/router-types.ts';

export interface OperatorPortsOptions extends OpenOptions {
  readonly http: HttpSettings;
  readonly version: RouterVersion;
}

/** Opens what operators speak to: the admin port and the HTTP server, as the configuration says. Rejects with ListenError or ConfigError. */
export async function openOperatorPorts(
  options: OperatorPortsOptions,
  services: RouterServices,
): Promise<OpenAdministration> {
  const administration = await openAdministration(options, services);
  const { adminAddress, recordedAddress } = administration;
  if (!options.http.enabled) {
    return { adminAddress, recordedAddress, httpAddress: '', stop: () => administration.stop() };
  }
  try {
    // Loaded only where it is used.
    const { openHttp } = await import('../http/open.ts');
    const server = await openHttp(options, services, administration);
    return {
      adminAddress,
      recordedAddress,
      httpAddress: server.address,
      stop: async () => {
        await server.stop();
        await administration.stop();
      },
    };
  } catch (error) {
    await administration.stop();
    throw error;
  }
}
