import type { Composition, Outcome } from '../composition.ts';
import { locate, path2Of, pathOf, requireTargets } from '../locate.ts';
import { acrossNameservices, nameserviceOf, pairUp, placeOf, type WholePair } from './pairs.ts';
import { findStatuses } from './status.ts';

/**
 * createSymlink with several locations on a side. A NameNode follows a link in its own tree: the link goes where its target is, or, while
 * that is nowhere, to the first location that can have both. One that is there already is refused by who has it.
 */
export async function linkBetween(c: Composition): Promise<Outcome> {
  const { engine, call, method } = c;
  const target = locate(engine, call, pathOf(call), method.mountCheck);
  const link = locate(engine, call, path2Of(call), method.mountCheck2);
  const targets = requireTargets(target);
  const links = requireTargets(link);
  // In the order of the link's locations, which is that of new files.
  const whole: WholePair[] = [];
  for (const { source: linkAt, target: targetAt } of pairUp(links, targets)) {
    if (targetAt !== null) whole.push({ source: targetAt, target: linkAt });
  }
  const [first] = whole;
  if (first === undefined) {
    const [from, to] = [targets.map(nameserviceOf), links.map(nameserviceOf)];
    throw acrossNameservices(engine, method, target.path, link.path, from, to);
  }
  const [taken, aims] = await findStatuses(c, [link, target]);
  const there = whole.find((pair) => taken?.found.some((each) => each.target === pair.target));
  const best = there ?? whole.find((pair) => aims?.found.some((each) => each.target === pair.source)) ?? first;
  return placeOf(best);
}
