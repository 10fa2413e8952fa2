import { existsSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { basename, join } from 'node:path';
import { type HostPort, parseAddress } from './address.ts';
import { ConfigError, ValueError } from './config-error.ts';
import { ExpansionError, expandVariables, systemProperties, type VariableSource } from './expand.ts';
import { type FileProperty, readHadoopXml } from './hadoop-xml.ts';
import type { DefaultFile, Key } from './key.ts';
import { DEPRECATED_KEYS, KEYS, keyOf } from './keys.ts';
import * as values from './values.ts';

/** Later ones win. Defaults stand between the site files: an hdfs default beats core-site.xml. */
const SOURCES = [
  { defaults: 'code' },
  { defaults: 'core-default' },
  { file: 'core-site.xml' },
  { defaults: 'hdfs-default' },
  { defaults: 'hdfs-rbf-default' },
  { file: 'hdfs-site.xml' },
  { file: 'hdfs-rbf-site.xml' },
  { file: 'hdfs-fedbalance-site.xml' },
] as const;

export const DEFAULT_ORIGIN = 'default';

/** A value given on the command line: wins over all files, final values included. */
export interface Override {
  readonly key: string;
  readonly value: string;
  /** As errors and check-config show it: '--set', '--rpc'… */
  readonly origin: string;
}

/** Something about the files that does not stop a reader but surprises people. */
export interface ConfigNote {
  readonly kind: 'deprecated' | 'final' | 'overridden-by-default' | 'root';
  /** '' when the note is about a whole file. */
  readonly key: string;
  readonly place: string;
  readonly message: string;
}

export interface ConfigurationOptions {
  /** Directory of the site files; null or left out: none are read. */
  readonly directory?: string | null;
  readonly overrides?: readonly Override[];
  readonly environment?: NodeJS.ProcessEnv;
  /** Where relative includes that are not in `directory` are looked for. */
  readonly workingDirectory?: string;
  /** Site files that were there before: that one is gone is a ConfigError. */
  readonly expected?: readonly string[];
}

interface Setting {
  readonly value: string;
  readonly place: string;
  readonly file: string | null;
}

/** What one configuration key is set to, and by what. */
export interface EffectiveValue {
  readonly name: string;
  /** Expanded; the unexpanded text when it cannot be. */
  readonly value: string;
  /** file:line, 'default', '--set', '--rpc'… */
  readonly origin: string;
}

/** The directory that a Hadoop process in this environment reads; null when the environment names none. */
export function configurationDirectory(environment: NodeJS.ProcessEnv = process.env): string | null {
  const { HADOOP_CONF_DIR: directory, HADOOP_HOME: home } = environment;
  if (directory !== undefined && directory !== '') return directory;
  const ofHome = home === undefined || home === '' ? null : join(home, 'etc/hadoop');
  return ofHome !== null && existsSync(ofHome) ? ofHome : null;
}

/** Hadoop's Configuration as a router process sees it. Reads the files once, values are expanded when they are read. */
export class Configuration {
  readonly directory: string | null;
  /** Paths of the site files that were read. */
  readonly files: readonly string[];
  readonly notes: readonly ConfigNote[];
  readonly #settings = new Map<string, Setting>();
  readonly #finals = new Map<string, string>();
  readonly #notes: ConfigNote[] = [];
  readonly #variables: VariableSource;

  constructor(options: ConfigurationOptions = {}) {
    const { directory = null, overrides = [], environment = process.env, workingDirectory = process.cwd() } = options;
    const files: string[] = [];
    this.directory = directory;
    this.files = files;
    this.notes = this.#notes;
    const properties = systemProperties(environment, userInfo().username);
    const given = new Map(overrides.map(({ key, value }) => [key, value]));
    this.#variables = {
      environment: (name) => environment[name] ?? null,
      systemProperty: (name) => given.get(name) ?? properties.get(name) ?? null,
      raw: (key) => this.raw(key),
    };
    if (directory !== null) requireDirectory(directory);
    for (const path of options.expected ?? []) requireFile(path);
    for (const source of SOURCES) {
      if ('defaults' in source) this.#addDefaults(source.defaults);
      else if (directory !== null && existsSync(join(directory, source.file))) {
        const path = join(directory, source.file);
        files.push(path);
        const remark = (place: string, message: string): void => {
          this.#notes.push({ kind: 'root', key: '', place, message });
        };
        for (const property of readHadoopXml(path, { directory, workingDirectory }, remark)) this.#add(property);
      }
    }
    for (const { key, value, origin } of overrides) {
      this.#settings.set(DEPRECATED_KEYS.get(key) ?? key, { value, place: origin, file: null });
    }
  }

  /** The value as written, variables not expanded; null when the key is not set. */
  raw(name: string): string | null {
    return this.#setting(name)?.value ?? null;
  }

  /** The value as Hadoop's `get` gives it: variables expanded, white space kept; null when the key is not set. */
  get(name: string): string | null {
    const setting = this.#setting(name);
    if (setting === undefined) return null;
    try {
      return expandVariables(setting.value, this.#variables);
    } catch (error) {
      if (!(error instanceof ExpansionError)) throw error;
      throw this.error(name, `its variables refer to each other (${error.message})`, 'write the value in full');
    }
  }

  /** Where the effective value comes from; 'default' when nothing sets the key. */
  origin(name: string): string {
    return this.#setting(name)?.place ?? DEFAULT_ORIGIN;
  }

  /** Path of the file that the effective value comes from; null for defaults and the command line. */
  file(name: string): string | null {
    return this.#setting(name)?.file ?? null;
  }

  /** Whether a file or the command line sets the key. */
  isSet(name: string): boolean {
    return this.origin(name) !== DEFAULT_ORIGIN;
  }

  /** A site file has frozen it: later files cannot change it. */
  isFinal(name: string): boolean {
    return this.#finals.has(DEPRECATED_KEYS.get(name) ?? name);
  }

  /** Names of all keys that have a value, those with a default included. */
  names(): string[] {
    return [...this.#settings.keys()].sort();
  }

  effective(name: string): EffectiveValue {
    return { name, value: this.#getOrRaw(name), origin: this.origin(name) };
  }

  /** Text without white space around it, '' when the key is not set. */
  readTrimmed(name: string): string {
    return (this.get(name) ?? keyOf(name).default).trim();
  }

  /** Text as it is, '' when the key is not set. */
  readString(name: string): string {
    return this.get(name) ?? keyOf(name).default;
  }

  readInteger(name: string): number {
    return this.#readNumber(name, values.parseInteger);
  }

  readLong(name: string): number {
    return this.#readNumber(name, values.parseLong);
  }

  readBytes(name: string): number {
    return this.#readNumber(name, values.parseBytes);
  }

  readFloat(name: string): number {
    return this.#readNumber(name, values.parseFloating);
  }

  readDurationMs(name: string): number {
    const { unit } = keyOf(name);
    return this.#readNumber(name, (text) =>
      values.parseDurationMs(text, unit === 's' ? 's' : unit === 'min' ? 'm' : 'ms'),
    );
  }

  /** Neither true nor false means the default. */
  readBoolean(name: string): boolean {
    const text = this.get(name) ?? '';
    return values.parseBoolean(text) ?? keyOf(name).default.toLowerCase() === 'true';
  }

  readList(name: string): string[] {
    return values.parseList(this.readString(name));
  }

  /** Whole numbers of 32 bits, repeated ones too. */
  readIntegers(name: string): number[] {
    return this.#read(name, (text) => values.parseItems(text).map(values.parseInteger));
  }

  /** Milliseconds, of items without a unit too. */
  readDurationsMs(name: string): number[] {
    return this.#read(name, (text) => values.parseItems(text).map((item) => values.parseDurationMs(item, 'ms')));
  }

  readChoice(name: string): string {
    const { allowed = [] } = keyOf(name);
    return this.#read(name, (text) => values.parseChoice(text, allowed));
  }

  readAddress(name: string, defaultPort: number): HostPort {
    return this.#read(name, (text) => parseAddress(text, defaultPort));
  }

  /** Reads the key as its row in the table says; a ConfigError when the value is not of that type. */
  check(name: string, key: Key): void {
    if (this.get(name) === null) return;
    switch (key.type) {
      case 'int':
        this.readInteger(name);
        break;
      case 'long':
        this.readLong(name);
        break;
      case 'bytes':
        this.readBytes(name);
        break;
      case 'float':
        this.readFloat(name);
        break;
      case 'duration':
        this.readDurationMs(name);
        break;
      case 'enum':
        this.readChoice(name);
        break;
      case 'address':
        this.readAddress(name, 0);
        break;
      case 'list':
        for (const item of key.allowed === undefined ? [] : this.readList(name)) {
          this.#read(name, () => values.parseChoice(item, key.allowed ?? []));
        }
        break;
      case 'bool':
        if (values.parseBoolean(this.readString(name)) === null) {
          const counts = key.default === '' ? 'false' : key.default;
          throw this.error(name, `neither true nor false, so the default (${counts}) counts`, 'write true or false');
        }
        break;
    }
  }

  /** An error about the effective value of a key. */
  error(name: string, problem: string, remedy: string): ConfigError {
    const setting = this.#setting(name);
    const details = {
      place: setting?.place ?? DEFAULT_ORIGIN,
      file: setting?.file ?? null,
      key: name,
      problem,
      remedy,
    };
    return new ConfigError(keyIsSecret(name) ? details : { ...details, value: this.#getOrRaw(name) });
  }

  #read<T>(name: string, parse: (text: string) => T): T {
    const text = this.get(name) ?? keyOf(name).default;
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      throw this.error(name, error.message, `allowed: ${error.allowed}`);
    }
  }

  #readNumber(name: string, parse: (text: string) => number): number {
    const number = this.#read(name, parse);
    const { range, unit } = keyOf(name);
    if (range !== undefined && !(number >= range[0] && number <= range[1])) {
      const [min, max] = range;
      throw this.error(name, 'out of range', `allowed: ${min} to ${max}${unit === undefined ? '' : ` ${unit}`}`);
    }
    return number;
  }

  #getOrRaw(name: string): string {
    const raw = this.raw(name) ?? '';
    try {
      return expandVariables(raw, this.#variables);
    } catch {
      return raw;
    }
  }

  #setting(name: string): Setting | undefined {
    const trimmed = name.trim();
    return this.#settings.get(DEPRECATED_KEYS.get(trimmed) ?? trimmed);
  }

  #addDefaults(file: DefaultFile): void {
    for (const { name, default: value, defaultFile } of KEYS) {
      if (defaultFile !== file || value === '' || /[<*]/.test(name) || this.#finals.has(name)) continue;
      const earlier = this.#settings.get(name);
      if (earlier !== undefined && earlier.value !== value) {
        const message = `${file}.xml of Hadoop sets it again, to ${JSON.stringify(value)}; write it in hdfs-rbf-site.xml`;
        this.#notes.push({ kind: 'overridden-by-default', key: name, place: earlier.place, message });
      }
      this.#settings.set(name, { value, place: DEFAULT_ORIGIN, file: null });
    }
  }

  #add({ name: written, value, final, file, place }: FileProperty): void {
    const name = DEPRECATED_KEYS.get(written) ?? written;
    if (name !== written) {
      this.#notes.push({ kind: 'deprecated', key: written, place, message: `old name of ${name}` });
    }
    const frozen = this.#finals.get(name);
    if (frozen !== undefined) {
      if (value !== null && value !== this.raw(name)) {
        this.#notes.push({ kind: 'final', key: name, place, message: `has no effect, ${frozen} makes it final` });
      }
    } else if (value !== null) {
      this.#settings.set(name, { value, place, file });
    }
    if (final && frozen === undefined) this.#finals.set(name, place);
  }
}

/** A ConfigError when there is no such directory: a slip in its name must not start a router with defaults only. */
export function requireDirectory(directory: string): void {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new ConfigError({
    place: directory,
    problem: 'not a directory',
    remedy:
      'name the directory that holds core-site.xml, hdfs-site.xml and hdfs-rbf-site.xml (--config-dir or HADOOP_CONF_DIR)',
  });
}

/** A file that is taken away while a router runs would turn all that it says into defaults. */
function requireFile(path: string): void {
  if (existsSync(path)) return;
  throw new ConfigError({
    place: basename(path),
    file: path,
    problem: 'gone, and was read before',
    remedy: 'put it back; one without properties says that nothing is set',
  });
}

/** Whether the value of a key is for nobody's eyes. */
export function keyIsSecret(name: string): boolean {
  return KEYS.some((key) => key.secret === true && key.name === name) || SECRET_NAME.test(name);
}

const SECRET_NAME = /(?:secret|password|pass|keypassword)$/i;

/** The value for people: hidden when it is a secret. */
export function printableValue(name: string, value: string): string {
  return value !== '' && keyIsSecret(name) ? '(hidden)' : value;
}
