import { USER } from './world.ts';

export const HOME = `/user/${USER}`;
export const TRASH_ROOT = `${HOME}/.Trash`;
export const CURRENT = `${TRASH_ROOT}/Current`;

export function isInTrash(path: string): boolean {
  return path === TRASH_ROOT || path.startsWith(`${TRASH_ROOT}/`);
}
