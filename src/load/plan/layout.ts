/**
 * Names below the own directory of a run, the only place where it changes anything:
 *
 *   <own>/files/d<NN>/f<NNNNNN>                     made before the run, read by it
 *   <own>/scratch/t<thread>/b<NNNNN>/n<NNNNNNNNNN>  made, renamed and deleted by one loader thread
 */
import type { Target } from './plan.ts';

export type OwnDirectory = Pick<Target, 'own'>;

/** So that a listing has a usual size. */
export const FILES_PER_DIRECTORY = 100;
/** Names made in one group `b…`: far below the entries that a NameNode allows in a directory (1,048,576). */
export const SCRATCH_GROUP_NAMES: number = 1 << 17;
export const SCRATCH_GROUP_DIGITS = 5;
export const SCRATCH_NUMBER_DIGITS = 10;

export function fileDirectory(target: OwnDirectory, file: number): string {
  return `${target.own}/files/d${String(Math.floor(file / FILES_PER_DIRECTORY)).padStart(2, '0')}`;
}

export function filePath(target: OwnDirectory, file: number): string {
  return `${fileDirectory(target, file)}/f${String(file).padStart(6, '0')}`;
}

/** Made before the run. Its groups come into being with the first name in them. */
export function scratchDirectory(target: OwnDirectory, thread: number): string {
  return `${target.own}/scratch/t${thread}`;
}

/** Every group and number gives a path of the same length. */
export function scratchPath(target: OwnDirectory, thread: number, group: number, number: number): string {
  const inGroup = String(number).padStart(SCRATCH_NUMBER_DIGITS, '0');
  return `${scratchDirectory(target, thread)}/b${String(group).padStart(SCRATCH_GROUP_DIGITS, '0')}/n${inGroup}`;
}

/** `path` lies below the own directory, whatever a server makes of dots and double slashes. */
export function isInside(target: OwnDirectory, path: string): boolean {
  if (!path.startsWith(`${target.own}/`)) return false;
  const below = path.slice(target.own.length + 1).split('/');
  return below.every((name) => name !== '' && name !== '.' && name !== '..');
}
