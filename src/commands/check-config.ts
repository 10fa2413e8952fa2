import { ConfigError } from '../config/config-error.ts';
import { Configuration, configurationDirectory, requireDirectory } from '../config/configuration.ts';
import { type Finding, type Review, type ReviewedKey, reviewConfiguration, reviewReach } from '../config/review.ts';
import { findLocalHosts, namesOfThisHost } from '../config/topology.ts';
import { CONFIG_FLAGS, readOverrides } from './config-flags.ts';
import { ExitCode, parseFlags, printLine, UsageError } from './usage.ts';

const EMPTY: Review = { keys: [], unsupported: [], unprotected: [], findings: [] };

export async function run(args: string[]): Promise<number> {
  const flags = parseFlags(args, { ...CONFIG_FLAGS, json: { type: 'boolean' } });
  const overrides = readOverrides(flags);
  const directory = flags['config-dir'] ?? configurationDirectory();
  if (directory !== null) refuseMissingDirectory(directory);
  const review = await reviewDirectory(directory, overrides);
  const problems = review.unprotected.length + review.findings.filter(({ severity }) => severity !== 'note').length;
  if (flags.json === true) printLine(JSON.stringify({ directory, ...review, problems }, null, 2));
  else for (const line of renderReview(directory, review, problems)) printLine(line);
  return problems === 0 ? ExitCode.OK : ExitCode.FAILED;
}

function refuseMissingDirectory(directory: string): void {
  try {
    requireDirectory(directory);
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.message) : error;
  }
}

/** A file that cannot be read at all is the one thing to report. */
async function reviewDirectory(directory: string | null, overrides: ReturnType<typeof readOverrides>): Promise<Review> {
  try {
    const configuration = new Configuration({ directory, overrides });
    const review = reviewConfiguration(configuration, await findHosts(configuration));
    return { ...review, findings: [...review.findings, ...reviewReach(configuration)] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { place, key, problem, remedy } = error;
    return { ...EMPTY, findings: [{ severity: 'error', place, key, message: `${problem}; ${remedy}` }] };
  }
}

/** A router address that cannot be read is a finding of the review, not the end of it. */
async function findHosts(configuration: Configuration): Promise<ReadonlySet<string>> {
  try {
    return await findLocalHosts(configuration);
  } catch (error) {
    if (error instanceof ConfigError) return namesOfThisHost();
    throw error;
  }
}

function* renderReview(directory: string | null, review: Review, problems: number): Generator<string> {
  yield directory === null
    ? 'No configuration directory: defaults and flags only.'
    : `Configuration directory: ${directory}`;
  const nameWidth = width(review.keys.map(({ name }) => name));
  let group = '';
  for (const key of review.keys) {
    if (key.group !== group) {
      group = key.group;
      yield '';
      yield group;
    }
    yield renderKey(key, nameWidth);
  }
  yield* renderSection('Not supported yet: set, but without effect in this release', review.unsupported, (key) =>
    renderKey(key, nameWidth),
  );
  yield* renderSection(
    'Refused: start stops at these unless --insecure names the key',
    review.unprotected,
    ({ key, value, origin, remedy }) => `  ${origin}: ${key} = ${value}: ${remedy}`,
  );
  yield* renderSection('Looks wrong', review.findings, renderFinding);
  yield '';
  yield problems === 0 ? 'No problems.' : problems === 1 ? '1 problem.' : `${problems} problems.`;
}

function* renderSection<T>(title: string, items: readonly T[], render: (item: T) => string): Generator<string> {
  if (items.length === 0) return;
  yield '';
  yield title;
  for (const item of items) yield render(item);
}

function renderKey({ name, value, origin }: ReviewedKey, nameWidth: number): string {
  return `  ${name.padEnd(nameWidth)} = ${JSON.stringify(value).slice(1, -1)}  [${origin}]`;
}

function renderFinding({ severity, place, key, message }: Finding): string {
  return `  ${severity.padEnd(7)}  ${place}: ${key === '' ? '' : `${key}: `}${message}`;
}

function width(texts: readonly string[]): number {
  return Math.max(0, ...texts.map((text) => text.length));
}
