import { userInfo } from 'node:os';
import { expect, it } from 'vitest';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { RawClient } from '../support/raw-client.ts';
import { RouterProcess } from '../support/router-process.ts';
import { waitUntil } from '../support/wait.ts';

const MKDIRS = { method: 'mkdirs', request: { src: '/a/x', masked: { perm: 0o755 }, createParent: true } };

it('the log tells of a failover and of a call that nobody answered, once each', async () => {
  await using simulator = await startSimulator({ nameservices: ['ns0'], namenodes: 2 });
  const [nn0, nn1] = simulator.nameservices[0]?.namenodes ?? [];
  await using router = await RouterProcess.start({
    nameservices: { ns0: [nn0, nn1].flatMap((each) => (each === undefined ? [] : [each])) },
    mounts: ['/a=ns0:/a'],
    args: ['--set', 'switchyard.call.budget=1s', '--set', 'dfs.federation.router.heartbeat.interval=3600000'],
  });
  using client = await RawClient.connect(router, { user: userInfo().username });
  await client.call(MKDIRS);
  await simulator.control({ op: 'failover', nameservice: 'ns0', to: 'nn1' });
  for (let i = 0; i < 3; i++) await client.call(MKDIRS);
  const moved = `127.0.0.1:${nn1?.port} is the active NameNode of ns0`;
  await waitUntil(() => router.log.includes(moved), 'the log names the new active');
  expect(router.log.split(moved)).toHaveLength(2);

  for (const namenode of ['nn0', 'nn1']) await simulator.control({ op: 'stop', nameservice: 'ns0', namenode });
  expect(await client.call(MKDIRS)).toMatchObject({ exception: 'org.apache.hadoop.ipc.StandbyException' });
  await waitUntil(() => router.log.includes('No namenode available to invoke mkdirs in ns0'), 'the log tells why');
});
