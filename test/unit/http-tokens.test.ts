import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Configuration } from '../../src/config/configuration.ts';
import { readHttpSettings, TOKEN_FILE_KEY } from '../../src/config/http-settings.ts';
import {
  MAX_TOKEN_CHARACTERS,
  MAX_TOKEN_FILE_BYTES,
  MAX_TOKENS,
  MIN_TOKEN_CHARACTERS,
  TokenFile,
  TokenFileError,
} from '../../src/http/tokens.ts';

const ALICE = 'a'.repeat(MIN_TOKEN_CHARACTERS);
const BOB = 'b-._~+/=0123456789ABCD';

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'switchyard-tokens-'));
  path = join(directory, 'tokens');
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function write(text: string, mode = 0o600): void {
  writeFileSync(path, text);
  chmodSync(path, mode);
}

async function troubleOf(file = new TokenFile(path)): Promise<string> {
  try {
    await file.check();
  } catch (error) {
    if (error instanceof TokenFileError) return `${error.message}; ${error.remedy}`;
    throw error;
  }
  return '';
}

describe('the file of tokens', () => {
  it('gives users by their tokens, several to one user too', async () => {
    write(`# operators\n\nalice ${ALICE}\n  bob\t${BOB}  \r\nalice ${ALICE}x\n`);
    const file = new TokenFile(path);
    expect(await file.userOf(ALICE)).toBe('alice');
    expect(await file.userOf(`${ALICE}x`)).toBe('alice');
    expect(await file.userOf(BOB)).toBe('bob');
    for (const other of ['', ALICE.slice(1), `${ALICE}y`, BOB.toLowerCase(), '#', 'operators'.repeat(3)]) {
      expect(await file.userOf(other), other).toBeNull();
    }
  });

  it('counts as it is now: written anew, replaced, gone, back', async () => {
    write(`alice ${ALICE}\n`);
    const file = new TokenFile(path);
    expect(await file.userOf(ALICE)).toBe('alice');
    // Of the same length within the same tick of the clock.
    write(`bobby ${ALICE}\n`);
    expect(await file.userOf(ALICE)).toBe('bobby');
    writeFileSync(join(directory, 'new'), `bob ${BOB}\n`, { mode: 0o400 });
    renameSync(join(directory, 'new'), path);
    expect(await file.userOf(ALICE)).toBeNull();
    expect(await file.userOf(BOB)).toBe('bob');
    rmSync(path);
    await expect(file.userOf(BOB)).rejects.toThrow('cannot be read (ENOENT)');
    write(`bob ${BOB}\n`);
    expect(await file.userOf(BOB)).toBe('bob');
    chmodSync(path, 0o640);
    await expect(file.userOf(BOB)).rejects.toThrow('others than its owner may use it (mode 0640)');
    write('nonsense\n');
    await expect(file.userOf(BOB)).rejects.toThrow('line 1');
    // What was right before it does not count any more.
    await expect(file.userOf(BOB)).rejects.toThrow('line 1');
  });

  it.each([0o604, 0o602, 0o660, 0o610, 0o777])('of mode %o is refused: others may read or change it', async (mode) => {
    write(`alice ${ALICE}\n`, mode);
    expect(await troubleOf()).toMatch(/^others than its owner may use it \(mode 0\d{3}\); run chmod 0600 on it$/);
  });

  it.each([0o400, 0o600, 0o700])('of mode %o is taken', async (mode) => {
    write(`alice ${ALICE}\n`, mode);
    expect(await troubleOf()).toBe('');
  });

  it('may be behind a link, but is no directory and no pipe', async () => {
    write(`alice ${ALICE}\n`);
    const link = join(directory, 'link');
    symlinkSync(path, link);
    expect(await new TokenFile(link).userOf(ALICE)).toBe('alice');
    mkdirSync(join(directory, 'folder'), { mode: 0o700 });
    expect(await troubleOf(new TokenFile(join(directory, 'folder')))).toContain('not a file');
    expect(await troubleOf(new TokenFile('/dev/null'))).toContain('not a file');
  });

  it.each([
    ['', 'no token in it; write USER TOKEN'],
    ['# nothing\n', 'no token in it'],
    [ALICE, 'line 1 is no user and token; write USER TOKEN'],
    [`\nalice ${ALICE} more`, 'line 2 is no user and token'],
    [`alice ${ALICE}!`, 'line 1 is no user and token'],
    ['alice short', 'line 1: a token of 5 characters; make it 20 to 512 long'],
    [`alice ${'x'.repeat(MAX_TOKEN_CHARACTERS + 1)}`, 'line 1: a token of 513 characters'],
    [`alice ${ALICE}\nbob ${ALICE}`, 'line 2: the token stands on an earlier line too'],
  ])('%j is refused, without a token in the message', async (text, trouble) => {
    write(text);
    const said = await troubleOf();
    expect(said).toContain(trouble);
    expect(said).not.toContain(ALICE);
  });

  it('has bounds', async () => {
    const tokens = Array.from({ length: MAX_TOKENS }, (_, i) => `u${i} ${ALICE}${i}\n`);
    write(tokens.join(''));
    expect(await new TokenFile(path).userOf(`${ALICE}${MAX_TOKENS - 1}`)).toBe(`u${MAX_TOKENS - 1}`);
    write(`${tokens.join('')}one ${BOB}\n`);
    expect(await troubleOf()).toContain(`more than ${MAX_TOKENS} tokens`);
    write(`alice ${ALICE}\n`);
    truncateSync(path, MAX_TOKEN_FILE_BYTES);
    expect(await troubleOf()).toContain('line 2 is no user');
    truncateSync(path, MAX_TOKEN_FILE_BYTES + 1);
    expect(await troubleOf()).toContain(`more than ${MAX_TOKEN_FILE_BYTES} bytes`);
  });
});

describe('the settings of the HTTP server', () => {
  function read(keys: Readonly<Record<string, string>>): ReturnType<typeof readHttpSettings> {
    const overrides = Object.entries(keys).map(([key, value]) => ({ key, value, origin: '--set' }));
    return readHttpSettings(new Configuration({ overrides, environment: {} }));
  }

  it('are those of a Java Router, and no file of tokens', () => {
    expect(read({})).toEqual({
      enabled: true,
      bindHost: '0.0.0.0',
      port: 50071,
      idleMs: 60_000,
      staticUser: 'dr.who',
      tokenFile: null,
    });
  });

  it('take the bind host in place of the host of the address', () => {
    const router = 'dfs.federation.router';
    const keys = { [`${router}.http-address`]: 'router1:8081', [`${router}.http-bind-host`]: '127.0.0.1' };
    expect(read(keys)).toMatchObject({ bindHost: '127.0.0.1', port: 8081 });
    expect(read({ [`${router}.http-address`]: 'router1' })).toMatchObject({ bindHost: 'router1', port: 50071 });
    expect(read({ [`${router}.http.enable`]: 'false' }).enabled).toBe(false);
  });

  it('name what cannot be used', () => {
    expect(read({ [TOKEN_FILE_KEY]: '/etc/tokens' }).tokenFile).toBe('/etc/tokens');
    expect(() => read({ [TOKEN_FILE_KEY]: 'tokens' })).toThrow(`${TOKEN_FILE_KEY} = "tokens": not a whole path`);
    expect(() => read({ 'hadoop.http.idle_timeout.ms': '0' })).toThrow('hadoop.http.idle_timeout.ms = "0": too small');
    expect(() => read({ 'dfs.federation.router.http-address': ':x' })).toThrow('not an address');
  });
});
