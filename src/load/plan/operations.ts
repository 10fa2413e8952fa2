/** The operations that the load tool can make: one table. Names are methods of ClientProtocol; `call/methods.ts` has the same names. */

/** What an operation needs: a path that exists, a new one, or one that the run itself has made and may change or remove. */
export type PathUse = 'existing' | 'directory' | 'new' | 'own' | 'own-to-new';

export const OPERATIONS = {
  getFileInfo: 'existing',
  getListing: 'directory',
  getBlockLocations: 'existing',
  getContentSummary: 'directory',
  mkdirs: 'new',
  create: 'new',
  rename: 'own-to-new',
  delete: 'own',
  setPermission: 'own',
  setTimes: 'own',
} as const satisfies Readonly<Record<string, PathUse>>;

export type OperationName = keyof typeof OPERATIONS;

export const OPERATION_NAMES: readonly OperationName[] = Object.keys(OPERATIONS) as OperationName[];

/** It changes the namespace: allowed only below the own directory of a target. */
export function isChanging(operation: OperationName): boolean {
  return OPERATIONS[operation] !== 'existing' && OPERATIONS[operation] !== 'directory';
}

/** `complete` closes what `create` has opened; it is sent after it and is no operation of a mix. */
export type RequestName = OperationName | 'complete';

export const REQUEST_NAMES: readonly RequestName[] = [...OPERATION_NAMES, 'complete'];

/** Its response is one bool; false means that nothing was done. */
export function hasResult(request: RequestName): boolean {
  return request === 'mkdirs' || request === 'rename' || request === 'delete' || request === 'complete';
}

/** A read whose response is an empty message when there is nothing at the path. */
export function findsNothing(request: RequestName): boolean {
  return request === 'getFileInfo' || request === 'getListing' || request === 'getBlockLocations';
}

/**
 * The request messages beside their paths: field 1 of each is the source (`src`, or `path` where `pathField` says so), field 2 of a rename is
 * the destination `dst`. Everything that is made is open to all users of the run. Directories on the way have to be there, see layout.ts.
 */
export interface RequestForm {
  /** Full name of the message. */
  readonly type: string;
  readonly pathField: 'src' | 'path';
  readonly hasDestination: boolean;
  readonly fields: Readonly<Record<string, unknown>>;
}

const BLOCK_BYTES = 128 * 1024 * 1024;
/** As the Java client asks when it opens a file: the first ten blocks. */
const LOCATED_BYTES = 10 * BLOCK_BYTES;
/** Create, and overwrite what is there: as the Java client asks unless it is told otherwise. */
const CREATE_FLAG = 1 | 2;
/** Whatever one user of a run makes is open to its other users. */
const DIRECTORY_MODE = 0o777;
const FILE_MODE = 0o666;

/** `clientName` holds the leases, `nowMs` is epoch time. */
export function describeRequests(clientName: string, nowMs: number): Readonly<Record<RequestName, RequestForm>> {
  return {
    getFileInfo: form('GetFileInfo', {}),
    getListing: form('GetListing', { startAfter: Buffer.alloc(0), needLocation: false }),
    getBlockLocations: form('GetBlockLocations', { offset: 0, length: LOCATED_BYTES }),
    getContentSummary: form('GetContentSummary', {}, { pathField: 'path' }),
    mkdirs: form('Mkdirs', { masked: { perm: DIRECTORY_MODE }, createParent: false }),
    create: form('Create', {
      masked: { perm: FILE_MODE },
      clientName,
      createFlag: CREATE_FLAG,
      createParent: false,
      replication: 3,
      blockSize: BLOCK_BYTES,
    }),
    rename: form('Rename', {}, { hasDestination: true }),
    delete: form('Delete', { recursive: true }),
    setPermission: form('SetPermission', { permission: { perm: DIRECTORY_MODE } }),
    setTimes: form('SetTimes', { mtime: nowMs, atime: nowMs }),
    complete: form('Complete', { clientName }),
  };
}

function form(name: string, fields: Record<string, unknown>, changes: Partial<RequestForm> = {}): RequestForm {
  const type = `hadoop.hdfs.${name}RequestProto`;
  return { type, pathField: 'src', hasDestination: false, fields, ...changes };
}
