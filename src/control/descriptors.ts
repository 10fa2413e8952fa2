import { readFileSync } from 'node:fs';
import type { Settings, Topology } from '../shared/settings.ts';

/** Descriptors of the process beside sockets: files, pipes, event loops of the threads. */
const OWN_DESCRIPTORS = 64;
/** Users that a router should be able to serve at the same time, when nothing else is known. */
const EXPECTED_USERS = 16;
const EXPECTED_CLIENTS = 4096;

/** Soft limit of open files, null where the system does not tell. */
export function readDescriptorLimit(): number | null {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** A warning when the limit of open files is lower than clients and NameNode connections of the configuration may need, else null. */
export function judgeDescriptorLimit(limit: number | null, settings: Settings, topology: Topology): string | null {
  if (limit === null) return null;
  const namenodes = topology.nameservices.reduce((sum, nameservice) => sum + nameservice.namenodes.length, 0);
  const clients = settings.maxConnections > 0 ? settings.maxConnections : EXPECTED_CLIENTS;
  const upstream = namenodes * settings.connectionsPerUser * settings.workers * EXPECTED_USERS;
  const need = OWN_DESCRIPTORS + clients + upstream;
  if (limit >= need) return null;
  return (
    `the limit of open files is ${limit}; ${clients} clients and ${EXPECTED_USERS} users with ${settings.connectionsPerUser} connections ` +
    `to each of ${namenodes} NameNodes need ${need}: raise it (ulimit -n, LimitNOFILE)`
  );
}
