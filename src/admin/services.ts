/** The protocols of the admin port, method by method: what each asks of the router's services. */
import type { RpcCall, RpcMethod } from '../control/rpc-server/call.ts';
import { textOf, textsOf } from '../control/rpc-server/fields.ts';
import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { ServiceMethod, ServiceTable } from '../control/rpc-server/server.ts';
import type { MountDefaults, MountEntry } from '../mount/entry.ts';
import { messageType, serviceType } from '../wire/messages.ts';
import { type AdminCaller, requireSuperuser } from './access.ts';
import {
  ADMIN_PROTOCOL,
  GENERIC_REFRESH_PROTOCOL,
  META_PROTOCOL,
  mountEntriesOf,
  mountMessageOf,
  REFRESH_CALL_QUEUE_PROTOCOL,
} from './messages.ts';
import type { MountVerbs } from './mounts.ts';
import type { RefreshAction } from './parts.ts';
import type { RouterVerbs } from './router-verbs.ts';

/** Who opened the connection; the groups are told anew for each call. */
export interface Login {
  readonly user: string;
}

export interface ServicesOptions {
  callerOf(user: string): Promise<AdminCaller>;
  readonly mounts: MountVerbs;
  readonly router: RouterVerbs;
  /** Owner and group of records that name none. */
  readonly defaults: MountDefaults;
  /** What GenericRefreshProtocol may name. */
  readonly refreshes: ReadonlyMap<string, RefreshAction>;
  /** Wall clock, ms since 1970. */
  readonly now: () => number;
}

type Call = RpcCall<RpcMethod, Login>;
type Answer = (caller: AdminCaller, call: Call) => object | Promise<object>;

export function makeServices(options: ServicesOptions): ServiceTable<Login> {
  const { mounts, router, defaults, refreshes, now } = options;
  const oneEntry = (call: Call): MountEntry => {
    const [entry] = mountEntriesOf(call, defaults);
    if (entry !== undefined) return entry;
    throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, 'no mount entry is given');
  };
  const admin: Readonly<Record<string, Answer>> = {
    addMountTableEntry: async (caller, call) => ({ status: await mounts.add(caller, oneEntry(call)) }),
    addMountTableEntries: async (caller, call) => {
      const failed = await mounts.addAll(caller, mountEntriesOf(call, defaults));
      return { status: failed.size === 0, failedEntriesKeys: [...failed.keys()] };
    },
    updateMountTableEntry: async (caller, call) => {
      await mounts.update(caller, oneEntry(call));
      // Never false: the Java tool asks again and again then.
      return { status: true };
    },
    removeMountTableEntry: async (caller, { request }) => ({
      status: await mounts.remove(caller, textOf(request, 'srcPath')),
    }),
    getMountTableEntries: (caller, { request }) => ({
      entries: mounts.list(caller, textOf(request, 'srcPath')).map(mountMessageOf),
      timestamp: now(),
    }),
    enterSafeMode: (caller) => ({ status: router.enterSafeMode(caller) }),
    leaveSafeMode: (caller) => ({ status: router.leaveSafeMode(caller) }),
    getSafeMode: () => ({ isInSafeMode: router.isInSafeMode }),
    disableNameservice: async (caller, { request }) => ({
      status: await router.disableNameservice(caller, textOf(request, 'nameServiceId')),
    }),
    enableNameservice: async (caller, { request }) => ({
      status: await router.enableNameservice(caller, textOf(request, 'nameServiceId')),
    }),
    getDisabledNameservices: () => ({ nameServiceIds: router.disabledNameservices() }),
    refreshMountTableEntries: async () => ({ result: await mounts.reload() }),
    getDestination: async (caller, { request, machine }) => ({
      destinations: await router.destinationsOf(caller, textOf(request, 'srcPath'), machine),
    }),
    refreshSuperUserGroupsConfiguration: async (caller) => {
      await router.refreshProxyUsers(caller);
      return { status: true };
    },
  };
  const generic: Readonly<Record<string, Answer>> = {
    refresh: async (caller, { request }) => {
      const identifier = textOf(request, 'identifier');
      const action = refreshes.get(identifier);
      if (action === undefined) {
        const known = [...refreshes.keys()].join(', ');
        throw new RemoteException(
          JAVA.ILLEGAL_ARGUMENT,
          `Identifier '${identifier}' does not exist in RefreshRegistry. Valid options are: ${known}`,
        );
      }
      requireSuperuser(caller);
      const { exitStatus, message, sender } = await action(textsOf(request, 'args'));
      return { responses: [{ exitStatus, userMessage: message, senderName: sender }] };
    },
  };
  const callQueue: Readonly<Record<string, Answer>> = {
    refreshCallQueue: (caller) => {
      router.refreshCallQueue(caller);
      return {};
    },
  };
  const meta: Readonly<Record<string, Answer>> = {
    getProtocolVersions: (_, { request }) => ({
      protocolVersions: table.has(textOf(request, 'protocol'))
        ? [{ rpcKind: 'RPC_PROTOCOL_BUFFER', versions: [1] }]
        : [],
    }),
    getProtocolSignature: () => {
      throw new RemoteException(
        JAVA.UNSUPPORTED,
        'signatures of protocols are not told; call the method to learn whether it is there',
      );
    },
  };
  const methodsOf = (protocol: string, service: string, answers: Readonly<Record<string, Answer>>): Methods => {
    const { methods } = serviceType(service);
    const place = service.slice(0, service.lastIndexOf('.'));
    const full = (name: string): string => (name.includes('.') ? name : `${place}.${name}`);
    const made = Object.entries(answers).map(([name, answer]): [string, ServiceMethod<Login>] => {
      const method = methods[name];
      if (method === undefined) throw new Error(`${service} has no method ${name}`);
      const types = {
        request: messageType(full(method.requestType)),
        response: messageType(full(method.responseType)),
      };
      const run = async (call: Call): Promise<object> => answer(await options.callerOf(call.caller.user), call);
      return [name, { protocol, name, ...types, run }];
    });
    return [protocol, new Map(made)];
  };
  const table: ServiceTable<Login> = new Map([
    methodsOf(ADMIN_PROTOCOL, 'hadoop.hdfs.router.RouterAdminProtocolService', admin),
    methodsOf(GENERIC_REFRESH_PROTOCOL, 'hadoop.common.GenericRefreshProtocolService', generic),
    methodsOf(REFRESH_CALL_QUEUE_PROTOCOL, 'hadoop.common.RefreshCallQueueProtocolService', callQueue),
    methodsOf(META_PROTOCOL, 'hadoop.common.ProtocolInfoService', meta),
  ]);
  return table;
}

type Methods = [string, ReadonlyMap<string, ServiceMethod<Login>>];
