import { describe, expect, it } from 'vitest';
import { Configuration } from '../../src/config/configuration.ts';
import { readListenHost, requireLocalHost } from '../../src/config/listen-address.ts';

const ADDRESS = 'dfs.federation.router.rpc-address';
const BIND_HOST = 'dfs.federation.router.rpc-bind-host';

function configure(settings: Readonly<Record<string, string>>): Configuration {
  const overrides = Object.entries(settings).map(([key, value]) => ({ key, value, origin: '--set' }));
  return new Configuration({ overrides, environment: {} });
}

describe('host of the client port', () => {
  it('is that of the address, or the bind host', async () => {
    expect(readListenHost(configure({}))).toEqual({ host: '0.0.0.0', key: ADDRESS });
    const bound = configure({ [ADDRESS]: 'router.invalid:1', [BIND_HOST]: '127.0.0.1' });
    expect(readListenHost(bound)).toEqual({ host: '127.0.0.1', key: BIND_HOST });
    await requireLocalHost(bound);
    await requireLocalHost(configure({}));
  });

  it('is refused when it is unknown or of another machine', async () => {
    // 192.0.2.0/24 is kept for documentation: nobody has it.
    await expect(requireLocalHost(configure({ [ADDRESS]: '192.0.2.1:0' }))).rejects.toThrow(
      `--set: ${ADDRESS} = "192.0.2.1:0": 192.0.2.1 is no address of this machine (EADDRNOTAVAIL); name one that is`,
    );
    await expect(requireLocalHost(configure({ [BIND_HOST]: 'nosuchhost.invalid' }))).rejects.toMatchObject({
      name: 'ConfigError',
      key: BIND_HOST,
      message: expect.stringMatching(/the host name nosuchhost\.invalid is not known here \((ENOTFOUND|EAI_AGAIN)\); /),
    });
  });
});
