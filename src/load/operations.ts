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
