/** Substitutions in one value before it counts as a circle; Hadoop's own limit. */
const MAX_SUBSTITUTIONS = 20;

/*
 *   variable = "${" name "}"              name without "$", "}" and space
 *   name     = key | system property | "env." NAME [ "-" text | ":-" text ]
 *
 * The first variable that has no value ends the work: it and the rest of the text stay as they are. A value that holds its own variable
 * gives the original text back.
 */
const VARIABLE = /\$\{([^$} ]+)\}/;

/** What variables stand for; null for nothing. */
export interface VariableSource {
  environment(name: string): string | null;
  systemProperty(name: string): string | null;
  /** The unexpanded value of another configuration key. */
  raw(key: string): string | null;
}

/** Two or more values refer to each other, or one has too many variables. */
export class ExpansionError extends Error {
  override readonly name = 'ExpansionError';
}

export function expandVariables(text: string, source: VariableSource): string {
  let expanded = text;
  for (let round = 0; round < MAX_SUBSTITUTIONS; round++) {
    const match = VARIABLE.exec(expanded);
    if (match === null) return expanded;
    const [variable, name = ''] = match;
    const value = variableValue(name, source);
    if (value === null) return expanded;
    if (value.includes(variable)) return text;
    expanded = expanded.slice(0, match.index) + value + expanded.slice(match.index + variable.length);
  }
  throw new ExpansionError(`more than ${MAX_SUBSTITUTIONS} substitutions`);
}

function variableValue(name: string, source: VariableSource): string | null {
  const own =
    name.startsWith('env.') && name.length > 4 ? environmentValue(name.slice(4), source) : source.systemProperty(name);
  return own ?? source.raw(name);
}

function environmentValue(expression: string, source: VariableSource): string | null {
  const match = /^(.*?)(:-|-)(.*)$/s.exec(expression);
  if (match === null) return source.environment(expression);
  const [, name = '', operator, fallback = ''] = match;
  const value = source.environment(name);
  return value === null || (operator === ':-' && value === '') ? fallback : value;
}

/** The Java system properties that configuration files refer to, as a Hadoop process in this environment would have them. */
export function systemProperties(environment: NodeJS.ProcessEnv, userName: string): ReadonlyMap<string, string> {
  const home = environment['HADOOP_HOME'];
  const properties = new Map([
    ['user.name', userName],
    ['user.home', environment['HOME'] ?? '/'],
    ['java.io.tmpdir', '/tmp'],
  ]);
  if (home !== undefined) properties.set('hadoop.home.dir', home);
  const logs = environment['HADOOP_LOG_DIR'] ?? (home === undefined ? undefined : `${home}/logs`);
  if (logs !== undefined) properties.set('hadoop.log.dir', logs);
  return properties;
}
