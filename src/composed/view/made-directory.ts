import type { Call } from '../../call/call.ts';
import type { Client } from '../../call/client.ts';
import type { Engine } from '../../call/engine.ts';
import { Failure } from '../../call/failure.ts';
import type { Method } from '../../call/method.ts';
import { decodePlain, encode, MessageError, messageType, type Plain } from '../../wire/messages.ts';
import { type Failed, FILE_NOT_FOUND, type Success, tellsOfFileAbove } from '../answer.ts';
import { type Composition, compose, type Outcome, type Target } from '../composition.ts';
import { type Located, locate, pathOf, requireTargets } from '../locate.ts';
import { answerOf } from '../locations/answers.ts';
import { answerAtLocations } from '../locations/at-locations.ts';
import { matches, searchLocations } from '../locations/search-locations.ts';
import { Refused } from '../refused.ts';
import { Entered, enterView } from './enter.ts';
import { isMissing } from './is-missing.ts';
import { failureOf } from './status.ts';
import { type SyntheticStatus, syntheticAt } from './synthetic.ts';

/** AclEntryProto.FsActionProto; the position is the value. */
const ACTIONS = [
  'NONE',
  'EXECUTE',
  'WRITE',
  'WRITE_EXECUTE',
  'READ',
  'READ_EXECUTE',
  'READ_WRITE',
  'PERM_ALL',
] as const;
const STICKY = 0o1000;

/** The storage policy of a directory when neither it nor one above sets any. */
const DEFAULT_STORAGE_POLICY = {
  policyId: 7,
  name: 'HOT',
  creationPolicy: { storageTypes: ['DISK'] },
  creationFallbackPolicy: { storageTypes: [] },
  replicationFallbackPolicy: { storageTypes: ['ARCHIVE'] },
};

/** What a NameNode answers for a plain directory with this status: the response message. Throws Refused as it would. */
type DirectoryAnswer = (call: Call, path: string, status: SyntheticStatus) => object;

const nothing: DirectoryAnswer = () => ({});
const noFile: DirectoryAnswer = (_call, path) => {
  throw new Refused(FILE_NOT_FOUND, `Path is not a file: ${path}`);
};

/** Methods of one path that a directory answers which only mount points make visible. */
const ANSWERS: Readonly<Record<string, DirectoryAnswer>> = {
  checkAccess,
  getAclStatus: (_call, _path, { owner, group, permission }) => ({
    result: { owner, group, sticky: (permission.perm & STICKY) !== 0, entries: [], permission },
  }),
  getXAttrs: nothing,
  listXAttrs: nothing,
  getEZForPath: nothing,
  getErasureCodingPolicy: nothing,
  getStoragePolicy: () => ({ storagePolicy: DEFAULT_STORAGE_POLICY }),
  getBlockLocations: noFile,
  getPreferredBlockSize: noFile,
  isFileClosed: noFile,
  getLinkTarget: (_call, path) => {
    throw new Refused(Failure.IO, `Path ${path} is not a symbolic link`);
  },
};

export const DIRECTORY_METHODS: readonly string[] = Object.keys(ANSWERS);

/** A method of one path, on the byte path; where nothing real is at or above mount points, a plain directory's answer. */
export function answerWithDirectory(engine: Engine, call: Call): void {
  const entered = enterView(engine, call, answerMade);
  if (entered === Entered.DONE) return;
  if (entered === Entered.SEVERAL && !engine.resolver.atMount) answerAtLocations(engine, call);
  else compose(engine, call, answerAt);
}

async function answerAt(c: Composition): Promise<Outcome> {
  const place = locate(c.engine, c.call, pathOf(c.call), false);
  const { targets, mountsBelow } = place;
  if (!mountsBelow) return await searchOrMake(c, place);
  const failures: Failed[] = [];
  let other: { answer: Success; target: Target } | null = null;
  for (const target of targets) {
    const answer = await c.ask(c.own, target);
    if (answer.ok) {
      if (matches(c, answer.body)) return answerOf(c, place, answer, target);
      other ??= { answer, target };
    } else if (!isMissing(answer, place)) {
      failures.push(answer);
    }
  }
  const failure = failureOf(failures, place, targets.length);
  if (failure !== null) throw failure;
  if (other !== null) return answerOf(c, place, other.answer, other.target);
  return answerMade(c.call, place.path, syntheticAt(c.engine, place) as SyntheticStatus);
}

/** A mount point of several destinations. */
async function searchOrMake(c: Composition, place: Located): Promise<Outcome> {
  const { unresolved, atMount } = place;
  // A mount point whose nameservices are disabled is there all the same.
  if (unresolved !== null && atMount)
    return answerMade(c.call, place.path, syntheticAt(c.engine, place) as SyntheticStatus);
  try {
    requireTargets(place);
    return await searchLocations(c, place);
  } catch (error) {
    const hasNothing = error instanceof Refused && (error.className === FILE_NOT_FOUND || tellsOfFileAbove(error));
    const synthetic = hasNothing ? syntheticAt(c.engine, place) : null;
    if (synthetic === null) throw error;
    return answerMade(c.call, place.path, synthetic);
  }
}

function answerMade(call: Call, path: string, status: SyntheticStatus): Buffer {
  const { name, response } = call.method as Method;
  return encode(messageType(response), (ANSWERS[name] ?? noFile)(call, path, status));
}

/** Of owner and others: groups are known to NameNodes alone. */
function checkAccess(call: Call, path: string, { owner, group, permission }: SyntheticStatus): object {
  const { mode } = requestOf(call);
  const { user } = (call.client as Client).identity;
  const wanted = ACTIONS.indexOf(mode as (typeof ACTIONS)[number]);
  const given = user === owner ? permission.perm >> 6 : permission.perm;
  if ((given & wanted) === wanted) return {};
  throw new Refused(
    Failure.ACCESS_CONTROL,
    `Permission denied: user=${user}, access=${mode}, inode="${path}":${owner}:${group}:d${formatMode(permission.perm)}`,
  );
}

function requestOf(call: Call): Plain {
  const { bodyStart, bodyEnd } = call.fields;
  try {
    const type = messageType((call.method as Method).request);
    return decodePlain(type, call.frame, call.start + bodyStart, call.start + bodyEnd);
  } catch (error) {
    if (error instanceof MessageError) throw new Refused(Failure.MALFORMED, error.message);
    throw error;
  }
}

/** As `ls` shows it: rwxr-xr-t. */
function formatMode(mode: number): string {
  let text = '';
  for (let bit = 8; bit >= 0; bit--) text += (mode >> bit) & 1 ? 'xwr'[bit % 3] : '-';
  if ((mode & STICKY) === 0) return text;
  return text.slice(0, -1) + (mode & 1 ? 't' : 'T');
}
