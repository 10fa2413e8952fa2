import { METHODS } from '../../../call/methods.ts';
import type { RpcCount } from '../../../control/rpc-server/server.ts';
import { type Bean, metricsBean } from '../bean.ts';
import type { Scrape } from '../scrape.ts';
import { type Attributes, floating, type Value } from '../values.ts';
import { waitingOf } from './federation-rpc.ts';

/** What neither port of a router here counts. */
export const RPC_NOTHING = {
  DeferredRpcProcessingTimeNumOps: 0,
  DeferredRpcProcessingTimeAvgTime: floating(0),
  RpcAuthenticationFailures: 0,
  RpcAuthenticationSuccesses: 0,
  RpcLockWaitTimeNumOps: 0,
  RpcLockWaitTimeAvgTime: floating(0),
  RpcEnQueueTimeNumOps: 0,
  RpcEnQueueTimeAvgTime: floating(0),
  RpcRequeueCalls: 0,
  RpcSlowCalls: 0,
} as const;
/** Kept for single users only where connections of users are limited. */
const NO_USERS = '{}';

/** The client port, and the admin port if there is one. */
export function rpcBeans(rpcPort: number, adminPort: number): Bean[] {
  const beans = [activity(rpcPort, 'ClientNamenodeProtocol', clientPort), detailed(rpcPort, clientMethods)];
  if (adminPort === 0) return beans;
  return [...beans, activity(adminPort, 'RouterAdminProtocolService', adminPortOf), detailed(adminPort, adminMethods)];
}

function activity(port: number, serverName: string, read: (scrape: Scrape) => Attributes): Bean {
  const tags = { port: String(port), serverName, Context: 'rpc', NumOpenConnectionsPerUser: NO_USERS };
  return metricsBean(`RpcActivityForPort${port}`, tags, read);
}

function detailed(port: number, read: (scrape: Scrape) => Attributes): Bean {
  return metricsBean(`RpcDetailedActivityForPort${port}`, { port: String(port), Context: 'rpcdetailed' }, read);
}

function clientPort(scrape: Scrape): Attributes {
  const { counters, sources, admission } = scrape;
  const { rates } = sources;
  const answered = counters.repliesWritten;
  const refused = admission.reduce((sum, { figures }) => sum + figures.refusedFull + figures.refusedSlow, 0);
  const calls = rates.of('calls').count;
  const processing = floating(rates.of('proxy').averageMs);
  return {
    ...RPC_NOTHING,
    ReceivedBytes: counters.bytesReceived,
    SentBytes: counters.bytesSent,
    RpcAuthorizationFailures: counters.handshakesRefused,
    RpcAuthorizationSuccesses: Math.max(0, counters.clientsAccepted - counters.handshakesRefused),
    RpcCallSuccesses: Math.max(0, answered - counters.callsRefused),
    RpcClientBackoff: refused,
    RpcClientBackoffDisconnected: counters.clientsDisconnected,
    RpcQueueTimeNumOps: answered,
    RpcQueueTimeAvgTime: floating(rates.of('processing').averageMs),
    RpcProcessingTimeNumOps: answered,
    RpcProcessingTimeAvgTime: processing,
    RpcResponseTimeNumOps: answered,
    RpcResponseTimeAvgTime: floating(rates.of('processing').averageMs + rates.of('proxy').averageMs),
    NumInProcessHandler: admission.reduce((sum, { figures }) => sum + figures.inFlight, 0),
    TotalRequests: counters.callsRead + counters.callsRecoded,
    TotalRequestsPerSecond: Math.round(calls / rates.seconds),
    NumOpenConnections: counters.clientsOpen,
    CallQueueLength: waitingOf(scrape),
    NumDroppedConnections: counters.clientsRefused + counters.addressesRefused,
  };
}

function adminPortOf({ sources }: Scrape): Attributes {
  const figures = sources.adminFigures();
  const { rates } = sources;
  const counts = [...(figures?.answered ?? [])];
  const calls = sumOfCalls(counts);
  const time = floating(rates.of('admin').averageMs);
  return {
    ...RPC_NOTHING,
    ReceivedBytes: 0,
    SentBytes: 0,
    RpcAuthorizationFailures: 0,
    RpcAuthorizationSuccesses: 0,
    RpcCallSuccesses: sumOfCalls(counts.filter(([name]) => !isException(name))),
    RpcClientBackoff: 0,
    RpcClientBackoffDisconnected: 0,
    RpcQueueTimeNumOps: calls,
    RpcQueueTimeAvgTime: floating(0),
    RpcProcessingTimeNumOps: calls,
    RpcProcessingTimeAvgTime: time,
    RpcResponseTimeNumOps: calls,
    RpcResponseTimeAvgTime: time,
    NumInProcessHandler: figures?.runningCalls ?? 0,
    TotalRequests: calls,
    TotalRequestsPerSecond: Math.round(rates.of('admin').count / rates.seconds),
    NumOpenConnections: figures?.connections ?? 0,
    CallQueueLength: 0,
    NumDroppedConnections: 0,
  };
}

/** Methods begin with a small letter. */
function isException(name: string): boolean {
  return /^[A-Z]/.test(name);
}

function sumOfCalls(counts: readonly (readonly [string, RpcCount])[]): number {
  return counts.reduce((sum, [, { calls }]) => sum + calls, 0);
}

/** A method's own attributes, in the three families of a Java server. */
interface MethodNames {
  readonly calls: readonly string[];
  readonly times: readonly string[];
  readonly deferredCalls: string;
  readonly deferredTime: string;
}

function namesOf(method: string): MethodNames {
  const name = method.charAt(0).toUpperCase() + method.slice(1);
  return {
    calls: [`${name}NumOps`, `Overall${name}NumOps`],
    times: [`${name}AvgTime`, `Overall${name}AvgTime`],
    deferredCalls: `Deferred${name}NumOps`,
    deferredTime: `Deferred${name}AvgTime`,
  };
}

function addMethod(attributes: Record<string, Value>, names: MethodNames, calls: number, ms: number): void {
  for (const name of names.calls) attributes[name] = calls;
  for (const name of names.times) attributes[name] = floating(ms);
  attributes[names.deferredCalls] = 0;
  attributes[names.deferredTime] = floating(0);
}

const METHOD_NAMES = METHODS.map(({ name, protocol }) => ({ names: namesOf(name), isClients: protocol === 0 }));

/** Calls of clients: all of ClientProtocol, of other protocols what was called. How long each method takes is not measured apart. */
function clientMethods({ methods }: Scrape): Attributes {
  const attributes: Record<string, Value> = {};
  for (const [index, { names, isClients }] of METHOD_NAMES.entries()) {
    const calls = methods.calls[index] as number;
    if (isClients || calls > 0) addMethod(attributes, names, calls, 0);
  }
  return attributes;
}

function adminMethods({ sources }: Scrape): Attributes {
  const attributes: Record<string, Value> = {};
  for (const [name, { calls }] of sources.adminFigures()?.answered ?? []) {
    addMethod(attributes, namesOf(name), calls, sources.rates.of(`admin ${name}`).averageMs);
  }
  return attributes;
}
