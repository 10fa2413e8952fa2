import { createHash, timingSafeEqual } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** Largest file of tokens, and most lines with one. */
export const MAX_TOKEN_FILE_BYTES = 64 * 1024;
export const MAX_TOKENS = 500;
/** Shorter ones can be guessed. */
export const MIN_TOKEN_CHARACTERS = 20;
export const MAX_TOKEN_CHARACTERS = 512;

/** Bits of a file's mode by which others than its owner may read or write it. */
const OF_OTHERS = 0o077;

/*
 *   file  = *( line LF )
 *   line  = "" | "#" text | user blanks token
 *   user  = short name, as owners of mount entries have
 *   token = 20 to 512 of A-Z a-z 0-9 - . _ ~ + / =        what a Bearer header takes
 */
const LINE = /^(\S+)\s+([A-Za-z0-9._~+/=-]+)$/;

/** The file cannot be used; the message says why, `remedy` what to do. Neither has a token in it. */
export class TokenFileError extends Error {
  override readonly name = 'TokenFileError';
  readonly remedy: string;

  constructor(problem: string, remedy: string) {
    super(problem);
    this.remedy = remedy;
  }
}

interface Token {
  readonly user: string;
  /** SHA-256: of one length whatever the token's, so that comparing takes one time. */
  readonly digest: Buffer;
}

/**
 * Users by the tokens of a file. The file is read for each token that is asked for, so that one that is taken out, or a file that others may
 * read now, counts at once; it is parsed again only when it has changed.
 */
export class TokenFile {
  readonly path: string;
  #bytes: Buffer | null = null;
  #tokens: readonly Token[] = [];

  constructor(path: string) {
    this.path = path;
  }

  /** The user of a token, null when no line has it. Rejects with TokenFileError. */
  async userOf(token: string): Promise<string | null> {
    await this.check();
    const digest = digestOf(token);
    let user: string | null = null;
    // All of them, found or not: the time tells nothing.
    for (const known of this.#tokens) if (timingSafeEqual(known.digest, digest)) user = known.user;
    return user;
  }

  /** Reads the file. Rejects with TokenFileError. */
  async check(): Promise<void> {
    const bytes = await readPrivateFile(this.path);
    if (this.#bytes?.equals(bytes) === true) return;
    this.#bytes = null;
    this.#tokens = parseTokens(bytes.toString('utf8'));
    this.#bytes = bytes;
  }
}

function parseTokens(text: string): Token[] {
  const tokens: Token[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const place = `line ${index + 1}`;
    const [, user = '', token = ''] = LINE.exec(trimmed) ?? [];
    if (user === '') throw new TokenFileError(`${place} is no user and token`, 'write USER TOKEN, one pair a line');
    if (token.length < MIN_TOKEN_CHARACTERS || token.length > MAX_TOKEN_CHARACTERS) {
      throw new TokenFileError(
        `${place}: a token of ${token.length} characters`,
        `make it ${MIN_TOKEN_CHARACTERS} to ${MAX_TOKEN_CHARACTERS} long, for instance with openssl rand -hex 32`,
      );
    }
    const digest = digestOf(token);
    if (tokens.some((other) => other.digest.equals(digest))) {
      throw new TokenFileError(
        `${place}: the token stands on an earlier line too`,
        'give each line a token of its own',
      );
    }
    if (tokens.length === MAX_TOKENS) throw new TokenFileError(`more than ${MAX_TOKENS} tokens`, 'remove old ones');
    tokens.push({ user, digest });
  }
  if (tokens.length === 0) throw new TokenFileError('no token in it', 'write USER TOKEN, one pair a line');
  return tokens;
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** The bytes of a file that nobody but its owner, this process's user or root, may read or change. */
async function readPrivateFile(path: string): Promise<Buffer> {
  let file: FileHandle;
  try {
    // Of a pipe, opening it would wait for its other end.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw unreadable(error);
  }
  try {
    const { mode, uid, size } = await file.stat().catch((error: unknown) => Promise.reject(unreadable(error)));
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw new TokenFileError('not a file', 'name a plain file');
    if ((mode & OF_OTHERS) !== 0) {
      const digits = (mode & 0o777).toString(8).padStart(4, '0');
      throw new TokenFileError(`others than its owner may use it (mode ${digits})`, 'run chmod 0600 on it');
    }
    const own = process.geteuid?.() ?? uid;
    if (uid !== own && uid !== 0) {
      throw new TokenFileError(`it belongs to user ${uid}`, `give it to the user of the router (${own}) with chown`);
    }
    if (size > MAX_TOKEN_FILE_BYTES) throw tooLarge();
    return await readAtMost(file);
  } finally {
    await file.close();
  }
}

async function readAtMost(file: FileHandle): Promise<Buffer> {
  const buffer = Buffer.alloc(MAX_TOKEN_FILE_BYTES + 1);
  let end = 0;
  while (end < buffer.length) {
    const { bytesRead } = await file
      .read(buffer, end, buffer.length - end, end)
      .catch((error: unknown) => Promise.reject(unreadable(error)));
    if (bytesRead === 0) return buffer.subarray(0, end);
    end += bytesRead;
  }
  throw tooLarge();
}

function tooLarge(): TokenFileError {
  return new TokenFileError(`more than ${MAX_TOKEN_FILE_BYTES} bytes`, 'remove old tokens and comments');
}

function unreadable(error: unknown): TokenFileError {
  const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return new TokenFileError(`cannot be read (${why})`, 'put it there, readable for the user of the router only');
}
