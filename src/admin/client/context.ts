import { userInfo } from 'node:os';
import { readOverrides } from '../../commands/config-flags.ts';
import { ExitCode, printLine, UsageError } from '../../commands/usage.ts';
import { formatAddress, type HostPort, parseAddress } from '../../config/address.ts';
import { ConfigError, ValueError } from '../../config/config-error.ts';
import { Configuration, configurationDirectory } from '../../config/configuration.ts';
import { Groups, readGroupOptions } from '../../config/groups.ts';
import { parseDurationMs } from '../../config/values.ts';
import { AdminClient } from './admin-client.ts';
import { type FlagValues, isGiven, textFlag } from './arguments.ts';
import { plainText } from './text.ts';

const ADMIN_ADDRESS = 'dfs.federation.router.admin-address';
const DEFAULT_ADMIN_PORT = 8111;
const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 3_600_000;
const MAX_CONNECT_TIMEOUT_MS = 5_000;
const MAX_ADDRESSES = 1_000;

/** Whom a verb asks, as whom, and how it prints. */
export interface AdminContext {
  /** Configuration files and `--set`. */
  readonly configuration: Configuration;
  /** Admin ports of routers, at least one. */
  readonly addresses: readonly HostPort[];
  readonly user: string;
  readonly timeoutMs: number;
  /** One JSON value on stdout instead of words. */
  readonly json: boolean;
}

/** Throws UsageError or ConfigError. */
export function readContext(flags: FlagValues, environment: NodeJS.ProcessEnv = process.env): AdminContext {
  const configuration = readConfiguration(flags, environment);
  return {
    configuration,
    addresses: readAddresses(flags, configuration),
    user: readUser(flags, environment),
    timeoutMs: readTimeout(textFlag(flags, 'timeout')),
    json: isGiven(flags, 'json'),
  };
}

/** Opens a connection to the first router that answers. `addresses`: those of the context unless given. */
export function connect(context: AdminContext, addresses = context.addresses): Promise<AdminClient> {
  const { user, timeoutMs } = context;
  return AdminClient.connect({
    addresses,
    user,
    timeoutMs,
    connectTimeoutMs: Math.min(timeoutMs, MAX_CONNECT_TIMEOUT_MS),
    onUnreachable: (_, reason) => warn(`${reason}; asking the next router`),
  });
}

/** Owner and group of a new entry: the user and the first of the user's groups, as the Java tool fills them in. */
export async function readOwner({ configuration, user }: AdminContext): Promise<{ owner: string; group: string }> {
  const owner = user.split(/[/@]/, 1)[0] ?? user;
  const [group = owner] = await new Groups(readGroupOptions(configuration)).groupsOf(owner);
  return { owner, group };
}

/** Prints the value as JSON where that was asked for, else the lines; exit code 0. */
export function printResult(context: Pick<AdminContext, 'json'>, value: unknown, lines: Iterable<string>): number {
  if (context.json) printLine(toJson(value));
  else for (const line of lines) printLine(line);
  return ExitCode.OK;
}

/** JSON text; 64-bit values are numbers where those are exact, else text. */
export function toJson(value: unknown): string {
  return JSON.stringify(
    value,
    (_, each: unknown) =>
      typeof each === 'bigint' ? (Number.isSafeInteger(Number(each)) ? Number(each) : String(each)) : each,
    2,
  );
}

/** Something that people should know, on stderr. */
export function warn(message: string): void {
  process.stderr.write(`switchyard admin: ${plainText(message)}\n`);
}

/** HOST:PORT of `--admin` or of an argument; `flag` is how messages call it. */
export function readAddress(flag: string, text: string): HostPort {
  try {
    const { host, port } = parseAddress(text, DEFAULT_ADMIN_PORT);
    if (port === 0) throw new ValueError('has no port to connect to', 'the admin port of a router, 8111 by default');
    return { host: reachable(host), port };
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    throw new UsageError(`${flag} ${text}: ${error.message}; allowed: ${error.allowed}`);
  }
}

function readConfiguration(flags: FlagValues, environment: NodeJS.ProcessEnv): Configuration {
  const { set } = flags;
  const overrides = readOverrides(Array.isArray(set) ? { set: set as string[] } : {});
  const given = textFlag(flags, 'config-dir');
  const directory = given ?? configurationDirectory(environment);
  try {
    return new Configuration({ directory, overrides, environment });
  } catch (error) {
    // Files that only the environment names are no reason to refuse when the routers are named.
    if (!(error instanceof ConfigError) || given !== undefined || flags['admin'] === undefined) throw error;
    warn(`${error.message}; the configuration files are left out`);
    return new Configuration({ overrides, environment });
  }
}

function readAddresses(flags: FlagValues, configuration: Configuration): HostPort[] {
  const given = flags['admin'];
  if (!Array.isArray(given)) {
    const { host, port } = configuration.readAddress(ADMIN_ADDRESS, DEFAULT_ADMIN_PORT);
    if (port === 0) {
      throw configuration.error(ADMIN_ADDRESS, 'has no port to connect to', 'name the router with --admin HOST:PORT');
    }
    return [{ host: reachable(host), port }];
  }
  const addresses = given.flatMap((text: string) => text.split(',')).map((text) => readAddress('--admin', text));
  if (addresses.length > MAX_ADDRESSES)
    throw new UsageError(`--admin: at most ${MAX_ADDRESSES} addresses are possible`);
  const distinct = new Map(addresses.map((address) => [formatAddress(address.host, address.port), address]));
  return [...distinct.values()];
}

/** A server may listen on all addresses of its machine; a client needs one of them. */
function reachable(host: string): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
}

function readUser(flags: FlagValues, environment: NodeJS.ProcessEnv): string {
  const given = textFlag(flags, 'user') ?? environment['HADOOP_USER_NAME'] ?? '';
  if (given !== '') return given;
  try {
    return userInfo().username;
  } catch {
    throw new UsageError('the user of this process has no name; give --user NAME');
  }
}

function readTimeout(text: string | undefined): number {
  if (text === undefined) return DEFAULT_TIMEOUT_MS;
  try {
    const ms = parseDurationMs(text, 's');
    if (ms >= 1 && ms <= MAX_TIMEOUT_MS) return ms;
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
  }
  throw new UsageError(`--timeout ${text}: give a time from 1ms to 1h, for instance 500ms or 30s`);
}
