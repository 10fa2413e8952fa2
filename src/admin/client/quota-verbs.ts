import { ExitCode, UsageError } from '../../commands/usage.ts';
import { type MountQuota, NO_QUOTA, STORAGE_TYPES, type StorageType } from '../../mount/entry.ts';
import { quotaText } from '../mount-rules.ts';
import { readArguments, requireCount, textFlag } from './arguments.ts';
import { type AdminContext, connect, printResult, warn } from './context.ts';
import { readSource } from './mount-flags.ts';
import { listedOf } from './mount-verbs.ts';
import { parseByteLimit, parseLimit } from './sizes.ts';
import { plainText, reasonOf } from './text.ts';
import type { Verb } from './verb.ts';

const SET_FLAGS = { 'ns-quota': { type: 'string' }, 'ss-quota': { type: 'string' } } as const;
const SET_USAGE = 'set-quota SOURCE [--ns-quota N] [--ss-quota BYTES]';
const TYPE_FLAGS = { 'storage-type': { type: 'string' } } as const;
const TYPE_USAGE = 'set-storage-type-quota SOURCE --storage-type TYPE BYTES';

export const QUOTA_VERBS: readonly Verb[] = [
  {
    name: 'set-quota',
    aliases: ['setQuota'],
    usage: SET_USAGE,
    summary: 'limit the names below a mount, or its bytes (10g); what is not given stays',
    run: setQuota,
  },
  {
    name: 'set-storage-type-quota',
    aliases: ['setStorageTypeQuota'],
    usage: TYPE_USAGE,
    summary: `limit the bytes of one storage type: ${STORAGE_TYPES.join(', ')}`,
    run: setTypeQuota,
  },
  {
    name: 'clear-quota',
    aliases: ['clrQuota', 'clr-quota'],
    usage: 'clear-quota SOURCE…',
    summary: 'remove the limits of names and bytes',
    run: (args, contextOf) =>
      clear(args, contextOf, 'clear-quota', (quota) => ({ ...quota, namespaceQuota: NO_QUOTA, spaceQuota: NO_QUOTA })),
  },
  {
    name: 'clear-storage-type-quota',
    aliases: ['clrStorageTypeQuota', 'clr-storage-type-quota'],
    usage: 'clear-storage-type-quota SOURCE…',
    summary: 'remove the limits of all storage types',
    run: (args, contextOf) =>
      clear(args, contextOf, 'clear-storage-type-quota', (quota) => ({
        ...quota,
        types: quota.types.map((type) => ({ ...type, quota: NO_QUOTA })),
      })),
  },
];

async function setQuota(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  const { positionals, flags } = readArguments(args, SET_FLAGS);
  requireCount(positionals, 1, 1, SET_USAGE);
  const names = textFlag(flags, 'ns-quota');
  const bytes = textFlag(flags, 'ss-quota');
  if (names === undefined && bytes === undefined) {
    throw new UsageError(`no limit is given; write: switchyard admin ${SET_USAGE}`);
  }
  const namespaceQuota = names === undefined ? null : readLimit('--ns-quota', names, parseLimit(names));
  const spaceQuota = bytes === undefined ? null : readLimit('--ss-quota', bytes, parseByteLimit(bytes));
  return await changeQuotas(positionals, contextOf(), (quota) => ({
    ...quota,
    namespaceQuota: namespaceQuota ?? quota.namespaceQuota,
    spaceQuota: spaceQuota ?? quota.spaceQuota,
  }));
}

async function setTypeQuota(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  const { positionals, flags } = readArguments(args, TYPE_FLAGS);
  requireCount(positionals, 2, 2, TYPE_USAGE);
  const [source = '', bytes = ''] = positionals;
  const given = textFlag(flags, 'storage-type') ?? '';
  const type = STORAGE_TYPES.find((known) => known === given.toUpperCase());
  if (type === undefined) throw new UsageError(`--storage-type ${given}: use one of ${STORAGE_TYPES.join(', ')}`);
  const limit = readLimit('the limit', bytes, parseByteLimit(bytes));
  return await changeQuotas([source], contextOf(), (quota) => withTypeLimit(quota, type, limit));
}

async function clear(
  args: readonly string[],
  contextOf: () => AdminContext,
  name: string,
  change: (quota: MountQuota) => MountQuota,
): Promise<number> {
  const { positionals } = readArguments(args, {});
  requireCount(positionals, 1, Number.MAX_SAFE_INTEGER, `${name} SOURCE…`);
  return await changeQuotas(positionals, contextOf(), change);
}

function withTypeLimit(quota: MountQuota, type: StorageType, limit: bigint): MountQuota {
  const known = quota.types.find((each) => each.type === type);
  const others = quota.types.filter((each) => each.type !== type);
  return { ...quota, types: [...others, { type, quota: limit, consumed: known?.consumed ?? 0n }] };
}

/** Changes the limits of each mount; one that fails stops no other. */
async function changeQuotas(
  sources: readonly string[],
  context: AdminContext,
  change: (quota: MountQuota) => MountQuota,
): Promise<number> {
  const paths = sources.map(readSource);
  using client = await connect(context);
  await client.refreshMounts();
  const changed: object[] = [];
  const lines: string[] = [];
  let failed = 0;
  const fail = (reason: string): void => {
    failed++;
    warn(reason);
  };
  for (const path of paths) {
    try {
      const before = await client.findMount(path);
      if (before === null) {
        fail(`there is no mount ${path} that ${context.user} may read`);
        continue;
      }
      const entry = { ...before.entry, quota: change(before.entry.quota), dateModified: Date.now() };
      if (await client.updateMount(entry, before)) {
        changed.push(listedOf(entry));
        lines.push(plainText(`${path} ${quotaText(entry.quota)}`));
      } else {
        fail(`the router did not change mount ${path}`);
      }
    } catch (error) {
      // Alone it ends the command, with the same words.
      if (paths.length === 1) throw error;
      fail(`mount ${path}: ${reasonOf(error)}`);
    }
  }
  printResult(context, changed, lines);
  return failed === 0 ? ExitCode.OK : ExitCode.FAILED;
}

function readLimit(what: string, text: string, limit: bigint | null): bigint {
  if (limit !== null && limit > 0n) return limit;
  throw new UsageError(`${what} ${text}: give a whole number above 0; clear-quota removes a limit`);
}
