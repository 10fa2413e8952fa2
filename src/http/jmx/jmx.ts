import { Readable } from 'node:stream';
import type { HttpPart } from '../http-server.ts';
import { page, parameter } from '../pages/page.ts';
import type { Bean } from './bean.ts';
import { matcherOf, ObjectNameError } from './object-name.ts';
import type { Scrape } from './scrape.ts';
import { JsonWriter, type Value } from './values.ts';

export interface JmxOptions {
  /** As they are now: some come with the ports and the queues. */
  beans(): readonly Bean[];
  scrape(): Scrape;
}

/** `/jmx`, with the answers that a Java router gives: monitors go by them, the odd ones included. */
export function jmx(options: JmxOptions): HttpPart {
  return (app) => {
    page(app, '/jmx', async (request, reply) => {
      const get = parameter(request, 'get');
      const qry = parameter(request, 'qry') ?? '*:*';
      reply.header('content-type', 'application/json; charset=utf8');
      reply.header('access-control-allow-methods', 'GET');
      reply.header('access-control-allow-origin', '*');
      const pieces = answer(options, get, qry);
      reply.header(
        'content-length',
        pieces.reduce((sum, { length }) => sum + length, 0),
      );
      // Long texts that were made before go out from where they are.
      return pieces.length === 1 ? pieces[0] : Readable.from(pieces, { objectMode: false });
    });
  };
}

/** The answer to `?get=` when it is there, else to `?qry=`. All have status 200, as the Java Router's have, errors included. */
function answer({ beans, scrape }: JmxOptions, get: string | null, qry: string): readonly Buffer[] {
  let pattern = qry;
  let attribute: string | null = null;
  if (get !== null) {
    // As Java splits: empty items at the end do not count.
    const items = get.replace(/(?:::)+$/, '').split('::');
    if (items.length !== 2) return writeError('query format is not as expected.');
    [pattern, attribute] = items as [string, string];
  }
  let isWanted: (name: string) => boolean;
  try {
    isWanted = matcherOf(pattern);
  } catch (error) {
    if (error instanceof ObjectNameError) return [Buffer.from('{ }')];
    throw error;
  }
  const wanted = beans().filter(({ name }) => isWanted(name));
  return writeBeans(wanted, scrape(), attribute);
}

function writeError(message: string): readonly Buffer[] {
  const writer = new JsonWriter();
  writer.add('{\n');
  writer.addField('result', 'ERROR', '  ');
  writer.add(',\n');
  writer.addField('message', message, '  ');
  writer.add('\n}');
  return writer.end();
}

const INDENT = '    ';

/** `attribute`: it alone; a bean without it, or where it is null, ends the list. */
function writeBeans(beans: readonly Bean[], scrape: Scrape, attribute: string | null): readonly Buffer[] {
  const writer = new JsonWriter();
  writer.add('{\n  "beans" : [ ');
  for (const [i, bean] of beans.entries()) {
    const parts = bean.read(scrape);
    writer.add(i === 0 ? '{\n' : ', {\n');
    writer.addField('name', bean.name, INDENT);
    writer.add(',\n');
    writer.addField('modelerType', bean.modelerType, INDENT);
    if (attribute !== null && (parts.find((part) => Object.hasOwn(part, attribute))?.[attribute] ?? null) === null) {
      writer.add(',\n');
      writer.addField('result', 'ERROR', INDENT);
      writer.add(',\n');
      writer.addField('message', `No attribute with name ${attribute} was found.`, INDENT);
      writer.add('\n  }');
      break;
    }
    for (const part of parts) {
      for (const name in part) {
        if (attribute !== null && name !== attribute) continue;
        writer.add(',\n');
        writer.addField(name, part[name] as Value, INDENT);
      }
    }
    writer.add('\n  }');
  }
  writer.add(beans.length === 0 ? ']\n}' : ' ]\n}');
  return writer.end();
}
