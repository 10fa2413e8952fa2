/** JSON schemas of what the API takes and gives. Those with a title are types of the OpenAPI document. */
import { MAX_DESTINATIONS, MAX_PATH_BYTES, ORDERS, STORAGE_TYPES } from '../../mount/entry.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** An object with these properties and no others. */
export function object(properties: Readonly<Record<string, Schema>>, required: readonly string[], more = {}): Schema {
  return { type: 'object', properties, required, additionalProperties: false, ...more };
}

/** As `object`, all properties required. */
export function answer(properties: Readonly<Record<string, Schema>>, more = {}): Schema {
  return object(properties, Object.keys(properties), more);
}

export function list(items: Schema): Schema {
  return { type: 'array', items };
}

export const TEXT: Schema = { type: 'string' };
export const FLAG: Schema = { type: 'boolean' };
export const PATH: Schema = { type: 'string', minLength: 1, maxLength: MAX_PATH_BYTES };
export const DATE: Schema = { type: 'integer', description: 'ms since 1970' };
export const DATE_OR_NONE: Schema = { type: ['integer', 'null'], description: 'ms since 1970; null: never yet' };

/** 64-bit values: numbers where those are exact in JSON, else text. */
const COUNT: Schema = {
  type: ['integer', 'string'],
  description: 'a number, as text where a number would not be exact',
};
const LIMIT: Schema = { type: ['integer', 'string', 'null'], description: 'as counts; null: no limit' };

const GIVEN_COUNT: Schema = {
  type: ['integer', 'string', 'null'],
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  pattern: '^[0-9]{1,19}$',
  description: 'a whole number, above 2^53 as text; null: no limit',
};
const GIVEN_BYTES: Schema = {
  ...GIVEN_COUNT,
  pattern: '^[0-9]{1,19}[kmgtpeKMGTPE]?[bB]?$',
  description: 'bytes, above 2^53 or with a unit (10t) as text; null: no limit',
};

function byType(schema: Schema): Schema {
  const properties = Object.fromEntries(STORAGE_TYPES.map((type) => [type, schema]));
  return { type: 'object', properties, additionalProperties: false };
}

const DESTINATION = answer(
  { nameservice: { type: 'string', minLength: 1 }, path: PATH },
  { title: 'Destination', description: 'a directory of a nameservice' },
);

const LIMITS = answer(
  { namespace: LIMIT, space: LIMIT, storageTypes: byType(LIMIT) },
  { title: 'Quota', description: 'limits of files and directories, and of bytes' },
);

const GIVEN_FIELDS = { namespace: GIVEN_COUNT, space: GIVEN_BYTES, storageTypes: byType(GIVEN_BYTES) };
export const GIVEN_LIMITS = object(GIVEN_FIELDS, [], {
  title: 'GivenQuota',
  description: 'limits of files and directories, and of bytes',
});

const USAGE = answer(
  { filesAndDirectories: COUNT, spaceBytes: COUNT, storageTypes: byType(COUNT) },
  { title: 'Usage', description: 'what quotas count; −1 where it is not known' },
);

const FIELDS = {
  path: { ...PATH, description: 'what clients see' },
  destinations: { type: 'array', items: DESTINATION, minItems: 1, maxItems: MAX_DESTINATIONS },
  order: { type: 'string', enum: ORDERS, description: 'which destination comes first' },
  readOnly: FLAG,
  faultTolerant: FLAG,
  owner: { type: 'string', minLength: 1 },
  group: { type: 'string', minLength: 1 },
  mode: { type: 'string', pattern: '^[01]?[0-7]{3}$', description: 'octal digits' },
} as const;

const OWN_FIELDS = { dateCreated: DATE, dateModified: DATE, usage: USAGE };

export const MOUNT = answer(
  { ...FIELDS, quota: LIMITS, ...OWN_FIELDS },
  { title: 'Mount', description: 'a mount entry' },
);

/** What was read may be sent back: what only the router knows is not looked at. */
const UNREAD = Object.fromEntries(
  Object.keys(OWN_FIELDS).map((name) => [name, { readOnly: true, description: 'as it was read; not looked at' }]),
);
const GIVEN = { ...FIELDS, quota: GIVEN_LIMITS, ...UNREAD };

export const NEW_MOUNT = object(GIVEN, ['path', 'destinations'], {
  title: 'NewMount',
  description: 'a mount entry; order HASH, mode 0755 and no limits where nothing is said, owned by who adds it',
});
export const WHOLE_MOUNT = object(GIVEN, ['destinations'], {
  title: 'WholeMount',
  description: 'all of a mount entry, as NewMount; owner and group stay where they are not given',
});
export const MOUNT_CHANGES = object(GIVEN, [], {
  title: 'MountChanges',
  description: 'fields of a mount entry; what is not given stays',
  minProperties: 1,
});

export const QUOTA_IN_USE = answer(
  { path: PATH, quota: LIMITS, usage: USAGE },
  { title: 'QuotaInUse', description: 'the limits of a mount entry and what counts against them' },
);

const NAMENODE = answer(
  {
    id: { type: 'string', description: 'empty for the only one of a nameservice without ids' },
    rpcAddress: TEXT,
    webAddress: TEXT,
    state: { type: 'string', enum: ['ACTIVE', 'STANDBY', 'OBSERVER', 'UNAVAILABLE', 'UNKNOWN'] },
    takesCalls: { type: 'boolean', description: 'it is taken for the active one: calls go to it' },
    configured: { type: 'boolean', description: 'false: only other routers report it, this one does not ask it' },
    safeMode: { type: ['boolean', 'null'], description: 'as routers last reported; null: none has' },
    reportedAt: DATE_OR_NONE,
    answeredAt: DATE_OR_NONE,
  },
  { title: 'NameNode' },
);

export const NAMESERVICE = answer(
  {
    id: TEXT,
    enabled: FLAG,
    default: { type: 'boolean', description: 'paths without a mount entry lead there' },
    namenodes: list(NAMENODE),
  },
  { title: 'Nameservice' },
);

export const ROUTER = answer(
  {
    address: { type: 'string', description: 'host:port of the client port, the name of the router' },
    self: { type: 'boolean', description: 'the one that answers' },
    status: TEXT,
    version: TEXT,
    compileInfo: TEXT,
    adminAddress: { type: 'string', description: 'empty without an admin port' },
    dateStarted: DATE,
    dateModified: { ...DATE, description: 'when it last wrote its record, ms since 1970' },
    mountTableVersion: { type: 'integer', description: 'date of its newest mount entry, ms since 1970; −1: none' },
    membershipVersion: { type: 'integer', description: 'date of its newest NameNode report, ms since 1970; −1: none' },
  },
  { title: 'Router' },
);

export const SAFE_MODE = answer({ on: FLAG }, { title: 'SafeMode' });

export const REFUSAL = answer(
  { RemoteException: answer({ exception: TEXT, javaClassName: TEXT, message: TEXT, remedy: TEXT }) },
  { title: 'Refusal', description: 'why a request is not done, and what to do about it' },
);
