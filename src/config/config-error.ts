/** Where and what a configuration error is; `place` is what a reader finds it by: file:line, '--set', '--rpc', 'default'. */
export interface ConfigErrorDetails {
  /** Path of the file, null when the value did not come from one. */
  readonly file?: string | null;
  readonly place: string;
  readonly key?: string;
  readonly value?: string;
  readonly problem: string;
  readonly remedy: string;
}

/** The configuration cannot be used. The message names place, key, value and remedy in one line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly file: string | null;
  readonly place: string;
  /** '' when the error is about a whole file. */
  readonly key: string;
  /** '' when it is a secret or the error is about a whole file. */
  readonly value: string;
  readonly problem: string;
  readonly remedy: string;

  constructor(details: ConfigErrorDetails) {
    const { place, key = '', value, problem, remedy } = details;
    const subject = key === '' ? '' : value === undefined ? `${key}: ` : `${key} = ${JSON.stringify(value)}: `;
    super(`${place}: ${subject}${problem}; ${remedy}`);
    this.file = details.file ?? null;
    this.place = place;
    this.key = key;
    this.value = value ?? '';
    this.problem = problem;
    this.remedy = remedy;
  }
}

/** A value that its type cannot take; says what is wrong and what is allowed. Becomes a ConfigError where the key is known. */
export class ValueError extends Error {
  override readonly name = 'ValueError';
  readonly allowed: string;

  constructor(problem: string, allowed: string) {
    super(problem);
    this.allowed = allowed;
  }
}
