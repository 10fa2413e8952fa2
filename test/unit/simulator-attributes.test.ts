import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { type Answer, DENIED, ILLEGAL, IO, NOT_FOUND, SimulatorCaller } from './simulator-caller.ts';

const ACL = 'org.apache.hadoop.hdfs.protocol.AclException';
const SYSTEM_POLICIES = [
  { id: 5, state: 'DISABLED' },
  { id: 2, state: 'DISABLED' },
  { id: 1, state: 'ENABLED' },
  { id: 3, state: 'DISABLED' },
  { id: 4, state: 'DISABLED' },
];

let nn: SimulatorCaller;

beforeAll(async () => {
  nn = await SimulatorCaller.start({
    datanodes: Array.from({ length: 6 }, (_, at) => ({ uuid: `d${at}`, ip: `10.0.0.${at}`, rack: `/r${at % 2}` })),
  });
});

afterAll(async () => {
  await nn.checkStandby();
  await nn[Symbol.asyncDispose]();
});

/** `default:user:bob:r-x`, as commands write entries. */
function entry(text: string): Plain {
  const parts = text.split(':');
  const isDefault = parts[0] === 'default';
  const [type, name, bits] = (isDefault ? parts.slice(1) : parts) as [string, string, string];
  const value = (bits[0] === 'r' ? 4 : 0) | (bits[1] === 'w' ? 2 : 0) | (bits[2] === 'x' ? 1 : 0);
  const actions = ['NONE', 'EXECUTE', 'WRITE', 'WRITE_EXECUTE', 'READ', 'READ_EXECUTE', 'READ_WRITE', 'PERM_ALL'];
  return {
    type: type.toUpperCase(),
    scope: isDefault ? 'DEFAULT' : 'ACCESS',
    permissions: actions[value]!,
    ...(name === '' ? {} : { name }),
  };
}

const change = (method: string, src: string, spec: readonly string[] = [], user?: string): Promise<Answer> =>
  nn.ask(
    method,
    method === 'removeAcl' || method === 'removeDefaultAcl' ? { src } : { src, aclSpec: spec.map(entry) },
    user,
  );

async function acl(src: string): Promise<{ entries: unknown; mode: string }> {
  const { result } = (await nn.ask('getAclStatus', { src })) as { result: Plain };
  return { entries: result['entries'], mode: ((result['permission'] as Plain)['perm'] as number).toString(8) };
}

describe('ACLs', () => {
  it('are changed entry by entry, and set whole', async () => {
    await nn.mkdirs('/acl/d');
    expect(await change('modifyAclEntries', '/acl/d', ['user:bob:rwx'])).toEqual({});
    expect(await acl('/acl/d')).toEqual({ entries: [entry('user:bob:rwx'), entry('group::r-x')], mode: '775' });
    expect(await nn.info('/acl/d')).toMatchObject({ flags: 1, permission: { perm: 0o775 } });
    await change('modifyAclEntries', '/acl/d', ['mask::r--', 'user:amy:-w-']);
    expect(await acl('/acl/d')).toEqual({
      entries: [entry('user:amy:-w-'), entry('user:bob:rwx'), entry('group::r-x')],
      mode: '745',
    });
    await change('removeAclEntries', '/acl/d', ['user:amy:---']);
    expect(await acl('/acl/d')).toMatchObject({ mode: '775' });
    await change('setAcl', '/acl/d', ['user::rwx', 'group::---', 'other::---', 'group:staff:r-x']);
    expect(await acl('/acl/d')).toEqual({ entries: [entry('group::---'), entry('group:staff:r-x')], mode: '750' });
    await change('removeAcl', '/acl/d');
    expect(await acl('/acl/d')).toEqual({ entries: [], mode: '700' });
    expect(await nn.info('/acl/d')).toMatchObject({ flags: 0 });
  });

  it('decide who may do what', async () => {
    await nn.mkdirs('/acl/p', 'root', 0o700);
    const read = (user: string): Promise<unknown> =>
      nn.page('/acl/p').then(() => nn.ask('checkAccess', { path: '/acl/p', mode: 'READ' }, user));
    expect(await read('amy')).toBe(
      `${DENIED}: Permission denied: user=amy, access=READ, inode="/acl/p":root:supergroup:drwx------`,
    );
    await change('modifyAclEntries', '/acl/p', ['user:amy:r--', 'group:editors:r-x']);
    expect(await read('amy')).toEqual({});
    expect(await read('carol')).toEqual({});
    expect(await read('bob')).toBe(
      `${DENIED}: Permission denied: user=bob, access=READ, inode="/acl/p":root:supergroup:drwxr-x---+`,
    );
    await change('modifyAclEntries', '/acl/p', ['mask::--x']);
    expect(await read('carol')).toContain('access=READ');
  });

  it('are inherited from the default entries of the directory', async () => {
    await nn.mkdirs('/acl/def');
    await change('modifyAclEntries', '/acl/def', ['default:user:bob:rwx']);
    const defaults = [
      'default:user::rwx',
      'default:user:bob:rwx',
      'default:group::r-x',
      'default:mask::rwx',
      'default:other::r-x',
    ];
    expect(await acl('/acl/def')).toEqual({ entries: defaults.map(entry), mode: '755' });
    await nn.mkdirs('/acl/def/sub');
    expect(await acl('/acl/def/sub')).toEqual({
      entries: [entry('user:bob:rwx'), entry('group::r-x'), ...defaults.map(entry)],
      mode: '775',
    });
    await nn.open('/acl/def/f', { unmasked: { perm: 0o666 } });
    expect(await acl('/acl/def/f')).toEqual({ entries: [entry('user:bob:rwx'), entry('group::r-x')], mode: '664' });
    expect(await change('modifyAclEntries', '/acl/def/f', ['default:user:bob:rwx'])).toBe(
      `${ACL}: Invalid ACL: only directories may have a default ACL. Path: /acl/def/f`,
    );
    await change('removeDefaultAcl', '/acl/def');
    expect(await acl('/acl/def')).toEqual({ entries: [], mode: '755' });
  });

  it.each([
    ['setAcl', ['user::rwx'], 'Invalid ACL: the user, group and other entries are required.'],
    ['modifyAclEntries', ['user:a:r--', 'user:a:rw-'], 'Invalid ACL: multiple entries with same scope, type and name.'],
    ['modifyAclEntries', ['other:a:r--'], 'Invalid ACL: this entry type must not have a name: other:a:r--.'],
    [
      'modifyAclEntries',
      Array.from({ length: 33 }, (_, at) => `user:u${at}:r--`),
      'Invalid ACL: ACL has 37 access entries, which exceeds maximum of 32.',
    ],
  ])('%s refuses %j', async (method, spec, message) => {
    await nn.mkdirs('/acl/r');
    expect(await change(method, '/acl/r', spec)).toBe(`${ACL}: ${message}`);
    expect(await acl('/acl/r')).toEqual({ entries: [], mode: '755' });
  });

  it('keep the mask that they need, and are the owner’s to change', async () => {
    await nn.mkdirs('/acl/m');
    await change('modifyAclEntries', '/acl/m', ['user:bob:r--']);
    expect(await change('removeAclEntries', '/acl/m', ['mask::---'])).toBe(
      `${ACL}: Invalid ACL: mask is required and cannot be deleted.`,
    );
    expect(await change('modifyAclEntries', '/acl/m', ['user:amy:r--'], 'bob')).toBe(
      `${DENIED}: Permission denied. user=bob is not the owner of inode=/acl/m`,
    );
    expect(await change('removeAcl', '/acl/none')).toBe(`${NOT_FOUND}: cannot find /acl/none`);
  });
});

describe('extended attributes', () => {
  it('of users are everyone’s, trusted ones the superuser’s, and others nobody’s', async () => {
    await nn.mkdirs('/x', 'root', 0o777);
    const set = (namespace: string, user: string, bytes = 1): Promise<Answer> =>
      nn.ask('setXAttr', { src: '/x', xAttr: { namespace, name: 'k', value: Buffer.alloc(bytes) }, flag: 1 }, user);
    expect(await set('USER', 'bob')).toEqual({});
    expect(await set('TRUSTED', 'bob')).toBe(`${DENIED}: User doesn't have permission for xattr: trusted.k`);
    expect(await set('TRUSTED', 'root')).toEqual({});
    expect(await set('SYSTEM', 'root')).toContain("User doesn't have permission for xattr: system.k");
    expect(await nn.ask('listXAttrs', { src: '/x' }, 'bob')).toEqual({ xAttrs: [{ namespace: 'USER', name: 'k' }] });
    expect(((await nn.ask('listXAttrs', { src: '/x' })) as Plain)['xAttrs']).toHaveLength(2);
    expect(await set('USER', 'bob', 16_384)).toBe(
      `${ILLEGAL}: The XAttr is too big. The maximum combined size of the name and value is 16384, but the total size is 16385`,
    );
  });
});

describe('erasure coding', () => {
  const policies = async (): Promise<unknown> => ((await nn.ask('getErasureCodingPolicies')) as Plain)['ecPolicies'];
  const policyOf = async (src: string): Promise<unknown> => nn.ask('getErasureCodingPolicy', { src });
  const setPolicy = (src: string, ecPolicyName?: string, user?: string): Promise<Answer> =>
    nn.ask('setErasureCodingPolicy', { src, ...(ecPolicyName === undefined ? {} : { ecPolicyName }) }, user);

  it('has policies that are added, enabled, disabled and removed', async () => {
    expect(await policies()).toEqual(SYSTEM_POLICIES);
    const schema = { codecName: 'rs', dataUnits: 4, parityUnits: 2, options: [] };
    const added = (await nn.ask('addErasureCodingPolicies', {
      ecPolicies: [
        { id: 0, schema, cellSize: 65_536 },
        { id: 0, schema: { ...schema, codecName: 'no' }, cellSize: 65_536 },
      ],
    })) as Plain;
    const own = { id: 64, name: 'RS-4-2-64k', schema, cellSize: 65_536 };
    expect(added['responses']).toMatchObject([
      { policy: own, succeed: true },
      { succeed: false, errorMsg: 'Codec name no is not supported' },
    ]);
    const name = { ecPolicyName: own.name };
    expect(await nn.ask('enableErasureCodingPolicy', name)).toEqual({});
    expect(await policies()).toContainEqual({ ...own, state: 'ENABLED' });
    expect(await nn.ask('disableErasureCodingPolicy', name)).toEqual({});
    expect(await policies()).toContainEqual({ ...own, state: 'DISABLED' });
    expect(await nn.ask('removeErasureCodingPolicy', name)).toEqual({});
    expect(await policies()).toContainEqual({ ...own, state: 'REMOVED' });
    expect(await nn.ask('removeErasureCodingPolicy', { ecPolicyName: 'RS-6-3-1024k' })).toBe(
      `${ILLEGAL}: System erasure coding policy RS-6-3-1024k cannot be removed`,
    );
    expect(await nn.ask('enableErasureCodingPolicy', { ecPolicyName: 'x' })).toBe(
      `${ILLEGAL}: The policy name x does not exist`,
    );
    expect(await nn.ask('enableErasureCodingPolicy', { ecPolicyName: 'x' }, 'bob')).toContain(DENIED);
    const { codec } = (await nn.ask('getErasureCodingCodecs')) as { codec: Plain[] };
    expect(codec.map((one) => one['codec'])).toEqual(['rs', 'rs-legacy', 'xor']);
  });

  it('holds for files below a directory', async () => {
    await nn.mkdirs('/ec/d');
    await nn.write('/ec/f', [100]);
    await nn.ask('enableErasureCodingPolicy', { ecPolicyName: 'XOR-2-1-1024k' });
    expect(await policyOf('/ec/d')).toEqual({});
    expect(await setPolicy('/ec', 'XOR-2-1-1024k')).toEqual({});
    expect(await policyOf('/ec/d')).toEqual({ ecPolicy: { id: 4 } });
    expect(await policyOf('/ec/f')).toEqual({});
    expect(await nn.info('/ec/d')).toMatchObject({ flags: 4, ecPolicy: { id: 4 } });
    await nn.write('/ec/d/striped', [3000]);
    expect(await nn.info('/ec/d/striped')).toMatchObject({ length: 3000, block_replication: 1, ecPolicy: { id: 4 } });
    const { summary } = (await nn.ask('getContentSummary', { path: '/ec/d' })) as { summary: Plain };
    expect(summary).toMatchObject({ length: 3000, spaceConsumed: 6000, erasureCodingPolicy: 'XOR-2-1-1024k' });
    await nn.write('/ec/d/replicated', [10], { ecPolicyName: 'replication' });
    expect(await nn.info('/ec/d/replicated')).toMatchObject({ block_replication: 3, flags: 0 });
    expect(await setPolicy('/ec/f', 'XOR-2-1-1024k')).toBe(
      `${IO}: Attempt to set an erasure coding policy for a file /ec/f`,
    );
    expect(await setPolicy('/ec/none')).toBe(`${NOT_FOUND}: Path not found: /ec/none`);
    expect(await setPolicy('/ec', 'RS-10-4-1024k')).toBe(
      `${ILLEGAL}: Policy 'RS-10-4-1024k' does not match any enabled erasure coding policies: ` +
        '[RS-6-3-1024k, XOR-2-1-1024k]. An erasure coding policy can be enabled by enableErasureCodingPolicy API.',
    );
    expect(await nn.ask('unsetErasureCodingPolicy', { src: '/ec/d' })).toBe(
      'org.apache.hadoop.hdfs.protocol.NoECPolicySetException: No erasure coding policy explicitly set on /ec/d',
    );
    expect(await setPolicy('/ec/d', 'replication')).toEqual({});
    expect(await policyOf('/ec/d')).toEqual({});
    expect(await nn.ask('unsetErasureCodingPolicy', { src: '/ec/d' })).toEqual({});
    expect(await policyOf('/ec/d')).toEqual({ ecPolicy: { id: 4 } });
  });

  it('is checked against DataNodes and racks', async () => {
    const verdict = (policies: string[]): Promise<Answer> => nn.ask('getECTopologyResultForPolicies', { policies });
    expect(await verdict(['RS-6-3-1024k'])).toEqual({
      response: {
        isSupported: false,
        resultMessage:
          '9 DataNodes are required for the erasure coding policies: RS-6-3-1024k. The number of DataNodes is only 6.',
      },
    });
    expect(await verdict(['RS-3-2-1024k'])).toEqual({
      response: {
        isSupported: false,
        resultMessage:
          '3 racks are required for the erasure coding policies: RS-3-2-1024k. The number of racks is only 2.',
      },
    });
    await nn.open('/no', { ecPolicyName: 'RS-6-3-1024k' });
    await expect(nn.addBlock('/no')).resolves.toMatchObject({ blockIndices: Buffer.from([0, 1, 2, 3, 4, 5]) });
    expect(await verdict(['x'])).toBe(`${ILLEGAL}: The given erasure coding policy x does not exist.`);
  });
});

describe('satisfyStoragePolicy', () => {
  it('is off', async () => {
    expect(await nn.ask('satisfyStoragePolicy', { src: '/' })).toContain(
      'UnsupportedActionException: Cannot request to satisfy storage policy when',
    );
  });
});
