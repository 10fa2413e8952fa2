import { appendFileSync } from 'node:fs';
import { it } from 'vitest';
import { MixedDeployment } from './mixed-deployment.ts';

it('latency', async () => {
  await using d = await MixedDeployment.start({});
  await d.rig.makeTargets(['ns0:/t']);
  const m = d.members;
  for (const from of [m[0]!, m[2]!])
    for (let i = 0; i < 10; i++)
      for (const to of [m[1]!, m[3]!]) {
        const path = `/l${i}-${from.name}-${to.name}`;
        const line = ['-D', `dfs.federation.router.admin-address=${from.admin}`, '-add', path, 'ns0', '/t'];
        const t0 = performance.now();
        let done = 0;
        let seen = 0;
        let ended = false;
        const poll = (async () => {
          while (!seen) {
            const ok = await d.call(to, async (c) => (await c.getFileInfo(path)) !== undefined);
            if (ok === true) seen = performance.now() - t0;
          }
        })();
        const a = await d.shell.run(line, { tool: 'dfsrouteradmin' });
        done = performance.now() - t0;
        ended = true;
        await poll;
        appendFileSync(
          '/tmp/MX/latency.txt',
          `${JSON.stringify({
            from: from.name,
            to: to.name,
            i,
            commandMs: a.ms,
            doneMs: Math.round(done),
            seenMs: Math.round(seen),
            code: a.code,
            ended,
          })}\n`,
        );
      }
}, 300000);
