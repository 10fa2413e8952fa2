/** Names and marks of the directories that this tool makes for itself, and how it reaches them. */
import { type CreateOptions, HdfsClient } from '../../control/hdfs-client.ts';
import type { LoadPlan, Target } from '../plan/plan.ts';
import { LoadError } from '../run/load-error.ts';

/** Last component of every directory that this tool makes for itself, and the only one whose removal it asks for. */
const OWN_NAME = /^switchyard-load-[0-9a-f]{8}$/;
/** Everything is open to all users of the run. */
export const DIRECTORY_MODE = 0o777;
const FILE_MODE = 0o666;
/** Of a router that has to find another NameNode first. */
export const CALL_TIMEOUT_MS = 60_000;

export type Server = Pick<LoadPlan, 'host' | 'port'>;

/** Name of the marker in an own directory, from the path of that directory. */
export function markerPath(own: string): string {
  return `${own}/.${own.slice(own.lastIndexOf('/') + 1)}`;
}

/** Whether a directory's name is one that this tool gives. */
export function isOwnName(name: string): boolean {
  return OWN_NAME.test(name);
}

/** Refuses by name alone: whatever else goes wrong, nothing but directories of this tool is ever filled or deleted. */
export function checkOwn({ directory, own }: Target): void {
  const name = own.slice(own.lastIndexOf('/') + 1);
  if (directory === '' || own !== `${directory}/${name}` || !isOwnName(name)) {
    throw new LoadError(`${own} is not a directory of this tool below ${directory}: nothing was touched`);
  }
}

/** Who makes and removes the own directories of a plan. */
export function ownerOf({ owner, users }: Pick<LoadPlan, 'owner' | 'users'>): string {
  const user = owner ?? users[0];
  if (user === undefined) throw new LoadError('the plan has no user');
  return user;
}

/** A file never brings back a directory that was removed in the meantime. */
export function fileOptions(): CreateOptions {
  return { createParent: false, permission: FILE_MODE };
}

export async function connect({ host, port }: Server, user: string, timeoutMs: number): Promise<HdfsClient> {
  return await HdfsClient.connect({ host, port, user, timeoutMs });
}
