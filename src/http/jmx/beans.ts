import type { Bean } from './bean.ts';
import { callQueueBeans } from './beans/call-queue.ts';
import { clientActivityBean } from './beans/client-activity.ts';
import { federationRpcBean, federationRpcMetricsBean, nameserviceBeans } from './beans/federation-rpc.ts';
import { federationStateBean, rbfMetricsBean } from './beans/federation-state.ts';
import { httpServerBean } from './beans/http-server.ts';
import { nameNodeBeans } from './beans/name-node.ts';
import { processBeans } from './beans/process.ts';
import { routerBean } from './beans/router.ts';
import { rpcBeans } from './beans/rpc-activity.ts';
import { stateStoreActivityBean, stateStoreBean } from './beans/state-store.ts';

export interface BeanOptions {
  /** Nameservices. */
  readonly ids: readonly string[];
  readonly rpcPort: number;
  /** 0: there is none. */
  readonly adminPort: number;
  readonly httpPort: number;
  /** Calls wait in queues of several levels. */
  readonly hasLevels: boolean;
  /** It is counted what callers cost. */
  readonly hasScheduler: boolean;
}

/** All beans of a router. */
export function beansOf({ ids, rpcPort, adminPort, httpPort, hasLevels, hasScheduler }: BeanOptions): readonly Bean[] {
  const beans = [
    routerBean,
    federationStateBean,
    rbfMetricsBean,
    federationRpcBean,
    federationRpcMetricsBean,
    ...nameserviceBeans(ids),
    clientActivityBean,
    stateStoreBean,
    stateStoreActivityBean,
    ...rpcBeans(rpcPort, adminPort),
    ...callQueueBeans(rpcPort, hasLevels, hasScheduler),
    httpServerBean(httpPort),
    ...nameNodeBeans,
  ];
  const sources = beans.filter(({ name, modelerType }) => name.endsWith(`=${modelerType}`)).length;
  return [...beans, ...processBeans(sources)];
}
