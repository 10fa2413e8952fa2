import type { Plain } from '../../wire/messages.ts';
import { encode, messageType } from '../../wire/messages.ts';
import type { Composition, Outcome } from '../composition.ts';
import { askRequired } from '../everywhere/fan-out.ts';
import { everyNameservice } from '../everywhere/nameservices.ts';

const POLICY = 'hadoop.hdfs.ErasureCodingPolicyProto';

/** getErasureCodingPolicies: equal ones once. One that is enabled here and not there stands in the list with both states. */
export function unitePolicies(responses: readonly Plain[]): Plain {
  const policies = new Map<string, Plain>();
  for (const { ecPolicies } of responses) {
    for (const policy of ecPolicies as Plain[]) {
      const key = encode(messageType(POLICY), policy).toString('latin1');
      if (!policies.has(key)) policies.set(key, policy);
    }
  }
  return { ecPolicies: [...policies.values()] };
}

/** getErasureCodingCodecs: each codec once, with all coders that some nameservice has for it. */
export function uniteCodecs(responses: readonly Plain[]): Plain {
  const coders = new Map<string, Set<string>>();
  for (const { codec: codecs } of responses) {
    for (const { codec, coders: listed } of codecs as Plain[]) {
      const known = coders.get(codec as string) ?? new Set();
      coders.set(codec as string, known);
      for (const coder of (listed as string).split(/\s*,\s*/)) known.add(coder);
    }
  }
  return { codec: [...coders].map(([codec, all]) => ({ codec, coders: [...all].join(', ') })) };
}

/**
 * addErasureCodingPolicies: one verdict for each policy of the request. A policy that a nameservice does not take has failed, and its message
 * says where.
 */
export async function addPolicies(c: Composition): Promise<Outcome> {
  const { engine } = c;
  const answers = await askRequired(c, c.own, everyNameservice(engine));
  const verdicts = answers.map(({ nameservice, body }) => ({
    name: engine.nameserviceName(nameservice),
    responses: c.read(body)['responses'] as Plain[],
  }));
  const asked = c.request()['ecPolicies'] as Plain[];
  const responses = asked.map((policy, at): Plain => {
    const own = verdicts.map(({ name, responses: all }) => ({ name, verdict: all[at] ?? { policy, succeed: false } }));
    const failed = own.filter(({ verdict }) => verdict['succeed'] !== true);
    const [first] = failed;
    if (first === undefined) return (own[0] as (typeof own)[number]).verdict;
    const namesOf = (some: typeof own): string => some.map(({ name }) => name).join(', ') || 'nowhere';
    const done = own.filter((each) => !failed.includes(each));
    const where = ` [failed: ${namesOf(failed)}; done: ${namesOf(done)}]`;
    const errorMsg = `${String(first.verdict['errorMsg'] ?? '')}${own.length > 1 ? where : ''}`;
    return { ...first.verdict, errorMsg };
  });
  return c.write({ responses });
}
