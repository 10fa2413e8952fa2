import { ErrorDetail } from '../wire/reply-head.ts';

/** The exceptions that the router itself answers with: Java class, and the detail of the RPC header that goes with it. */
export const Failure = {
  /** "Try another router now." */
  STANDBY: 'org.apache.hadoop.ipc.StandbyException',
  /** "Try me again later." */
  RETRIABLE: 'org.apache.hadoop.ipc.RetriableException',
  RPC_SERVER: 'org.apache.hadoop.ipc.RpcServerException',
  IO: 'java.io.IOException',
  UNSUPPORTED: 'java.lang.UnsupportedOperationException',
  ACCESS_CONTROL: 'org.apache.hadoop.security.AccessControlException',
  NO_RESOLUTION: 'org.apache.hadoop.hdfs.server.federation.resolver.RouterResolveException',
  /** Like NO_RESOLUTION, because the nameservices of the path are disabled. */
  NO_LOCATION: 'org.apache.hadoop.hdfs.server.federation.router.NoLocationException',
  MALFORMED: 'org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException',
  NO_SUCH_METHOD: 'org.apache.hadoop.ipc.RpcNoSuchMethodException',
} as const;

/** How the message ends that refuses a change below a read-only mount point, with Failure.IO. */
export const READ_ONLY = 'is in a read only mount point';

export function detailOf(className: string): number {
  return className === Failure.NO_SUCH_METHOD ? ErrorDetail.ERROR_NO_SUCH_METHOD : ErrorDetail.ERROR_APPLICATION;
}
