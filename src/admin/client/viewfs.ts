/** `import-viewfs`: the mount tables of ViewFs in a core-site.xml as a file for `apply`. */
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ExitCode, UsageError } from '../../commands/usage.ts';
import { formatAddress, parseAddress } from '../../config/address.ts';
import { ConfigError } from '../../config/config-error.ts';
import type { Configuration } from '../../config/configuration.ts';
import { ExpansionError, expandVariables, systemProperties } from '../../config/expand.ts';
import { type FileProperty, readHadoopXml } from '../../config/hadoop-xml.ts';
import { namesOfThisHost, readTopology } from '../../config/topology.ts';
import { canonicalPath } from '../../mount/canonical.ts';
import { emptyEntry, type MountDestination, senselessReason } from '../../mount/entry.ts';
import { comparePaths } from '../mount-rules.ts';
import { readArguments, requireCount, textFlag } from './arguments.ts';
import { type AdminContext, warn } from './context.ts';
import { declare } from './declared/declared.ts';
import { shortDocumentOf, writeDocument } from './declared/write-document.ts';
import { countOf, plainText, reasonOf } from './text.ts';
import type { Verb } from './verb.ts';

const USAGE = 'import-viewfs core-site.xml [--table NAME]';
const FLAGS = { table: { type: 'string' } } as const;
const DEFAULT_TABLE = 'default';
/** A NameNode's port where an address names none. */
const DEFAULT_NAMENODE_PORT = 8020;

/*
 *   fs.viewfs.mounttable.TABLE.link.SOURCE                    = URI
 *   fs.viewfs.mounttable.TABLE.linkFallback, .linkMergeSlash  = URI
 *   fs.viewfs.mounttable.TABLE.linkMerge.SOURCE, .linkNfly.SETTINGS.SOURCE, .linkRegex.…  = URI,URI…
 *   fs.viewfs.mounttable.TABLE.homedir                        = PATH
 *   fs.viewfs.mounttable.default.name.key                     = another name of the default table
 */
const KEY =
  /^fs\.viewfs\.mounttable\.(.+?)\.(link|linkFallback|linkMergeSlash|linkMerge|linkNfly|linkRegex|homedir|name\.key)(?:\.(.*))?$/s;
const TARGET = /^hdfs:\/\/([^/?#]+)(\/[^?#]*)?$/is;

export const VIEWFS_VERB: Verb = {
  name: 'import-viewfs',
  aliases: [],
  usage: USAGE,
  summary: 'write the links of a ViewFs mount table as a file for apply',
  run: importViewfs,
};

export interface ImportedViewfs {
  readonly table: string;
  /** Source path and destination of each link, by path. */
  readonly mounts: readonly { readonly sourcePath: string; readonly destination: MountDestination }[];
  /** What a router has no equal of, and what does the same as far as anything does. */
  readonly notes: readonly string[];
}

/** The nameservice whose NameNode listens at host:port; null when none is known. */
export type FindNameservice = (host: string, port: number) => string | null;

async function importViewfs(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  const { positionals, flags } = readArguments(args, FLAGS);
  requireCount(positionals, 1, 1, USAGE);
  const [file = ''] = positionals;
  const context = contextOf();
  const properties = readProperties(file);
  const imported = importTable(
    properties,
    file,
    textFlag(flags, 'table') ?? null,
    nameserviceFinder(context.configuration),
  );
  const { table, mounts, notes } = imported;
  const documents = mounts.map(({ sourcePath, destination }) => {
    const entry = { ...emptyEntry(sourcePath, { routerUser: '', superGroup: '' }), destinations: [destination] };
    return [sourcePath, shortDocumentOf({ ...declare(entry), owner: null, group: null })] as const;
  });
  const comments = [`${countOf(mounts.length, 'link')} of the ViewFs table ${table}`, ...notes].map(plainText);
  process.stdout.write(writeDocument(documents, context.json ? 'json' : 'yaml', comments));
  for (const note of notes) warn(note);
  return notes.length === 0 ? ExitCode.OK : ExitCode.FAILED;
}

/** Reads one table; null takes the only one, else the default. Throws UsageError when there is no such table. */
export function importTable(
  properties: readonly FileProperty[],
  file: string,
  wanted: string | null,
  findNameservice: FindNameservice,
): ImportedViewfs {
  const effective = effectiveProperties(properties);
  const tables = new Set<string>();
  const links: { kind: string; table: string; rest: string; property: FileProperty }[] = [];
  let defaultName: string | null = null;
  for (const property of effective.values()) {
    const [, table, kind, rest = ''] = KEY.exec(property.name) ?? [];
    if (table === undefined || kind === undefined) continue;
    if (kind === 'name.key') {
      if (table === DEFAULT_TABLE) defaultName = property.value;
      continue;
    }
    tables.add(table);
    links.push({ kind, table, rest, property });
  }
  const table = chooseTable(tables, wanted === defaultName && wanted !== null ? DEFAULT_TABLE : wanted, file);
  const mounts: { sourcePath: string; destination: MountDestination }[] = [];
  const notes: string[] = [];
  for (const { kind, table: owner, rest, property } of links) {
    if (owner !== table) continue;
    const value = expand(property, effective);
    if (kind !== 'link') {
      notes.push(`${property.place}: ${noteOf(kind, rest, value, findNameservice)}`);
      continue;
    }
    const result = readLink(rest, value, findNameservice);
    if (typeof result === 'string') notes.push(`${property.place}: link ${rest} is not imported: ${result}`);
    else mounts.push(result);
  }
  mounts.sort((one, other) => comparePaths(one.sourcePath, other.sourcePath));
  return { table, mounts, notes };
}

/** The reason when it cannot be a mount. */
function readLink(
  source: string,
  value: string,
  findNameservice: FindNameservice,
): ImportedViewfs['mounts'][number] | string {
  if (!source.startsWith('/')) return `its source '${source}' is no absolute path`;
  const destination = readTarget(value, findNameservice);
  if (typeof destination === 'string') return destination;
  const sourcePath = canonicalPath(source);
  const entry = emptyEntry(sourcePath, { routerUser: 'hdfs', superGroup: 'hdfs' });
  const reason = senselessReason({ ...entry, destinations: [destination], dateCreated: 1, dateModified: 1 });
  return reason ?? { sourcePath, destination };
}

/** The reason when it is no path in a nameservice. */
function readTarget(value: string, findNameservice: FindNameservice): MountDestination | string {
  const text = value.trim();
  const [, authority, path = '/'] = TARGET.exec(text) ?? [];
  if (authority === undefined) return `its target ${text} is not in HDFS; write hdfs://NAMESERVICE/PATH`;
  const nameservice = readNameservice(authority, findNameservice);
  if (nameservice === null) {
    return `its target names the NameNode ${authority}, and no nameservice of the configuration has it; write hdfs://NAMESERVICE/PATH or give --config-dir`;
  }
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    decoded = path;
  }
  return { nameservice, path: canonicalPath(decoded) };
}

/** An authority without a port is a nameservice, unless it is the host of a NameNode. */
function readNameservice(authority: string, findNameservice: FindNameservice): string | null {
  try {
    const { host, port } = parseAddress(authority, DEFAULT_NAMENODE_PORT);
    const known = findNameservice(host, port);
    if (known !== null) return known;
  } catch {
    // No host name, as ids with an underscore: then it is a nameservice.
  }
  return authority.includes(':') ? null : authority;
}

function noteOf(kind: string, rest: string, value: string, findNameservice: FindNameservice): string {
  const target = readTarget(value, findNameservice);
  const place = typeof target === 'string' ? value : `${target.nameservice}:${target.path}`;
  switch (kind) {
    case 'linkFallback':
    case 'linkMergeSlash':
      return `${kind} ${value} is not imported; a mount of / does the same, where you want it: "/": ${place}`;
    case 'linkMerge':
      return `linkMerge ${rest} to ${value} is not imported: a mount may have several destinations, but you must choose its order`;
    case 'linkNfly':
      return `linkNfly ${rest} to ${value} is not imported: routers do not write files to several nameservices`;
    case 'linkRegex':
      return `linkRegex ${rest} to ${value} is not imported: mounts have no patterns; write a mount for each path`;
    default:
      return `homedir ${value} is not imported: the home directory of routers is /user`;
  }
}

function chooseTable(tables: ReadonlySet<string>, wanted: string | null, file: string): string {
  const names = [...tables].sort();
  if (names.length === 0) throw new UsageError(`${file}: it has no key fs.viewfs.mounttable.TABLE.link.PATH`);
  if (wanted !== null) {
    if (tables.has(wanted)) return wanted;
    throw new UsageError(`--table ${wanted}: ${file} has no such table; there are ${names.join(', ')}`);
  }
  const [only] = names;
  if (only !== undefined && names.length === 1) return only;
  throw new UsageError(`${file} has several tables: ${names.join(', ')}; choose with --table`);
}

/** As Hadoop sees one file: the last definition of a key counts, unless one before is final. */
function effectiveProperties(properties: readonly FileProperty[]): Map<string, FileProperty> {
  const effective = new Map<string, FileProperty>();
  for (const property of properties) {
    if (property.value === null || effective.get(property.name)?.final === true) continue;
    effective.set(property.name, property);
  }
  return effective;
}

function expand({ value, place }: FileProperty, effective: ReadonlyMap<string, FileProperty>): string {
  const properties = systemProperties(process.env, '');
  try {
    return expandVariables(value ?? '', {
      environment: (name) => process.env[name] ?? null,
      systemProperty: (name) => (name === 'user.name' ? null : (properties.get(name) ?? null)),
      raw: (key) => effective.get(key)?.value ?? null,
    });
  } catch (error) {
    if (!(error instanceof ExpansionError)) throw error;
    throw new ConfigError({
      place,
      problem: `its variables refer to each other (${error.message})`,
      remedy: 'write it in full',
    });
  }
}

function readProperties(file: string): FileProperty[] {
  try {
    // What is no readable file is refused in our own words: the reader of Hadoop's files resolves links first.
    readFileSync(file);
  } catch (error) {
    throw new UsageError(`${file}: cannot be read (${reasonOf(error)}); give a core-site.xml`);
  }
  return readHadoopXml(file, { directory: dirname(file), workingDirectory: process.cwd() });
}

/** By the NameNodes of the configuration files; without them no address is known. */
function nameserviceFinder(configuration: Configuration): FindNameservice {
  const nameservices = new Map<string, string>();
  try {
    for (const { id, namenodes } of readTopology(configuration, namesOfThisHost()).topology.nameservices) {
      for (const { host, port } of namenodes) nameservices.set(formatAddress(host, port).toLowerCase(), id);
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
  }
  return (host, port) => nameservices.get(formatAddress(host, port).toLowerCase()) ?? null;
}
