import { type Answer, isNotFound } from '../answer.ts';
import type { Located } from '../locate.ts';

const PARENT_NOT_DIRECTORY = 'org.apache.hadoop.fs.ParentNotDirectoryException';

/**
 * The answer says that nothing is there. Above mount points something is there in any case: a file in its way, of which mount points make a
 * directory, is as good as nothing.
 */
export function isMissing(answer: Answer, { mountsBelow }: Located): boolean {
  if (isNotFound(answer)) return true;
  return mountsBelow && !answer.ok && answer.refused.className === PARENT_NOT_DIRECTORY;
}
