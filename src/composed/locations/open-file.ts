import { type Answer, requireAll } from '../answer.ts';
import type { Composition, Outcome, Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import { failoverWaitMs } from '../waiting.ts';
import { failureOf } from './answers.ts';
import { type Standing, survey } from './survey.ts';

/**
 * A call on a file that its writer has open, when no block pool tells where: fsync, and addBlock and complete before the first block.
 *
 * NameNodes find such a file by its inode number, which every nameservice gives out by itself, and the same client may have a file of that
 * number open in another nameservice of the mount: asked in turn, a NameNode would give it a block of the wrong file. So the location that
 * has the path with that number gets the call. A file that was renamed while it is open is where only its number is known.
 */
export async function findOpenFile(c: Composition, located: Located): Promise<Outcome> {
  const { targets } = located;
  const first = targets[0] as Target;
  const fileId = Number(c.request()['fileId'] ?? 0);
  const options = { unreachedMs: failoverWaitMs(c.engine) };
  // Most files are in the first location.
  const [atFirst = []] = await survey(c, [{ path: located.path, targets: [first] }]);
  if (atFirst.some((each) => isOpenFile(each, fileId))) return first;
  const others = atFirst.some(({ failed }) => failed?.unavailable === true) ? targets : targets.slice(1);
  const [atOthers = []] = await survey(c, [{ path: located.path, targets: others }], options);
  const holder = atOthers.find((each) => isOpenFile(each, fileId));
  if (holder !== undefined) return holder.target;
  // One that could not be asked may have it.
  requireAll(atOthers.flatMap(({ failed }) => (failed?.unavailable === true ? [failed] : [])));
  if (fileId === 0) return first;
  const byNumber = `/.reserved/.inodes/${fileId}`;
  const inodes = targets.map((target) => ({ ...target, path: null, prefixBytes: 0 }));
  const [numbered = []] = await survey(c, [{ path: byNumber, targets: inodes }], options);
  const holders = numbered.flatMap(({ kind }, at) => (kind === 'file' ? [targets[at] as Target] : []));
  // Nobody has it: any of them says so.
  return holders.length < 2 ? (holders[0] ?? first) : await askInTurn(c, holders);
}

function isOpenFile({ kind, status }: Standing, fileId: number): boolean {
  return kind === 'file' && (fileId === 0 || Number(status['fileId'] ?? 0) === fileId);
}

/** Of several files of that number, the one that its writer has open. */
async function askInTurn(c: Composition, holders: readonly Target[]): Promise<Buffer> {
  const answers: Answer[] = [];
  for (const target of holders) {
    const answer = await c.ask(c.own, target);
    if (answer.ok) return answer.body;
    answers.push(answer);
  }
  throw failureOf(answers);
}
