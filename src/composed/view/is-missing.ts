import { type Answer, isBelowFile, isNotFound } from '../answer.ts';
import type { Located } from '../locate.ts';

/**
 * The answer says that nothing is there. At and above mount points something is there in any case: a file in its way, of which mount points
 * make a directory, is as good as nothing.
 */
export function isMissing(answer: Answer, { atMount, mountsBelow }: Located): boolean {
  return isNotFound(answer) || ((atMount || mountsBelow) && isBelowFile(answer));
}
