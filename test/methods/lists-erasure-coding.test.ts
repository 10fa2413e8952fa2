import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { refusal } from '../support/several-mounts.ts';

const POLICIES = 'ClientProtocol.getErasureCodingPolicies';
const ADD = 'ClientProtocol.addErasureCodingPolicies';
const XOR = 'XOR-2-1-1024k';
/** The built-in ones are told by their numbers. */
const XOR_ID = 4;

const custom = (dataUnits: number): Plain => ({
  id: 0,
  schema: { codecName: 'rs', dataUnits, parityUnits: 1, options: [] },
  cellSize: 64 * 1024,
});

async function policiesOf(client: MethodClient): Promise<Plain[]> {
  return (await client.call(POLICIES))['ecPolicies'] as Plain[];
}

const statesOf = async (client: MethodClient, id = XOR_ID): Promise<unknown[]> =>
  (await policiesOf(client)).filter((policy) => policy['id'] === id).map(({ state }) => state);

describe('erasure coding policies', () => {
  prove(POLICIES, 'equal ones once', {}, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    expect(await policiesOf(client)).toEqual(await policiesOf(ns0));
    await ns1.call(ADD, { ecPolicies: [custom(4)] });
    const byId = (policies: Plain[]): Plain[] => policies.sort((a, b) => Number(a['id']) - Number(b['id']));
    expect(byId(await policiesOf(client))).toEqual(byId(await policiesOf(ns1)));
    // Both states are shown of one that is enabled somewhere only.
    await ns0.call('ClientProtocol.enableErasureCodingPolicy', { ecPolicyName: XOR });
    expect((await statesOf(client)).sort()).toEqual(['DISABLED', 'ENABLED']);
  });

  prove('ClientProtocol.getErasureCodingCodecs', 'each once', {}, async (cluster) => {
    const [client, ns0] = [await cluster.connect(), await cluster.direct('ns0')];
    const own = await ns0.call('ClientProtocol.getErasureCodingCodecs');
    expect(own['codec']).not.toEqual([]);
    expect(await client.call('ClientProtocol.getErasureCodingCodecs')).toEqual(own);
  });

  prove('ClientProtocol.enableErasureCodingPolicy', 'in all nameservices', {}, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    await client.call('ClientProtocol.enableErasureCodingPolicy', { ecPolicyName: XOR });
    for (const each of [client, ns0, ns1]) expect(await statesOf(each)).toEqual(['ENABLED']);
  });

  prove('ClientProtocol.disableErasureCodingPolicy', 'in all nameservices', {}, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    for (const ns of [ns0, ns1]) await ns.call('ClientProtocol.enableErasureCodingPolicy', { ecPolicyName: XOR });
    await client.call('ClientProtocol.disableErasureCodingPolicy', { ecPolicyName: XOR });
    for (const each of [client, ns0, ns1]) expect(await statesOf(each)).toEqual(['DISABLED']);
  });

  prove(ADD, 'in all nameservices, with one verdict for each', {}, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    const wrong: Plain = { ...custom(3), cellSize: 1 << 30 };
    const { responses } = await client.call<{ responses: Plain[] }>(ADD, { ecPolicies: [custom(4), wrong] });
    expect(responses.map(({ succeed }) => succeed)).toEqual([true, false]);
    expect(responses[1]?.['errorMsg']).toMatch(/\[failed: ns0, ns1; done: nowhere\]$/);
    const added = (responses[0] as { policy: Plain }).policy['name'];
    for (const ns of [ns0, ns1]) expect((await policiesOf(ns)).map(({ name }) => name)).toContain(added);
  });

  prove('ClientProtocol.removeErasureCodingPolicy', 'in all nameservices', {}, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    const { responses } = await client.call<{ responses: Plain[] }>(ADD, { ecPolicies: [custom(4)] });
    const { id, name } = (responses[0] as { policy: { id: number; name: string } }).policy;
    await client.call('ClientProtocol.removeErasureCodingPolicy', { ecPolicyName: name });
    for (const ns of [ns0, ns1]) expect(await statesOf(ns, id)).toEqual(['REMOVED']);
    expect(await refusal(client.call('ClientProtocol.removeErasureCodingPolicy', { ecPolicyName: XOR }))).toBe(
      `HadoopIllegalArgumentException: System erasure coding policy ${XOR} cannot be removed [failed: ns0, ns1; done: nowhere]`,
    );
  });
});
