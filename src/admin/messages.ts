/** Messages of the admin port: records of requests with all that is in them, and records for answers. */
import type { Message } from 'protobufjs';
import type { RpcCall, RpcMethod } from '../control/rpc-server/call.ts';
import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { MountDefaults, MountEntry } from '../mount/entry.ts';
import { encodeMount, RECORD_TYPES, RecordError, readMount } from '../state-store/records.ts';
import { decode, encode, messageType } from '../wire/messages.ts';

export const ADMIN_PROTOCOL = 'org.apache.hadoop.hdfs.protocolPB.RouterAdminProtocol';
export const GENERIC_REFRESH_PROTOCOL = 'org.apache.hadoop.ipc.GenericRefreshProtocol';
export const REFRESH_CALL_QUEUE_PROTOCOL = 'org.apache.hadoop.ipc.RefreshCallQueueProtocol';
export const META_PROTOCOL = 'org.apache.hadoop.ipc.ProtocolMetaInfoPB';

/** The mount entries of a request's field `entry`, single or repeated. Throws RemoteException for one that is no record. */
export function mountEntriesOf<Caller>(call: RpcCall<RpcMethod, Caller>, defaults: MountDefaults): MountEntry[] {
  const { entry } = decode(call.method.request, call.message) as Message & { entry?: Message | Message[] | null };
  if (entry === undefined || entry === null) return [];
  const type = messageType(RECORD_TYPES.MountTable);
  return (Array.isArray(entry) ? entry : [entry]).map((message) => {
    try {
      const { record } = readMount(encode(type, message), defaults);
      return record.entry;
    } catch (error) {
      if (error instanceof RecordError)
        throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, `Invalid entry, ${error.message}`);
      throw error;
    }
  });
}

/** An entry as a field of an answer, an order that the message definition does not know included. */
export function mountMessageOf(entry: MountEntry): Message {
  return decode(messageType(RECORD_TYPES.MountTable), encodeMount(entry));
}
