import { expect, it } from 'vitest';
import { MethodCluster, type MethodClusterOptions } from './method-cluster.ts';

/**
 * The test that proves a method: named `PROTOCOL.METHOD` as in the manual's page on method coverage, which lists the file of each method's
 * proofs (scripts/make-coverage.ts looks for calls of this function with the name as a literal). It fails when its body has not called the
 * method through the router.
 */
export function prove(
  method: string,
  title: string,
  options: MethodClusterOptions,
  run: (cluster: MethodCluster) => Promise<void>,
): void {
  it(`${method}: ${title}`, async () => {
    await using cluster = await MethodCluster.start(options);
    await run(cluster);
    expect(cluster.called, `calls of ${method} through the router`).toContain(method);
  });
}
