/*
 * Files are written under a temporary name and renamed later. So that the rename stays within a nameservice, both names must hash alike:
 * the temporary one is reduced first. Java routers do it with one regular expression of six alternatives, all of them matches that end at
 * the end of the path ($); X is a hexadecimal digit, D a decimal one, [ ] is what is kept:
 *
 *   1  [.+] .COPYING $
 *   2  [.+] ._COPYING_ .* $
 *   3  [.+] .tmp $
 *   4  _temp/ [.+] $
 *   5  _temporary/ [.+] . X{8}-X{4}-X{4}-X{4}-X{12} $
 *   6  [.*] _temporary/D/_temporary/attempt_D+_D{4}_._D{6}_D{2}/ [.+] $
 *
 * The leftmost match counts, at one place the first alternative. As no `.` is a line break and $ may stand before a last one, every match
 * lies in the last line. 1, 2, 3 and 6 match from its start on or not at all; 4 and 5 start where their directory first appears.
 * Looked for in this way the time grows with the length of the path only, where a regular expression's would grow with its square.
 */

const COPYING = '.COPYING';
const COPYING_MARK = '._COPYING_';
const TMP = '.tmp';
const TEMP = '_temp/';
const TEMPORARY = '_temporary/';

/** `.` and the five groups of a UUID. */
const UUID_END = /\.[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/;
const UUID_END_LENGTH = 37;
/** The fixed part of alternative 6; the one free character is a code point that is no line break. */
const ATTEMPT = /_temporary\/\d\/_temporary\/attempt_\d+_\d{4}_[^\n\r\u0085\u2028\u2029]_\d{6}_\d{2}\//uy;

/** The name that a path is hashed by. Any text is taken; nothing that looks temporary: the path itself. */
export function reduceTemporaryName(path: string): string {
  if (!mayBeTemporary(path)) return path;
  const end = endOfLastLine(path);
  const start = startOfLine(path, end);
  const line = start === 0 && end === path.length ? path : path.slice(start, end);
  const kept = cutSuffix(line, COPYING) ?? cutMark(line) ?? cutSuffix(line, TMP) ?? cutDirectories(line);
  return kept ?? path;
}

/** Almost no path is: looking for the four words is quicker than trying the alternatives. */
function mayBeTemporary(path: string): boolean {
  return path.includes('_temp') || path.includes(COPYING) || path.includes(COPYING_MARK) || path.includes(TMP);
}

/** Alternatives 1 and 3. */
function cutSuffix(line: string, suffix: string): string | null {
  return line.length > suffix.length && line.endsWith(suffix) ? line.slice(0, -suffix.length) : null;
}

/** Alternative 2: what is kept is as long as possible, so the last mark counts. */
function cutMark(line: string): string | null {
  const at = line.lastIndexOf(COPYING_MARK);
  return at > 0 ? line.slice(0, at) : null;
}

/** Alternatives 4 to 6. The sixth matches from the start of the line on: it comes first unless the fourth or fifth does, too. */
function cutDirectories(line: string): string | null {
  const temp = line.indexOf(TEMP);
  const afterTemp = temp >= 0 && temp + TEMP.length < line.length ? line.slice(temp + TEMP.length) : null;
  if (temp === 0 && afterTemp !== null) return afterTemp;
  const temporary = line.indexOf(TEMPORARY);
  const nameEnd = line.length - UUID_END_LENGTH;
  const nameStart = temporary + TEMPORARY.length;
  const name = temporary >= 0 && nameStart < nameEnd && UUID_END.test(line) ? line.slice(nameStart, nameEnd) : null;
  if (temporary === 0 && name !== null) return name;
  const attempt = cutAttempt(line);
  if (attempt !== null) return attempt;
  if (afterTemp === null || name === null) return afterTemp ?? name;
  return temp < temporary ? afterTemp : name;
}

/** Alternative 6: the kept prefix is as long as possible, so the last attempt that something follows counts. */
function cutAttempt(line: string): string | null {
  let at = line.lastIndexOf(TEMPORARY);
  while (at >= 0) {
    ATTEMPT.lastIndex = at;
    if (ATTEMPT.test(line) && ATTEMPT.lastIndex < line.length) return line.slice(0, at) + line.slice(ATTEMPT.lastIndex);
    at = at === 0 ? -1 : line.lastIndexOf(TEMPORARY, at - 1);
  }
  return null;
}

/** Where $ matches: the end, or before the line break that ends the path. */
function endOfLastLine(path: string): number {
  const last = path.length - 1;
  if (!isLineBreak(path.charCodeAt(last))) return path.length;
  return path.endsWith('\r\n') ? last - 1 : last;
}

function startOfLine(path: string, end: number): number {
  let start = end;
  while (start > 0 && !isLineBreak(path.charCodeAt(start - 1))) start--;
  return start;
}

function isLineBreak(unit: number): boolean {
  return unit === 0x0a || unit === 0x0d || unit === 0x85 || unit === 0x2028 || unit === 0x2029;
}
