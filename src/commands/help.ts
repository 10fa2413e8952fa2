import { readdirSync, readFileSync } from 'node:fs';
import { COMMANDS, findCommand } from './table.ts';
import { ExitCode, nearestWord, printLine, UsageError } from './usage.ts';

/** Pages of the manual, one Markdown file each; the build copies them next to the compiled commands. */
const MANUAL = new URL('../manual/', import.meta.url);

export async function run(args: string[]): Promise<number> {
  const [topic, ...rest] = args;
  if (rest.length > 0) throw new UsageError(`unexpected argument '${rest[0]}'`);
  printLine(topic === undefined ? renderHelp() : renderTopic(topic));
  return ExitCode.OK;
}

/** The list of commands and of the pages of the manual. */
export function renderHelp(): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  return [
    'switchyard: one endpoint for many HDFS nameservices',
    '',
    'usage: switchyard COMMAND [flags]',
    '',
    ...COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    `switchyard help COMMAND shows its flags; pages of the manual: ${listTopics()
      .map((topic) => `help ${topic}`)
      .join(', ')}`,
  ].join('\n');
}

function renderTopic(topic: string): string {
  const command = findCommand(topic);
  const topics = listTopics();
  const page = topics.includes(topic) ? readFileSync(new URL(`${topic}.md`, MANUAL), 'utf8').trimEnd() : null;
  if (command !== null) {
    const usage = `${command.name}: ${command.summary}\n\nusage: ${command.usage}`;
    return page === null ? usage : `${usage}\n\n${page}`;
  }
  if (page !== null) return page;
  const near = nearestWord(topic, [...COMMANDS.map(({ name }) => name), ...topics]);
  throw new UsageError(
    `no command and no page of the manual is called '${topic}'${near === null ? '' : `; did you mean ${near}?`}`,
  );
}

function listTopics(): string[] {
  const files = readdirSync(MANUAL).filter((file) => file.endsWith('.md'));
  return files.map((file) => file.slice(0, -3)).sort();
}
