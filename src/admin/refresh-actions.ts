import type { RefreshAction } from './parts.ts';

/** As the tool shows who answered, by the name of the Java class that does. */
const FAIRNESS_SENDER = 'org.apache.hadoop.hdfs.server.federation.fairness.RefreshFairnessPolicyControllerHandler';
const NO_FAIRNESS = 'org.apache.hadoop.hdfs.server.federation.fairness.NoRouterRpcFairnessPolicyController';

/** Parts of the router that `hdfs dfsrouteradmin -refreshRouterArgs` may name. */
export const REFRESHES: ReadonlyMap<string, RefreshAction> = new Map([
  [
    'RefreshFairnessPolicyController',
    // Calls are not shared out among nameservices by a policy, whatever is configured: the answer says which one that is.
    () => Promise.resolve({ exitStatus: 0, message: NO_FAIRNESS, sender: FAIRNESS_SENDER }),
  ],
]);
