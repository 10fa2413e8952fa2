/** Finds files that operations need, and checks that the caller has them open. */

import { fileNotFound, JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Inode } from './inodes.ts';
import { Directory, type File } from './inodes.ts';
import type { Site } from './operation.ts';
import type { ResolvedPath } from './resolved-path.ts';

export function fileAt(path: ResolvedPath, src: string): File {
  if (path.target === null) {
    throw fileNotFound(`File does not exist: ${src}`);
  }
  if (path.target instanceof Directory) {
    throw fileNotFound(`Path is not a file: ${path.text}`);
  }
  return path.target;
}

export function checkOpenFile(site: Site, src: string, fileId: number, holder: string): File {
  const { target } = site.namespace.resolveOpenFile(site.caller, src, fileId);
  return checkLease(site, target, src, fileId, holder);
}

/** The file, if the holder has it open. */
export function checkLease(site: Site, target: Inode | null, src: string, fileId: number, holder: string): File {
  const about = `${src} (inode ${fileId}) ${site.namespace.describeLease(holder)}`;
  if (target === null) {
    throw fileNotFound(`File does not exist: ${about}`);
  }
  if (target instanceof Directory) {
    throw new RemoteException(JAVA.LEASE_EXPIRED, `INode is not a regular file: ${about}`);
  }
  if (target.writer === null) {
    throw new RemoteException(JAVA.LEASE_EXPIRED, `File is not open for writing: ${about}`);
  }
  if (target.writer.holder !== holder) {
    throw new RemoteException(
      JAVA.LEASE_EXPIRED,
      `Client (=${holder}) is not the lease owner (=${target.writer.holder}: ${about}`,
    );
  }
  return target;
}
