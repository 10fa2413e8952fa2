/**
 * Names below the own directory of a run, the only place where it changes anything:
 *
 *   <own>/files/d<NN>/f<NNNNNN>                     made before the run, read by it
 *   <own>/scratch/t<thread>/b<NNNNN>/n<NNNNNNNNNN>  made, renamed and deleted by one loader thread
 *
 * All directories are made before the run: no call of the run makes the directories around what it names, so that none that is late can bring
 * back a removed directory without its marker.
 */
import type { LoadPlan, Target } from './plan.ts';

export type OwnDirectory = Pick<Target, 'own'>;

/** So that a listing has a usual size. */
export const FILES_PER_DIRECTORY = 100;
/** HDFS refuses longer paths. */
export const MAX_PATH_BYTES = 8000;
/** Names that are made in one group `b…` before the next one has its turn. */
export const SCRATCH_GROUP_NAMES: number = 1 << 17;
/**
 * Groups of all threads and targets together. A NameNode allows 1,048,576 entries in a directory: there is room for 134 million names that stay;
 * beyond, it refuses more.
 */
const SCRATCH_GROUPS = 128;
export const SCRATCH_GROUP_DIGITS = 5;
export const SCRATCH_NUMBER_DIGITS = 10;

export function fileDirectory(target: OwnDirectory, file: number): string {
  return `${target.own}/files/d${String(Math.floor(file / FILES_PER_DIRECTORY)).padStart(2, '0')}`;
}

export function filePath(target: OwnDirectory, file: number): string {
  return `${fileDirectory(target, file)}/f${String(file).padStart(6, '0')}`;
}

export function scratchDirectory(target: OwnDirectory, thread: number): string {
  return `${target.own}/scratch/t${thread}`;
}

/** Groups that each thread has at each target. */
export function countScratchGroups({ threads, targets }: Pick<LoadPlan, 'threads' | 'targets'>): number {
  return Math.ceil(SCRATCH_GROUPS / Math.max(1, threads * targets.length));
}

/** Group of the name with this number, of so many groups that take turns. */
export function groupOfName(number: number, groups: number): number {
  return Math.floor(number / SCRATCH_GROUP_NAMES) % groups;
}

export function scratchGroup(target: OwnDirectory, thread: number, group: number): string {
  return `${scratchDirectory(target, thread)}/b${String(group).padStart(SCRATCH_GROUP_DIGITS, '0')}`;
}

/** Every group and number gives a path of the same length. */
export function scratchPath(target: OwnDirectory, thread: number, group: number, number: number): string {
  const inGroup = String(number).padStart(SCRATCH_NUMBER_DIGITS, '0');
  return `${scratchGroup(target, thread, group)}/n${inGroup}`;
}

/** `path` lies below the own directory, whatever a server makes of dots and double slashes. */
export function isInside(target: OwnDirectory, path: string): boolean {
  if (!path.startsWith(`${target.own}/`)) return false;
  const below = path.slice(target.own.length + 1).split('/');
  return below.every((name) => name !== '' && name !== '.' && name !== '..');
}
