import type { Engine } from '../../call/engine.ts';
import type { Target } from '../composition.ts';

/** Indexes of the nameservices with NameNodes, in the topology's order; one that only a mount point names has no NameNode to ask. */
export function servedNameservices({ topology }: Engine): number[] {
  const served: number[] = [];
  for (const [index, { namenodes }] of topology.nameservices.entries()) if (namenodes.length > 0) served.push(index);
  return served;
}

/** Of those the ones that calls for all nameservices go to: they are not disabled. */
export function enabledNameservices(engine: Engine): number[] {
  const { block } = engine;
  const served = servedNameservices(engine);
  return block.anyDisabled ? served.filter((index) => !block.isDisabled(index)) : served;
}

/** Each enabled nameservice once: whichever of its NameNodes can answer. */
export function everyNameservice(engine: Engine): Target[] {
  return enabledNameservices(engine).map((nameservice) => ({ nameservice, path: null, prefixBytes: 0 }));
}

/** Each NameNode of each enabled nameservice, standby ones and observers too. */
export function everyNameNode(engine: Engine): Target[] {
  return enabledNameservices(engine).flatMap((nameservice) =>
    (engine.topology.nameservices[nameservice]?.namenodes ?? []).map((_, namenode) => ({
      nameservice,
      path: null,
      prefixBytes: 0,
      namenode,
    })),
  );
}

/** `ns0`, or with one NameNode of it `ns0 (host:port)`. */
export function nameOfTarget(engine: Engine, { nameservice, namenode }: Target): string {
  const name = engine.nameserviceName(nameservice);
  if (namenode === undefined) return name;
  const address = engine.topology.nameservices[nameservice]?.namenodes[namenode];
  return address === undefined ? name : `${name} (${address.host}:${address.port})`;
}
