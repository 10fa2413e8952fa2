import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rig } from './support.ts';

/** What other tests take for granted of the rig itself. */

let rig: Rig;

beforeAll(async () => {
  rig = await Rig.start({ nameservices: 1 });
});

afterAll(async () => {
  await rig?.[Symbol.asyncDispose]();
});

async function hung(): Promise<(string | null)[]> {
  const { namenodes } = (await rig.ctl({ op: 'status' })) as { namenodes: { hung: string | null }[] };
  return namenodes.map((namenode) => namenode.hung);
}

describe('control requests', () => {
  it('resume ends what hang began, without a mode both', async () => {
    const at = { ns: 'ns0', nn: 'nn0' };
    await rig.ctl({ op: 'hang', ...at });
    expect(await hung()).toEqual(['rpc', null]);
    await rig.ctl({ op: 'hang', ...at, mode: 'lock' });
    await rig.ctl({ op: 'resume', ...at });
    expect(await hung()).toEqual([null, null]);
  });
});
