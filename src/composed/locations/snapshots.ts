import { detailOf, Failure } from '../../call/failure.ts';
import type { Plain } from '../../wire/messages.ts';
import { requireAll } from '../answer.ts';
import type { Composition, Outcome, Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import { Refused } from '../refused.ts';
import { failoverWaitMs } from '../waiting.ts';
import { answerOf } from './answers.ts';
import { askEverywhere, inAnswerOrder } from './ask-everywhere.ts';
import { searchLocations } from './search-locations.ts';

/** createSnapshot: in all locations under one name, also when the client leaves the name to the NameNodes, whose clocks differ. */
export async function createSnapshot(c: Composition, located: Located): Promise<Outcome> {
  const message = c.request();
  if (!located.everywhere) return await searchLocations(c, located);
  if ((message['snapshotName'] ?? '') !== '') return await askEverywhere(c, located);
  const request = c.other(c.method, { ...message, snapshotName: defaultSnapshotName(new Date()) });
  return await askEverywhere(c, located, request);
}

/** As NameNodes name them: `s20240131-235959.123`, in local time. */
function defaultSnapshotName(now: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  const time = `${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
  return `s${day}-${time}.${String(now.getMilliseconds()).padStart(3, '0')}`;
}

/** getSnapshotDiffReport: what differs in any location of a directory that exists in all; each path and kind of difference once. */
export async function mergeDiffReports(c: Composition, located: Located): Promise<Outcome> {
  const targets = inAnswerOrder(c, located.targets);
  if (!located.everywhere) return await searchLocations(c, located);
  const answers = requireAll(await c.askAll(c.own, targets, { unreachedMs: failoverWaitMs(c.engine) }));
  const reports = answers.map((answer, at): Plain => {
    const own = answerOf(c, located, answer, targets[at] as Target);
    return c.read(own)['diffReport'] as Plain;
  });
  const entries = new Map<string, Plain>();
  for (const report of reports) {
    for (const entry of report['diffReportEntries'] as Plain[]) {
      const { fullpath, targetPath, modificationLabel } = entry;
      const paths = [fullpath, targetPath].map((path) => (Buffer.isBuffer(path) ? path.toString('latin1') : ''));
      const key = [modificationLabel, ...paths].join('\0');
      if (!entries.has(key)) entries.set(key, entry);
    }
  }
  return c.write({ diffReport: { ...reports[0], diffReportEntries: [...entries.values()] } });
}

/**
 * getSnapshotDiffReportListing: its pages name directories by inode numbers, which each nameservice gives out by itself. Clients that are told
 * that there is no such method ask for the whole report instead.
 */
export async function refuseDiffPages(c: Composition, located: Located): Promise<Outcome> {
  if (!located.everywhere) return await searchLocations(c, located);
  throw new Refused(
    Failure.NO_SUCH_METHOD,
    `${c.method.name} is not supported on ${located.path}, which lies in several nameservices; use getSnapshotDiffReport`,
    detailOf(Failure.NO_SUCH_METHOD),
  );
}
