/** Names of the exception classes that servers answer with, as they stand on the wire. */
export const JAVA = {
  ACCESS_CONTROL: 'org.apache.hadoop.security.AccessControlException',
  ACL: 'org.apache.hadoop.hdfs.protocol.AclException',
  ALREADY_BEING_CREATED: 'org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException',
  ASSERTION: 'java.lang.AssertionError',
  AUTHENTICATION: 'org.apache.hadoop.security.authentication.client.AuthenticationException',
  AUTHORIZATION: 'org.apache.hadoop.security.authorize.AuthorizationException',
  DIRECTORY_FULL: 'org.apache.hadoop.hdfs.protocol.FSLimitException$MaxDirectoryItemsExceededException',
  DS_QUOTA: 'org.apache.hadoop.hdfs.protocol.DSQuotaExceededException',
  FILE_EXISTS: 'org.apache.hadoop.fs.FileAlreadyExistsException',
  FILE_NOT_FOUND: 'java.io.FileNotFoundException',
  HADOOP_ILLEGAL_ARGUMENT: 'org.apache.hadoop.HadoopIllegalArgumentException',
  ILLEGAL_ARGUMENT: 'java.lang.IllegalArgumentException',
  INVALID_PATH: 'org.apache.hadoop.fs.InvalidPathException',
  INVALID_REQUEST: 'org.apache.hadoop.fs.InvalidRequestException',
  INVALID_TOKEN: 'org.apache.hadoop.security.token.SecretManager$InvalidToken',
  IO: 'java.io.IOException',
  IPC: 'org.apache.hadoop.ipc.IpcException',
  LEASE_EXPIRED: 'org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException',
  NAME_TOO_LONG: 'org.apache.hadoop.hdfs.protocol.FSLimitException$PathComponentTooLongException',
  NO_EC_POLICY: 'org.apache.hadoop.hdfs.protocol.NoECPolicySetException',
  NO_LOCATION: 'org.apache.hadoop.hdfs.server.federation.router.NoLocationException',
  NO_SUCH_METHOD: 'org.apache.hadoop.ipc.RpcNoSuchMethodException',
  NO_SUCH_PROTOCOL: 'org.apache.hadoop.ipc.RpcNoSuchProtocolException',
  NS_QUOTA: 'org.apache.hadoop.hdfs.protocol.NSQuotaExceededException',
  OBSERVER_RETRY: 'org.apache.hadoop.ipc.ObserverRetryOnActiveException',
  PARENT_NOT_DIRECTORY: 'org.apache.hadoop.fs.ParentNotDirectoryException',
  PATH_IS_NOT_DIRECTORY: 'org.apache.hadoop.fs.PathIsNotDirectoryException',
  PATH_IS_NOT_EMPTY: 'org.apache.hadoop.fs.PathIsNotEmptyDirectoryException',
  PROTOBUF: 'org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException',
  RESOLVE: 'org.apache.hadoop.hdfs.server.federation.resolver.RouterResolveException',
  RETRIABLE: 'org.apache.hadoop.ipc.RetriableException',
  ROLLING_UPGRADE: 'org.apache.hadoop.hdfs.protocol.RollingUpgradeException',
  RPC_SERVER: 'org.apache.hadoop.ipc.RpcServerException',
  SAFE_MODE: 'org.apache.hadoop.hdfs.server.namenode.SafeModeException',
  SASL: 'javax.security.sasl.SaslException',
  SERVICE_FAILED: 'org.apache.hadoop.ha.ServiceFailedException',
  SNAPSHOT: 'org.apache.hadoop.hdfs.protocol.SnapshotException',
  SNAPSHOT_READ_ONLY: 'org.apache.hadoop.hdfs.protocol.SnapshotAccessControlException',
  STATE_STORE_UNAVAILABLE: 'org.apache.hadoop.hdfs.server.federation.store.StateStoreUnavailableException',
  STANDBY: 'org.apache.hadoop.ipc.StandbyException',
  START_AFTER_NOT_FOUND: 'org.apache.hadoop.hdfs.DirectoryListingStartAfterNotFoundException',
  TYPE_QUOTA: 'org.apache.hadoop.hdfs.protocol.QuotaByStorageTypeExceededException',
  UNSUPPORTED: 'java.lang.UnsupportedOperationException',
  UNSUPPORTED_ACTION: 'org.apache.hadoop.hdfs.server.namenode.UnsupportedActionException',
  VERSION_MISMATCH: 'org.apache.hadoop.ipc.RPC$VersionMismatch',
  XATTR_NOT_FOUND: 'org.apache.hadoop.hdfs.protocol.XAttrNotFoundException',
} as const;

export type JavaClass = (typeof JAVA)[keyof typeof JAVA];

/** What an operation throws to be answered with: a Java class and the first lines of its text. */
export class RemoteException extends Error {
  override readonly name = 'RemoteException';
  readonly javaClass: JavaClass;

  constructor(javaClass: JavaClass, message: string) {
    super(message);
    this.javaClass = javaClass;
  }
}

export function fileNotFound(message: string): RemoteException {
  return new RemoteException(JAVA.FILE_NOT_FOUND, message);
}

export function ioException(message: string): RemoteException {
  return new RemoteException(JAVA.IO, message);
}

export function accessDenied(message: string): RemoteException {
  return new RemoteException(JAVA.ACCESS_CONTROL, message);
}
