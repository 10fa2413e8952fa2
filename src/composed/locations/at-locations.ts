import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import type { Method } from '../../call/method.ts';
import { PROTOCOLS } from '../../call/methods.ts';
import { type Composition, compose, type Outcome, type Target } from '../composition.ts';
import { type Located, locate, pathOf, requireTargets } from '../locate.ts';
import { strayTrashOfHome } from '../trash.ts';
import { createZone } from './ask-empty.ts';
import { askEverywhere } from './ask-everywhere.ts';
import { createFile } from './create-file.ts';
import { deleteHome } from './delete-home.ts';
import { deletePath } from './delete-path.ts';
import { makeDirectory } from './make-directory.ts';
import { findOpenFile } from './open-file.ts';
import { findScattered } from './scattered-directory.ts';
import { searchLocations } from './search-locations.ts';
import { createSnapshot, mergeDiffReports, refuseDiffPages } from './snapshots.ts';

/** Of a path that has two locations or more. */
type Way = (c: Composition, located: Located) => Promise<Outcome>;

/** Methods that do not go the way that their row in the method table says. */
const WAYS: Readonly<Record<string, Way>> = {
  create: createFile,
  mkdirs: makeDirectory,
  delete: deletePath,
  createEncryptionZone: createZone,
  createSnapshot,
  fsync: findOpenFile,
  getSnapshotDiffReport: mergeDiffReports,
  getSnapshotDiffReportListing: refuseDiffPages,
};

/** A method of one path whose mount has several destinations, or that is a directory which several nameservices share. */
export function answerAtLocations(engine: Engine, call: Call): void {
  compose(engine, call, async (c) => {
    const { method } = c;
    const located = locate(engine, call, pathOf(call), method.mountCheck);
    const targets = requireTargets(located);
    const stray = method.name === 'delete' ? strayTrashOfHome(engine, call, located.path) : null;
    if (stray !== null) return await deleteHome(c, located, stray);
    if (targets.length === 1) return targets[0] as Target;
    const isScattered = method.several === 'every' && located.scattered && !located.atMount && !located.mountsBelow;
    const place = isScattered ? await findScattered(c, located) : located;
    const [only] = place.targets;
    if (place.targets.length === 1 && c.hasOwnIds(only as Target)) return only as Target;
    return await wayOf(method, place)(c, place);
  });
}

function wayOf(method: Method, located: Located): Way {
  const isClientProtocol = PROTOCOLS[method.protocol]?.simpleName === 'ClientProtocol';
  if (isClientProtocol && Object.hasOwn(WAYS, method.name)) return WAYS[method.name] as Way;
  const isShared = located.everywhere || located.atMount || located.mountsBelow;
  return method.several === 'every' && isShared ? askEverywhere : searchLocations;
}
