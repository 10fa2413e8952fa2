import { execFile } from 'node:child_process';
import type { Configuration } from './configuration.ts';

const OVERRIDES = 'hadoop.user.group.static.mapping.overrides';
const LOOK_UP_WITHIN_MS = 5_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;
/** Users whose groups are remembered; the one asked longest ago makes room. */
const MAX_CACHED_USERS = 10_000;
/** Look-ups at one time, each a process of its own, and users that wait for theirs; who comes beyond is told so. */
export const MAX_LOOK_UPS = 8;
export const MAX_WAITING_LOOK_UPS = 256;
/** The answer of the operating system when a user is unknown, ends in a non-zero exit code. */
const UNKNOWN_USER: readonly string[] = [];

export interface GroupOptions {
  readonly overrides: ReadonlyMap<string, readonly string[]>;
  readonly cacheMs: number;
  /** How long an unknown user, or one without groups, is remembered. */
  readonly negativeCacheMs: number;
  /** Looks one user up; the default asks the operating system. Resolves with no groups for unknown users. */
  readonly lookUp?: (user: string) => Promise<readonly string[]>;
  readonly now?: () => number;
}

export function readGroupOptions(configuration: Configuration): GroupOptions {
  return {
    overrides: readOverrides(configuration),
    cacheMs: configuration.readLong('hadoop.security.groups.cache.secs') * 1_000,
    negativeCacheMs: configuration.readLong('hadoop.security.groups.negative-cache.secs') * 1_000,
  };
}

/** Groups of users: fixed ones from the configuration, else those of the operating system, remembered for a while. */
export class Groups {
  readonly #options: GroupOptions;
  readonly #cache = new Map<string, { groups: Promise<readonly string[]>; until: number }>();
  readonly #now: () => number;
  #lookUps = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: GroupOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Primary group first; none for a user whom the operating system does not know. Rejects when it does not answer, or has too many to answer. */
  async groupsOf(user: string): Promise<readonly string[]> {
    const fixed = this.#options.overrides.get(user);
    if (fixed !== undefined) return fixed;
    const cached = this.#cache.get(user);
    if (cached !== undefined && cached.until > this.#now()) return await cached.groups;
    const groups = this.#lookUp(user);
    // Callers that come while the question is open share it.
    const entry = { groups, until: Number.POSITIVE_INFINITY };
    this.#remember(user, entry);
    try {
      const found = await groups;
      entry.until = this.#now() + (found.length > 0 ? this.#options.cacheMs : this.#options.negativeCacheMs);
      return found;
    } catch (error) {
      if (this.#cache.get(user) === entry) this.#cache.delete(user);
      throw error;
    }
  }

  async #lookUp(user: string): Promise<readonly string[]> {
    if (this.#lookUps === MAX_LOOK_UPS) {
      if (this.#waiting.length === MAX_WAITING_LOOK_UPS) {
        throw new Error(
          `the groups of user ${user} cannot be looked up now: ${MAX_WAITING_LOOK_UPS} other users wait for theirs; try again later, or list the user in ${OVERRIDES}`,
        );
      }
      // Who ends gives its place on.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#lookUps++;
    try {
      return await (this.#options.lookUp ?? askOperatingSystem)(user);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#lookUps--;
      else next();
    }
  }

  #remember(user: string, entry: { groups: Promise<readonly string[]>; until: number }): void {
    this.#cache.delete(user);
    if (this.#cache.size >= MAX_CACHED_USERS) {
      const [oldest] = this.#cache.keys();
      if (oldest !== undefined) this.#cache.delete(oldest);
    }
    this.#cache.set(user, entry);
  }

  /** Forgets what was looked up. */
  clear(): void {
    this.#cache.clear();
  }
}

/*
 *   overrides = entry *( ";" entry )
 *   entry     = user [ "=" [ group *( "," group ) ] ]
 */
function readOverrides(configuration: Configuration): Map<string, readonly string[]> {
  const overrides = new Map<string, readonly string[]>();
  for (const entry of configuration.readTrimmed(OVERRIDES).split(';')) {
    if (entry.trim() === '') continue;
    const [user = '', groups = '', ...rest] = entry.split('=');
    if (user.trim() === '' || rest.length > 0) {
      throw configuration.error(OVERRIDES, `'${entry}' names no user and groups`, 'write USER=GROUP,GROUP;USER=GROUP');
    }
    const names = groups.split(',').map((group) => group.trim());
    overrides.set(
      user.trim(),
      names.filter((group) => group !== ''),
    );
  }
  return overrides;
}

function askOperatingSystem(user: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const options = { timeout: LOOK_UP_WITHIN_MS, maxBuffer: MAX_OUTPUT_BYTES, encoding: 'utf8' } as const;
    execFile('id', ['-Gn', '--', user], options, (error, stdout) => {
      if (error === null)
        resolve(
          stdout
            .trim()
            .split(/\s+/)
            .filter((group) => group !== ''),
        );
      else if (typeof error.code === 'number' && error.killed !== true) resolve(UNKNOWN_USER);
      else
        reject(
          new Error(`the groups of user ${user} cannot be looked up: ${error.message.split('\n', 1)[0]}`, {
            cause: error,
          }),
        );
    });
  });
}
