import type { MethodCluster } from './method-cluster.ts';

/** How often each NameNode executed a method, as `ns0 nn1` : times; NameNodes that did not are left out. */
export async function executionsOf(cluster: MethodCluster, method: string): Promise<Record<string, number>> {
  const counts = await cluster.simulator.control({ op: 'counts' });
  const own = Object.entries(counts).flatMap(([key, times]) => {
    const [nameservice, namenode, name] = key.split(' ');
    return name === method ? [[`${nameservice} ${namenode}`, times] as const] : [];
  });
  return Object.fromEntries(own.sort());
}
