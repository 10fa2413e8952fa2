import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FEDERATION_RPC_NOTHING, NAMESERVICE_NOTHING } from '../../src/http/jmx/beans/federation-rpc.ts';
import { HTTP_NOTHING } from '../../src/http/jmx/beans/http-server.ts';
import {
  FS_NAMESYSTEM_NOTHING,
  NAMENODE_INFO_NOTHING,
  NAMENODE_STATUS_NOTHING,
} from '../../src/http/jmx/beans/name-node.ts';
import { JVM_NOTHING, METRICS_SYSTEM_NOTHING, UGI_NOTHING } from '../../src/http/jmx/beans/process.ts';
import { ROUTER_NOTHING } from '../../src/http/jmx/beans/router.ts';
import { RPC_NOTHING } from '../../src/http/jmx/beans/rpc-activity.ts';
import { STATE_STORE_NOTHING } from '../../src/http/jmx/beans/state-store.ts';

const TABLES: readonly (readonly [row: string, table: object])[] = [
  ['Router, FederationState, RBFMetrics', ROUTER_NOTHING],
  ['FederationRPC', FEDERATION_RPC_NOTHING],
  ['NameserviceActivity', NAMESERVICE_NOTHING],
  ['StateStoreActivity', STATE_STORE_NOTHING],
  ['RpcActivityForPort', RPC_NOTHING],
  ['UgiMetrics', UGI_NOTHING],
  ['JvmMetrics', JVM_NOTHING],
  ['MetricsSystem,sub=Stats', METRICS_SYSTEM_NOTHING],
  ['HttpServer2', HTTP_NOTHING],
  ['FSNamesystem, FSNamesystemState', FS_NAMESYSTEM_NOTHING],
  ['NameNodeInfo', NAMENODE_INFO_NOTHING],
  ['NameNodeStatus', NAMENODE_STATUS_NOTHING],
];

describe('the manual’s page on monitoring', () => {
  const lines = readFileSync(new URL('../../src/manual/monitoring.md', import.meta.url), 'utf8').split('\n');

  it.each(TABLES)('lists what has no counterpart in %s', (row, table) => {
    const line = lines.find((each) => each.startsWith(`| ${row} |`)) ?? '';
    const untold = Object.keys(table).filter((attribute) => !line.includes(`\`${attribute}\``));
    expect(untold).toEqual([]);
  });
});
