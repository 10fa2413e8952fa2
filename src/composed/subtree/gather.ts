import { setImmediate as nextTurn } from 'node:timers/promises';
import { Failure } from '../../call/failure.ts';
import type { Plain } from '../../wire/messages.ts';
import { type Answer, isBelowFile, isNotFound, tellingFailure } from '../answer.ts';
import type { AskOptions, Composition, Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import { failureOf } from '../locations/answers.ts';
import type { Refused } from '../refused.ts';
import { clientMethod, type Request } from '../request.ts';
import { readAnswer } from '../unreadable.ts';
import { failoverWaitMs } from '../waiting.ts';
import { type Cell, cutCells } from './cells.ts';
import { countTwice } from './count-twice.ts';
import { isFile } from './counts.ts';
import { type Place, placeAt, type Region } from './regions.ts';

/** What NameNodes say about everything that is seen below a path. */
export interface Subtree {
  /** In which the numbers of `counted` make the total; a cell that is not there is left out. */
  readonly counted: readonly { readonly cell: Cell; readonly count: Plain }[];
  /** Counts of the path itself, in the order of those of its locations that have it. */
  readonly own: readonly Plain[];
  /** The response message that is the whole answer as it came, null when there is more to it. */
  readonly whole: Buffer | null;
  /** Directories that `counted` has more than once, because they exist in several locations of one mount. */
  readonly directoriesTwice: bigint;
  /** Mount points, and directories above them, with nothing behind them in any nameservice. */
  readonly directoriesOfMounts: bigint;
}

export interface GatherOptions {
  /** getContentSummary or getQuotaUsage: a request with a `path`, a response with one count message. */
  readonly method: 'getContentSummary' | 'getQuotaUsage';
  /** A nameservice that cannot be asked is left out, as long as some answer. */
  readonly partial: boolean;
  /** Not the path's own (only) location: what else is counted is in it, or can only be seen through it. */
  readonly needsOwn?: boolean;
}

const COUNT_FIELD = { getContentSummary: 'summary', getQuotaUsage: 'usage' } as const;

/** Requests made, or answers read, before other events have their turn. */
const CELLS_PER_TURN = 64;

interface Asked {
  readonly request: Request;
  readonly target: Target;
}

/**
 * Counts everything that is seen below a path once. Throws Refused: what a NameNode has against it (permissions), what a nameservice that
 * cannot be asked failed with when it may not be left out or nothing else answered, and FileNotFoundException when nothing is there.
 */
export async function gatherSubtree(
  c: Composition,
  located: Located,
  regions: readonly Region[],
  { method, partial, needsOwn = false }: GatherOptions,
): Promise<Subtree> {
  const cells = cutCells(regions);
  const needsDirectories = (cell: Cell | null): boolean =>
    cell !== null && cell.owner !== null && (regions[cell.owner.region] as Region).places.length > 1;
  const asked = new Map<string, Asked>();
  for (const [i, cell] of cells.entries()) {
    if (i % CELLS_PER_TURN === CELLS_PER_TURN - 1) await nextTurn();
    const isOwn = cell.topOf.some(({ region }) => region === 0);
    if (cell.weight !== 0 || isOwn) askCell(c, asked, method, cell, isOwn);
    if (needsDirectories(cell) || needsDirectories(cell.around)) askCell(c, asked, 'getContentSummary', cell, isOwn);
  }
  for (const { clientPath, places, between } of regions) {
    for (const place of places) {
      for (const path of between) askStatus(c, asked, placeAt(place, clientPath, path), path);
      if (!isCounted(asked, place)) askStatus(c, asked, place, clientPath);
    }
  }

  const answers = await askNamed(c, asked, (request) => partial && !(needsOwn && request === c.own));
  const found = new Found(c, answers, directoriesByMounts(regions), partial);
  if (needsOwn) found.requireOwn(cells, method, located);
  const counted = await found.countCells(cells, method);
  const own = (regions[0] as Region).places
    .map((place) => found.count(method, place))
    .filter((count) => count !== null);
  if (counted.length === 0 && own.length === 0) found.requireSome(cells, method, located);

  let directoriesOfMounts = own.length > 0 ? 0n : 1n;
  for (const [i, { clientPath, places, between, isTrash }] of regions.entries()) {
    if (i > 0 && !isTrash && !places.some((place) => found.exists(place))) directoriesOfMounts++;
    for (const path of between) {
      if (!places.some((place) => found.exists(placeAt(place, clientPath, path)))) directoriesOfMounts++;
    }
  }
  const only =
    counted.length === 1 && directoriesOfMounts === 0n ? (counted[0] as (typeof counted)[number]).cell : null;
  return {
    counted,
    own,
    whole: only?.topOf.some(({ region }) => region === 0) ? found.body(method, only) : null,
    directoriesTwice: await countTwice(c, regions, cells, (cell) => found.directories(cell), partial),
    directoriesOfMounts,
  };
}

function askCell(c: Composition, asked: Map<string, Asked>, method: string, cell: Cell, isOwn: boolean): void {
  const name = nameOf(method, cell);
  if (asked.has(name)) return;
  const request = isOwn && method === c.method.name ? c.own : c.other(clientMethod(method), { path: cell.clientPath });
  asked.set(name, { request, target: targetOf(cell) });
}

function askStatus(c: Composition, asked: Map<string, Asked>, place: Place, clientPath: string): void {
  if (isCounted(asked, place)) return;
  const name = nameOf('getFileInfo', place);
  if (asked.has(name)) return;
  const request = c.other(clientMethod('getFileInfo'), { src: clientPath });
  asked.set(name, { request, target: targetOf(place) });
}

/** What counts a path also tells whether it is there. */
function isCounted(asked: ReadonlyMap<string, Asked>, place: Place): boolean {
  return asked.has(nameOf('getContentSummary', place)) || asked.has(nameOf('getQuotaUsage', place));
}

async function askNamed(
  c: Composition,
  asked: ReadonlyMap<string, Asked>,
  mayBeLeftOut: (request: Request) => boolean,
): Promise<ReadonlyMap<string, Answer>> {
  const ask = async (some: [string, Asked][], options: AskOptions): Promise<[string, Answer][]> => {
    const requests = some.map(([, each]) => each);
    const answers = await c.askEach(requests, options);
    return some.map(([name], i) => [name, answers[i] as Answer]);
  };
  const all = [...asked];
  const needed = all.filter(([, { request }]) => !mayBeLeftOut(request));
  const others = all.filter(([, { request }]) => mayBeLeftOut(request));
  const answers = await Promise.all([ask(needed, { unreachedMs: failoverWaitMs(c.engine) }), ask(others, {})]);
  return new Map(answers.flat());
}

/** Places above mount points. */
function directoriesByMounts(regions: readonly Region[]): ReadonlySet<string> {
  const names = new Set<string>();
  const trash = regions.find(({ isTrash }) => isTrash)?.clientPath;
  for (const { clientPath, places, hidden, between } of regions) {
    if (hidden.every((path) => path === trash)) continue;
    for (const place of places) {
      names.add(nameOf('', place));
      for (const path of between) names.add(nameOf('', placeAt(place, clientPath, path)));
    }
  }
  return names;
}

function targetOf({ nameservice, path, prefixBytes }: Place): Target {
  return { nameservice, path: Buffer.from(path), prefixBytes };
}

function nameOf(method: string, { nameservice, path }: Place): string {
  return `${method} ${nameservice} ${path}`;
}

/** The answers, read. */
class Found {
  readonly #c: Composition;
  readonly #answers: ReadonlyMap<string, Answer>;
  /** Names of places that mount points make directories of: a file there is as good as nothing. */
  readonly #directories: ReadonlySet<string>;
  readonly #partial: boolean;
  readonly #counts = new Map<string, Plain | null>();

  constructor(
    c: Composition,
    answers: ReadonlyMap<string, Answer>,
    directories: ReadonlySet<string>,
    partial: boolean,
  ) {
    this.#c = c;
    this.#answers = answers;
    this.#directories = directories;
    this.#partial = partial;
  }

  /** The counts that make the total. What is hidden is taken away only where what it is hidden in was counted. */
  async countCells(cells: readonly Cell[], method: GatherOptions['method']): Promise<{ cell: Cell; count: Plain }[]> {
    const counted: { cell: Cell; count: Plain }[] = [];
    for (const [i, cell] of cells.entries()) {
      if (i % CELLS_PER_TURN === CELLS_PER_TURN - 1) await nextTurn();
      if (cell.weight === 0) continue;
      const around = cell.weight < 0 ? seenAround(cell) : null;
      if (around !== null && this.count(method, around) === null) continue;
      const count = this.count(method, cell, around === null && this.#partial);
      if (count !== null) counted.push({ cell, count });
    }
    return counted;
  }

  /** The count of a path; null when nothing is there, or its nameservice is left out. Throws Refused. */
  count(method: GatherOptions['method'], place: Place, mayBeLeftOut: boolean = this.#partial): Plain | null {
    const name = nameOf(method, place);
    const known = this.#counts.get(name);
    if (known !== undefined && (known !== null || mayBeLeftOut)) return known;
    const answer = this.#answers.get(name);
    let count: Plain | null = null;
    if (answer?.ok) {
      count = readAnswer(this.#c, answer, clientMethod(method))[COUNT_FIELD[method]] as Plain;
      if (method === 'getContentSummary' && isFile(count) && this.#directories.has(nameOf('', place))) count = null;
    } else if (answer !== undefined && !isMissing(answer) && !(answer.unavailable && mayBeLeftOut)) {
      throw answer.refused;
    } else if (answer?.unavailable) {
      const where = this.#c.engine.nameserviceName(place.nameservice);
      this.#c.engine.note(`${method}: left out ${place.path} of ${where}: ${answer.refused.message}`);
    }
    this.#counts.set(name, count);
    return count;
  }

  /** Throws Refused when the path's own location has nothing there, or cannot be asked. */
  requireOwn(cells: readonly Cell[], method: GatherOptions['method'], located: Located): void {
    for (const cell of cells) {
      const isOwn = cell.topOf.some(({ region }) => region === 0);
      if (isOwn && this.count(method, cell, false) === null) this.requireSome([cell], method, located);
    }
  }

  body(method: GatherOptions['method'], place: Place): Buffer | null {
    const answer = this.#answers.get(nameOf(method, place));
    return answer?.ok ? answer.body : null;
  }

  directories(cell: Cell): bigint {
    const summary = this.count('getContentSummary', cell);
    return summary === null ? 0n : BigInt(summary['directoryCount'] as number | bigint);
  }

  /** A path that may not be looked at is there. Throws Refused when its nameservice may not be left out. */
  exists(place: Place): boolean {
    for (const method of ['getContentSummary', 'getQuotaUsage'] as const) {
      if (this.#answers.has(nameOf(method, place))) return this.count(method, place) !== null;
    }
    const answer = this.#answers.get(nameOf('getFileInfo', place));
    if (answer === undefined || isMissing(answer)) return false;
    if (answer.ok) {
      const status = readAnswer(this.#c, answer, clientMethod('getFileInfo'))['fs'] as Plain | undefined;
      return status?.['fileType'] === 'IS_DIR' || (status !== undefined && !this.#directories.has(nameOf('', place)));
    }
    if (answer.refused.className === Failure.ACCESS_CONTROL) return true;
    if (!answer.unavailable || !this.#partial) throw answer.refused;
    return false;
  }

  /** Nothing was counted: right only where mount points make a directory and every nameservice says that nothing is behind them. */
  requireSome(cells: readonly Cell[], method: GatherOptions['method'], located: Located): void {
    const answers: Answer[] = [];
    for (const cell of cells) {
      const answer = this.#answers.get(nameOf(method, cell));
      if (answer !== undefined) answers.push(answer);
    }
    const missing = answers.filter(isMissing);
    const failure: Refused | null =
      missing.length < answers.length ? tellingFailure(answers.filter((each) => !isMissing(each))) : null;
    if (failure !== null) throw failure;
    if (located.atMount || located.mountsBelow) return;
    throw failureOf(missing) ?? located.unresolved ?? new Error(`${located.path} has no location`);
  }
}

function isMissing(answer: Answer): answer is Answer & { ok: false } {
  return isNotFound(answer) || isBelowFile(answer);
}

/** The nearest cell around that is counted with what is below it. */
function seenAround(cell: Cell): Cell | null {
  let around = cell.around;
  while (around !== null && around.weight <= 0) around = around.around;
  return around;
}
