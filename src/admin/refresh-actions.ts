import type { RefreshAction } from './parts.ts';

/** As the tool shows who answered, by the name of the Java class that does. */
const FAIRNESS_SENDER = 'org.apache.hadoop.hdfs.server.federation.fairness.RefreshFairnessPolicyControllerHandler';
/** As Java's handlers end that could not do it. */
const FAILED = -1;

/**
 * Parts of the router that `hdfs dfsrouteradmin -refreshRouterArgs` may name. `reloadAdmission` reads the files anew and tells the Java
 * class of the fairness policy that holds now; it throws when they are wrong.
 */
export function makeRefreshes(reloadAdmission: () => string): ReadonlyMap<string, RefreshAction> {
  return new Map([
    [
      'RefreshFairnessPolicyController',
      (): ReturnType<RefreshAction> => {
        try {
          return Promise.resolve({ exitStatus: 0, message: reloadAdmission(), sender: FAIRNESS_SENDER });
        } catch (error) {
          const message = error instanceof Error ? error.message : String(error);
          return Promise.resolve({ exitStatus: FAILED, message, sender: FAIRNESS_SENDER });
        }
      },
    ],
  ]);
}
