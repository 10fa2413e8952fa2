/** Encryption zones. The key provider that a real NameNode needs is taken to have every key that is asked for, in one version. */
import { createHash } from 'node:crypto';
import type { FileEncryption } from './inodes.ts';

/** How long a re-encryption of a zone takes. */
const REENCRYPTION_MS = 1000;
const KEY_BYTES = 16;

export interface Reencryption {
  readonly submittedMs: number;
  readonly files: number;
  /** Time of the cancelling, null when it was not cancelled. */
  canceledMs: number | null;
}

export interface EncryptionZone {
  readonly keyName: string;
  /** The last one, running or not. */
  reencryption: Reencryption | null;
}

/** Time at which a re-encryption ended or will have ended. */
export function reencryptionEndMs({ submittedMs, canceledMs }: Reencryption): number {
  return canceledMs ?? submittedMs + REENCRYPTION_MS;
}

export function keyVersionOf(keyName: string): string {
  return `${keyName}@0`;
}

/** What a new file is encrypted with: the same for the same inode, so that all NameNodes say the same. */
export function encryptFile(zone: EncryptionZone, inodeId: number): FileEncryption {
  const digest = createHash('sha256').update(`${zone.keyName} ${inodeId}`).digest();
  return {
    keyName: zone.keyName,
    keyVersion: keyVersionOf(zone.keyName),
    key: digest.subarray(0, KEY_BYTES),
    iv: digest.subarray(KEY_BYTES),
  };
}
