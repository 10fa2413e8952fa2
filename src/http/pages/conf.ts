import { basename } from 'node:path';
import { type Configuration, DEFAULT_ORIGIN, keyIsSecret } from '../../config/configuration.ts';
import { KEYS } from '../../config/keys.ts';
import type { HttpPart } from '../http-server.ts';
import { escapeMarkup, page, parameter } from './page.ts';

const SENSITIVE_KEYS = 'hadoop.security.sensitive-config-keys';
/** What stands for a secret in each form, as Hadoop writes it. */
const REDACTED = { json: '<redacted>', xml: '******' } as const;
/** User and password in an address; parameters of one, or of a list, that hold secrets. */
const LOGIN = /:\/\/[^/@\s]+@/g;
const SECRET_PARAMETER = /((?:password|passwd|pwd|secret|token)=)[^&;,\s]*/gi;

interface Property {
  readonly key: string;
  readonly value: string;
  readonly isFinal: boolean;
  readonly resource: string;
}

/** `/conf`: the configuration that this router was started with, secrets left out. */
export function conf(configuration: Configuration): HttpPart {
  const isSecret = secretKeys(configuration);
  return (app) => {
    page(app, '/conf', async (request, reply) => {
      const form = request.headers.accept?.includes('json') === true ? 'json' : 'xml';
      const name = parameter(request, 'name');
      reply.header('content-type', form === 'json' ? 'application/json; charset=utf-8' : 'text/xml; charset=utf-8');
      if (name !== null && name !== '' && configuration.raw(name) === null) return await reply.code(404).send('');
      const names = name === null || name === '' ? configuration.names() : [name];
      const properties = names.map((key) => propertyOf(configuration, key, isSecret(key) ? REDACTED[form] : null));
      if (form === 'xml') return xmlOf(properties);
      return JSON.stringify(names.length === 1 && name ? { property: properties[0] } : { properties });
    });
  };
}

/** Keys whose values are hidden: those of Hadoop's expressions, and what this router knows for one. */
function secretKeys(configuration: Configuration): (key: string) => boolean {
  const expressions = configuration
    .readString(SENSITIVE_KEYS)
    .split(/[,\n]/)
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map(expressionOf);
  return (key) => keyIsSecret(key) || expressions.some((expression) => expression.test(key));
}

/** One that is no expression hides what contains it as it stands. */
function expressionOf(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch {
    return new RegExp(text.replace(/[^\w]/g, '\\$&'));
  }
}

/** `instead` of the value; null: the value itself. */
function propertyOf(configuration: Configuration, key: string, instead: string | null): Property {
  const { value } = configuration.effective(key);
  return {
    key,
    value: instead ?? value.replace(LOGIN, '://******@').replace(SECRET_PARAMETER, '$1******'),
    isFinal: configuration.isFinal(key),
    resource: resourceOf(configuration, key),
  };
}

function resourceOf(configuration: Configuration, key: string): string {
  const file = configuration.file(key);
  if (file !== null) return basename(file);
  const origin = configuration.origin(key);
  if (origin !== DEFAULT_ORIGIN) return origin;
  return `${KEYS.find(({ name }) => name === key)?.defaultFile ?? 'code'}.xml`;
}

function xmlOf(properties: readonly Property[]): string {
  const lines = properties.map(({ key, value, isFinal, resource }) => {
    const [name, text, source] = [key, value, resource].map(escapeMarkup);
    return `<property><name>${name}</name><value>${text}</value><final>${isFinal}</final><source>${source}</source></property>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8" standalone="no"?><configuration>\n${lines.join('')}</configuration>\n`;
}
