/**
 * How a value is read; the syntax of each is Hadoop's own (values.ts).
 *
 * - string: as written, white space included; trimmed, class, enum: without white space around it
 * - int, long: decimal or 0x…; bytes: with an optional k m g t p e; float: Java's syntax
 * - bool: true or false, anything else means the default
 * - duration: whole number with an optional ns us ms s m h d, without one in `unit`
 * - list: items between commas or line breaks; address: host:port, host, or a URI with an authority
 */
export type ValueType =
  | 'string'
  | 'trimmed'
  | 'class'
  | 'enum'
  | 'int'
  | 'long'
  | 'bytes'
  | 'float'
  | 'bool'
  | 'duration'
  | 'list'
  | 'address';

/**
 * What this release does with a key.
 *
 * - used: acts on it
 * - understood: accepted; what it asks for holds here whatever its value
 * - later: read and checked, without effect yet
 * - ignored: about the inner workings of the Java Router that have no counterpart here
 */
export type KeyStatus = 'used' | 'understood' | 'later' | 'ignored';

/** The default file that gives a key its default; 'code' when only the code does. It decides which site files can override it. */
export type DefaultFile = 'core-default' | 'hdfs-default' | 'hdfs-rbf-default' | 'code';

/** A setting that promises protection: `start` refuses every item of its value that is not harmless. */
export interface Protection {
  readonly harmless: readonly string[];
  /** What to do, completing "key = value protects nothing here: …". */
  readonly remedy: string;
}

/** What a row of the table says; `Key` adds what all rows of a block share. */
export interface KeyRow {
  /** `<x>` stands for one name, a last `*` for anything. */
  readonly name: string;
  readonly type: ValueType;
  /** Effective default of a router process, '' for none. */
  readonly default: string;
  readonly status: KeyStatus;
  readonly meaning: string;
  /** Unit of the number, of a duration written without suffix. */
  readonly unit?: 'ms' | 's' | 'min' | 'bytes' | 'MB/s';
  /** The Java Router reads the duration as a plain number: with a suffix it does not start. */
  readonly plain?: true;
  /** What may follow the name after a dot: ids of a nameservice, or of a nameservice and of a NameNode. */
  readonly suffix?: 'nameservice' | 'nameservice and NameNode';
  readonly allowed?: readonly string[];
  /** Smallest and largest number allowed. */
  readonly range?: readonly [number, number];
  /** Never printed. */
  readonly secret?: true;
  readonly protects?: Protection;
}

export interface Key extends KeyRow {
  readonly group: string;
  readonly defaultFile: DefaultFile;
}

/** Rows of one group and default file. */
export function keysOf(group: string, defaultFile: DefaultFile, rows: readonly KeyRow[]): Key[] {
  return rows.map((row) => ({ ...row, group, defaultFile }));
}
