import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes';
import { ConfigError } from './config-error.ts';

/** Files that include files that include files… */
const MAX_INCLUDE_DEPTH = 16;
/** Files taken in by one file, directly or not. */
const MAX_INCLUDES = 1_000;
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/*
 *   file      = any elements; those that count, by local name:
 *   property  = name, value, final as child elements or as attributes (children win)
 *   include   = href, and perhaps a fallback element whose content counts when the target is missing
 *
 * An empty value element says nothing; an empty value attribute sets the empty text. `final` counts only as exactly "true".
 */

/** One property element as a file has it; deprecated names are not translated yet. */
export interface FileProperty {
  readonly name: string;
  /** null when the element has no value. */
  readonly value: string | null;
  readonly final: boolean;
  /** Path of the file that is being loaded, even when an included one holds the element. */
  readonly file: string;
  /** file:line for people, the included file named too. */
  readonly place: string;
}

/** Where relative includes are looked for: the configuration directory, then the working directory. */
export interface IncludeRoots {
  readonly directory: string | null;
  readonly workingDirectory: string;
}

/**
 * All properties of one configuration file in document order, those of included files in the place of the include. `remark` is told what
 * counts all the same but is surely not meant.
 */
export function readHadoopXml(
  path: string,
  roots: IncludeRoots,
  remark: (place: string, message: string) => void = () => {},
): FileProperty[] {
  return parseFile(path, roots, { file: path, prefix: '', open: [realpathSync(path)], included: { count: 0 }, remark });
}

interface Position {
  readonly file: string;
  /** "file:line includes " of the including files, '' at the top. */
  readonly prefix: string;
  /** The file itself, last, and the files that include it, without symbolic links. */
  readonly open: readonly string[];
  /** Files taken in so far by the file being loaded. */
  readonly included: { count: number };
  readonly remark: (place: string, message: string) => void;
}

class HadoopXmlFile {
  readonly #path: string;
  readonly #roots: IncludeRoots;
  readonly #position: Position;
  readonly #found: FileProperty[] = [];
  readonly #parser: SaxesParser<{ xmlns: true }>;
  #text = '';
  #name: string | null = null;
  #value: string | null = null;
  #final = false;
  #line = 0;
  #include: string | null = null;
  /** The include that is open has no target: its fallback counts. */
  #targetMissing = false;
  #inFallback = false;
  #hasRoot = false;

  constructor(path: string, roots: IncludeRoots, position: Position) {
    this.#path = path;
    this.#roots = roots;
    this.#position = position;
    this.#parser = new SaxesParser({ xmlns: true });
    this.#parser.on('error', (error) => {
      throw this.#error(error.message.replace(/^(?:[^:]*:)?\d+:\d+: /, ''), 'correct the XML');
    });
    this.#parser.on('doctype', (doctype) => this.#declareEntities(doctype));
    this.#parser.on('opentag', (tag) => this.#open(tag));
    this.#parser.on('closetag', (tag) => this.#close(tag.local));
    this.#parser.on('text', (text) => {
      this.#text += text;
    });
    this.#parser.on('cdata', (text) => {
      this.#text += text;
    });
  }

  parse(content: string): FileProperty[] {
    this.#parser.write(content).close();
    return this.#found;
  }

  #open(tag: SaxesTagNS): void {
    if (!this.#hasRoot) this.#checkRoot(tag.local);
    switch (tag.local) {
      case 'property':
        this.#line = this.#parser.line;
        this.#name = attribute(tag, 'name');
        this.#value = attribute(tag, 'value');
        this.#final = attribute(tag, 'final') === 'true';
        break;
      case 'name':
      case 'value':
      case 'final':
        this.#text = '';
        break;
      case 'include':
        this.#openInclude(attribute(tag, 'href'));
        break;
      case 'fallback':
        this.#inFallback = true;
        break;
    }
  }

  /** Hadoop's reader looks for properties whatever is around them, and so does this one. */
  #checkRoot(element: string): void {
    this.#hasRoot = true;
    if (element === 'configuration') return;
    const place = `${this.#position.prefix}${basename(this.#path)}:${this.#parser.line}`;
    this.#position.remark(place, `the outermost element is <${element}>; it should be <configuration>`);
  }

  #close(element: string): void {
    switch (element) {
      case 'name':
        if (this.#text !== '') this.#name = this.#text.trim();
        break;
      case 'value':
        if (this.#text !== '') this.#value = this.#text;
        break;
      case 'final':
        this.#final = this.#text === 'true';
        break;
      case 'property':
        this.#closeProperty();
        break;
      case 'include':
        if (this.#targetMissing && !this.#inFallback) {
          throw this.#error(
            `the included file '${this.#include}' does not exist`,
            'create it, correct href, or add an xi:fallback element',
          );
        }
        this.#targetMissing = false;
        this.#inFallback = false;
        break;
    }
  }

  #closeProperty(): void {
    const name = this.#name;
    const skipped = this.#inFallback && !this.#targetMissing;
    if (name !== null && !skipped) {
      const { file, prefix } = this.#position;
      const place = `${prefix}${basename(this.#path)}:${this.#line}`;
      this.#found.push({ name, value: this.#value, final: this.#final, file, place });
    }
    this.#name = null;
  }

  #openInclude(href: string | null): void {
    this.#include = href;
    if (href === null) return;
    const target = this.#findInclude(href);
    if (target === null) {
      this.#targetMissing = true;
      return;
    }
    const { file, prefix, open, included, remark } = this.#position;
    const real = realpathSync(target);
    if (open.includes(real)) {
      const circle = [...open.slice(open.indexOf(real)), real].map((path) => basename(path)).join(' → ');
      throw this.#error(`files include one another in a circle (${circle})`, 'take one of these includes out', '');
    }
    included.count++;
    if (included.count > MAX_INCLUDES) {
      throw this.#error(`more than ${MAX_INCLUDES} included files`, 'put their properties into fewer files');
    }
    if (open.length > MAX_INCLUDE_DEPTH) {
      throw this.#error(`more than ${MAX_INCLUDE_DEPTH} files include one another`, 'include them side by side', '');
    }
    const inside = `${prefix}${basename(this.#path)}:${this.#parser.line} includes `;
    const position = { file, prefix: inside, open: [...open, real], included, remark };
    for (const property of parseFile(target, this.#roots, position)) {
      this.#found.push(property);
    }
  }

  #findInclude(href: string): string | null {
    if (/^https?:/i.test(href)) {
      throw this.#error(
        `'${href}' is not on this machine`,
        'copy it into the configuration directory and include it by name',
      );
    }
    const { directory, workingDirectory } = this.#roots;
    const candidates = /^file:/i.test(href)
      ? [fileURLToPath(href)]
      : [...(directory === null || isAbsolute(href) ? [] : [join(directory, href)]), resolve(workingDirectory, href)];
    return candidates.find((candidate) => existsSync(candidate)) ?? null;
  }

  /** Entities with plain text, the only ones that configuration files use; others are refused, never read from elsewhere. */
  #declareEntities(doctype: string): void {
    for (const [, name = '', double, single, external] of doctype.matchAll(
      /<!ENTITY\s+([^\s%]+)\s+(?:"([^"]*)"|'([^']*)'|((?:SYSTEM|PUBLIC)\b))/g,
    )) {
      const value = double ?? single ?? '';
      if (external !== undefined) {
        throw this.#error(`entity '${name}' lies in another file`, 'use an xi:include element instead');
      }
      if (/[<&]/.test(value)) {
        throw this.#error(`entity '${name}' holds markup or other entities`, 'write its text in full');
      }
      this.#parser.ENTITIES[name] = value;
    }
  }

  /** `prefix`: the including files, left out where the problem names them or they are too many. */
  #error(problem: string, remedy: string, prefix: string = this.#position.prefix): ConfigError {
    const place = `${prefix}${this.#path}:${this.#parser.line}:${this.#parser.column + 1}`;
    return new ConfigError({ file: this.#path, place, problem, remedy });
  }
}

function parseFile(path: string, roots: IncludeRoots, position: Position): FileProperty[] {
  return new HadoopXmlFile(path, roots, position).parse(readXmlText(path));
}

function readXmlText(path: string): string {
  try {
    const { size } = statSync(path);
    if (size > MAX_FILE_BYTES) {
      throw new ConfigError({
        file: path,
        place: path,
        problem: `${size} bytes are too many for a configuration file`,
        remedy: `keep it below ${MAX_FILE_BYTES} bytes`,
      });
    }
    const bytes = readFileSync(path);
    const declared = /^\s*<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']/.exec(
      bytes.toString('latin1', 0, 200),
    )?.[1];
    return new TextDecoder(declared ?? 'utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const remedy =
      code === 'ERR_ENCODING_NOT_SUPPORTED' || code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
        ? 'save it as UTF-8'
        : 'make it a file that this user may read';
    throw new ConfigError({ file: path, place: path, problem: `cannot be read (${message})`, remedy });
  }
}

function attribute(tag: SaxesTagNS, name: string): string | null {
  const found: SaxesAttributeNS | undefined = Object.values(tag.attributes).find(({ local }) => local === name);
  return found?.value ?? null;
}
