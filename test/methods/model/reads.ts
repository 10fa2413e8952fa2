import type { Plain } from '../../../src/wire/messages.ts';
import { comparable, comparableBlocks, comparableSummary, comparableXAttrs } from './compare.ts';
import type { MountRules } from './mount-rules.ts';
import type { Read } from './plan.ts';

const REQUESTS: Readonly<Record<Read, (path: string) => object>> = {
  getFileInfo: (src) => ({ src }),
  getFileLinkInfo: (src) => ({ src }),
  getLocatedFileInfo: (src) => ({ src, needBlockToken: false }),
  getContentSummary: (path) => ({ path }),
  getBlockLocations: (src) => ({ src, offset: 0, length: 1_000_000 }),
  getAclStatus: (src) => ({ src }),
  getXAttrs: (src) => ({ src, xAttrs: [] }),
  listXAttrs: (src) => ({ src }),
  isFileClosed: (src) => ({ src }),
  getPreferredBlockSize: (filename) => ({ filename }),
  getStoragePolicy: (path) => ({ path }),
  checkAccess: (path) => ({ path, mode: 'READ' }),
};

/** The request message of a read of one path. */
export function readRequest(how: Read, path: string): object {
  return REQUESTS[how](path);
}

/** What of the answer must be the same. */
export function tellRead(how: Read, value: Plain, path: string, rules: MountRules): unknown {
  switch (how) {
    case 'getFileInfo':
    case 'getFileLinkInfo':
    case 'getLocatedFileInfo':
      return value['fs'] === undefined ? null : comparable(value['fs'] as Plain, path, rules);
    case 'getContentSummary':
      return comparableSummary(value['summary'] as Plain, path, rules);
    case 'getBlockLocations':
      return value['locations'] === undefined ? null : comparableBlocks(value['locations'] as Plain);
    case 'getAclStatus':
      // Of mount points and the directories above them: see `comparable`.
      return rules.isSkeleton(path) ? null : value['result'];
    case 'getXAttrs':
    case 'listXAttrs':
      return comparableXAttrs((value['xAttrs'] ?? []) as Plain[]);
    case 'isFileClosed':
      return value['result'];
    case 'getPreferredBlockSize':
      return Number(value['bsize']);
    case 'getStoragePolicy':
      return (value['storagePolicy'] as Plain)['name'];
    case 'checkAccess':
      return null;
  }
}
