/** HdfsFileStatusProto of files and directories. */
import type { Plain } from '../wire/messages.ts';
import type { BlockPlaces } from './blocks.ts';
import { locatedBlocksOf } from './blocks.ts';
import type { FileEncryption, Inode } from './inodes.ts';
import { Directory } from './inodes.ts';

/** HdfsFileStatusProto.Flags */
export const StatusFlag = { HAS_ACL: 1, HAS_CRYPT: 2, HAS_EC: 4, SNAPSHOT_ENABLED: 8 } as const;

/** Status of `PATH/.snapshot`, which is no inode. */
export const SNAPSHOT_LIST_STATUS: Plain = {
  fileType: 'IS_DIR',
  path: Buffer.alloc(0),
  length: 0,
  permission: { perm: 0o777 },
  owner: '',
  group: '',
  modification_time: 0,
  access_time: 0,
  block_replication: 0,
  blocksize: 0,
  fileId: 0,
  childrenNum: 0,
  storagePolicy: 0,
  flags: 0,
};

/** `localName` is empty when the caller asked for this very path. Files carry their list of blocks unless `places` says "left out". */
export function statusOf(inode: Inode, localName: string, places: BlockPlaces = 'left out'): Plain {
  const isDirectory = inode instanceof Directory;
  const coding = isDirectory ? inode.effectiveErasureCoding() : inode.erasureCodingPolicy;
  const status: Plain = {
    fileType: isDirectory ? 'IS_DIR' : 'IS_FILE',
    path: Buffer.from(localName),
    length: isDirectory ? 0 : inode.length,
    permission: { perm: inode.mode },
    owner: inode.owner,
    group: inode.group,
    modification_time: inode.mtimeMs,
    access_time: inode.atimeMs,
    block_replication: isDirectory ? 0 : inode.replication,
    blocksize: isDirectory ? 0 : inode.blockSize,
    fileId: inode.id,
    childrenNum: isDirectory ? inode.childCount : 0,
    storagePolicy: inode.effectivePolicy(),
    flags:
      (inode.acl.length > 0 ? StatusFlag.HAS_ACL : 0) |
      (inode.zoneRoot() !== null ? StatusFlag.HAS_CRYPT : 0) |
      (coding !== null ? StatusFlag.HAS_EC : 0) |
      (isDirectory && inode.snapshots !== null ? StatusFlag.SNAPSHOT_ENABLED : 0),
  };
  if (coding !== null) {
    status['ecPolicy'] = coding.reference();
  }
  if (!isDirectory && inode.encryption !== null) {
    status['fileEncryptionInfo'] = encryptionMessage(inode.encryption);
  }
  if (places !== 'left out' && !isDirectory) {
    status['locations'] = locatedBlocksOf(inode, places);
  }
  return status;
}

/** FileEncryptionInfoProto. */
function encryptionMessage({ key, iv, keyName, keyVersion }: FileEncryption): Plain {
  return {
    suite: 'AES_CTR_NOPADDING',
    cryptoProtocolVersion: 'ENCRYPTION_ZONES',
    key,
    iv,
    keyName,
    ezKeyVersionName: keyVersion,
  };
}
