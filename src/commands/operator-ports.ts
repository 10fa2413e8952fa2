import type { Administration } from '../admin/administration.ts';
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
  try {
    const http = options.http.enabled ? await openHttp(options, services, administration) : null;
    return {
      adminAddress: administration.adminAddress,
      recordedAddress: administration.recordedAddress,
      httpAddress: http?.address ?? '',
      stop: async () => {
        await http?.stop();
        await administration.stop();
      },
    };
  } catch (error) {
    await administration.stop();
    throw error;
  }
}

/** Its code is loaded only where it is used. */
async function openHttp(
  options: OperatorPortsOptions,
  services: RouterServices,
  administration: Administration,
): Promise<{ readonly address: string; stop(): Promise<void> }> {
  const http = await import('../http/open.ts');
  return await http.openHttp(options, services, administration);
}
