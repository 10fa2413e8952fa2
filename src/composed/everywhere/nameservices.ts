import type { Engine } from '../../call/engine.ts';
import type { Target } from '../composition.ts';

/**
 * How long a call that needs every nameservice waits for one that cannot be reached: about as long as a failover takes. Less when the call's
 * budget is short, so that the answer names the nameservice instead of coming too late.
 */
export const REQUIRED_UNREACHED_MS = 30_000;

/** Of the call's budget. */
const UNREACHED_SHARE = 0.75;

/** `AskOptions.unreachedMs` of requests that nobody else can answer instead. */
export function requiredUnreachedMs({ settings }: Engine): number {
  return Math.min(REQUIRED_UNREACHED_MS, settings.callBudgetMs * UNREACHED_SHARE);
}

/** Indexes of the nameservices that calls for all of them go to, in the topology's order; one that only a mount point names has no NameNode to ask. */
export function enabledNameservices({ topology }: Engine): number[] {
  const enabled: number[] = [];
  for (const [index, { namenodes }] of topology.nameservices.entries()) if (namenodes.length > 0) enabled.push(index);
  return enabled;
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
