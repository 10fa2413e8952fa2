// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of Hadoop's configuration
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/config/config-error.ts';
import { Configuration, type ConfigurationOptions, configurationDirectory } from '../../src/config/configuration.ts';

let root: string;
let conf: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'switchyard-config-'));
  conf = join(root, 'conf');
  mkdirSync(conf);
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

type FileName = 'core-site.xml' | 'hdfs-site.xml' | 'hdfs-rbf-site.xml' | 'hdfs-fedbalance-site.xml';

function write(file: FileName | string, content: string, raw = false): void {
  writeFileSync(join(conf, file), raw ? content : `<configuration>\n${content}\n</configuration>\n`);
}

function property(name: string, value: string | null, final = ''): string {
  return `<property><name>${name}</name>${value === null ? '' : `<value>${value}</value>`}${final === '' ? '' : `<final>${final}</final>`}</property>`;
}

function load(options: ConfigurationOptions = {}): Configuration {
  return new Configuration({ directory: conf, environment: {}, workingDirectory: root, ...options });
}

function failure(action: () => unknown): ConfigError {
  try {
    action();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('no error');
}

const HANDLERS = 'dfs.federation.router.handler.count';

describe('files and order', () => {
  it('has the defaults of a router when there are no files', () => {
    const configuration = load();
    expect(configuration.readInteger(HANDLERS)).toBe(10);
    expect(configuration.readAddress('dfs.federation.router.rpc-address', 8888)).toEqual({
      host: '0.0.0.0',
      port: 8888,
    });
    expect(configuration.get('dfs.nameservices')).toBeNull();
    expect(configuration.origin(HANDLERS)).toBe('default');
  });

  it('lets later files win', () => {
    write('core-site.xml', property('a', 'core'));
    expect(load().get('a')).toBe('core');
    write('hdfs-site.xml', property('a', 'hdfs'));
    expect(load().get('a')).toBe('hdfs');
    write('hdfs-rbf-site.xml', `\n${property('a', 'rbf')}`);
    expect(load().get('a')).toBe('rbf');
    expect(load().origin('a')).toBe('hdfs-rbf-site.xml:3');
    write('hdfs-fedbalance-site.xml', property('a', 'fedbalance'));
    expect(load().get('a')).toBe('fedbalance');
  });

  it('lets the default of a router or hdfs key beat core-site.xml unless it is empty, and says so', () => {
    write(
      'core-site.xml',
      property(HANDLERS, '64') + property('dfs.nameservices', 'ns0') + property('ipc.ping.interval', '5'),
    );
    const configuration = load();
    expect(configuration.readInteger(HANDLERS)).toBe(10);
    expect(configuration.readList('dfs.nameservices')).toEqual(['ns0']);
    expect(configuration.readInteger('ipc.ping.interval')).toBe(5);
    expect(configuration.notes.map(({ kind, key, place }) => ({ kind, key, place }))).toEqual([
      { kind: 'overridden-by-default', key: HANDLERS, place: 'core-site.xml:2' },
    ]);
  });

  it('does not let a default beat core-site.xml where only the code has it', () => {
    const directory = 'dfs.federation.router.store.driver.file.directory';
    write('core-site.xml', property(directory, '/store'));
    expect(load().get(directory)).toBe('/store');
  });

  it('keeps the last of two values in one file', () => {
    write('hdfs-site.xml', property('a', '1') + property('a', '2'));
    expect(load().get('a')).toBe('2');
  });

  it('lets overrides win over final values, under old names too', () => {
    write('hdfs-site.xml', property('dfs.nameservices', 'ns0', 'true'));
    const overrides = [{ key: 'dfs.federation.nameservices', value: 'ns9', origin: '--set' }];
    const configuration = load({ overrides });
    expect(configuration.get('dfs.nameservices')).toBe('ns9');
    expect(configuration.origin('dfs.nameservices')).toBe('--set');
  });

  it('finds the directory as Hadoop scripts do', () => {
    mkdirSync(join(root, 'etc/hadoop'), { recursive: true });
    expect(configurationDirectory({ HADOOP_CONF_DIR: '/c', HADOOP_HOME: root })).toBe('/c');
    expect(configurationDirectory({ HADOOP_HOME: root })).toBe(join(root, 'etc/hadoop'));
    expect(configurationDirectory({ HADOOP_HOME: join(root, 'nowhere') })).toBeNull();
    expect(configurationDirectory({})).toBeNull();
  });

  it('refuses a directory that is none', () => {
    expect(failure(() => load({ directory: join(root, 'nope') })).message).toContain('not a directory');
    write('file', '');
    expect(failure(() => load({ directory: join(conf, 'file') })).message).toContain('not a directory');
  });
});

describe('form of the files', () => {
  it('trims names and keeps values as written', () => {
    write('hdfs-site.xml', property('  a\n ', ' x\n y ') + property('b', ' '));
    expect(load().get('a')).toBe(' x\n y ');
    expect(load().get('b')).toBe(' ');
  });

  it('takes attributes, CDATA and comments', () => {
    write(
      'hdfs-site.xml',
      '<property name="a" value="1" final="true"/><property name="a" value="2"/>' +
        '<property><name>b</name><value>x<!-- c --><![CDATA[<y>]]>z &amp;</value></property>' +
        '<property name="c" value="1"><value>2</value></property>',
    );
    const configuration = load();
    expect(configuration.get('a')).toBe('1');
    expect(configuration.get('b')).toBe('x<y>z &');
    expect(configuration.get('c')).toBe('2');
  });

  it('takes an empty value for none, except in an attribute', () => {
    write('core-site.xml', property('a', '1') + property('b', '1') + property('c', '1'));
    write(
      'hdfs-site.xml',
      `${property('a', '')}<property><name>b</name><value/></property><property name="c" value=""/>`,
    );
    const configuration = load();
    expect(configuration.get('a')).toBe('1');
    expect(configuration.get('b')).toBe('1');
    expect(configuration.get('c')).toBe('');
    expect(configuration.get('never')).toBeNull();
  });

  it('reads properties whatever element holds them, and skips those without a name', () => {
    write('hdfs-site.xml', `<x><group>${property('a', '1')}</group><property><value>2</value></property></x>`, true);
    expect(load().get('a')).toBe('1');
  });

  it('reads a byte order mark, another encoding, and entities with plain text', () => {
    write('core-site.xml', `\ufeff<configuration>${property('a', 'é')}</configuration>`, true);
    const latin =
      '<?xml version="1.0" encoding="ISO-8859-1"?><configuration><property><name>b</name><value>é</value></property></configuration>';
    writeFileSync(join(conf, 'hdfs-site.xml'), Buffer.from(latin, 'latin1'));
    write(
      'hdfs-rbf-site.xml',
      `<!DOCTYPE configuration [<!ENTITY x "yy">]><configuration>${property('c', '1&x;2')}</configuration>`,
      true,
    );
    const configuration = load();
    expect([configuration.get('a'), configuration.get('b'), configuration.get('c')]).toEqual(['é', 'é', '1yy2']);
  });
});

describe('final', () => {
  it.each([
    ['true', '1'],
    ['TRUE', '2'],
    [' true', '2'],
    ['false', '2'],
  ])('%j', (final, expected) => {
    write('core-site.xml', property('a', '1', final));
    write('hdfs-site.xml', property('a', '2'));
    const configuration = load();
    expect(configuration.get('a')).toBe(expected);
    expect(configuration.notes.map(({ kind }) => kind)).toEqual(final === 'true' ? ['final'] : []);
  });

  it('holds within its own file, too', () => {
    write('core-site.xml', property('a', '1', 'true') + property('a', '2'));
    expect(load().get('a')).toBe('1');
  });

  it('freezes absence when it has no value', () => {
    write('core-site.xml', property('a', null, 'true') + property(HANDLERS, '', 'true'));
    write('hdfs-site.xml', property('a', '2') + property(HANDLERS, '64'));
    const configuration = load();
    expect(configuration.get('a')).toBeNull();
    expect(configuration.get(HANDLERS)).toBeNull();
    expect(configuration.readInteger(HANDLERS)).toBe(10);
  });

  it('beats the default files', () => {
    write('core-site.xml', property(HANDLERS, '64', 'true'));
    expect(load().readInteger(HANDLERS)).toBe(64);
  });
});

describe('old names', () => {
  it.each([
    ['fs.default.name', 'fs.defaultFS'],
    ['dfs.federation.nameservices', 'dfs.nameservices'],
    ['dfs.permissions.supergroup', 'dfs.permissions.superusergroup'],
  ])('%s and %s are one', (old, name) => {
    write('hdfs-site.xml', property(old, 'x'));
    const configuration = load();
    expect([configuration.get(name), configuration.get(old)]).toEqual(['x', 'x']);
    expect(configuration.notes.map(({ kind, key }) => [kind, key])).toEqual([['deprecated', old]]);
    write('hdfs-rbf-site.xml', property(name, 'y'));
    expect(load().get(old)).toBe('y');
  });
});

describe('includes', () => {
  const include = (href: string, content = ''): string =>
    `<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="${href}">${content}</xi:include>`;

  it('takes in files of the directory, then of the working directory, in place of the element', () => {
    write('more.xml', `${property('a', 'more')}${property('b', 'more', 'true')}`);
    writeFileSync(join(root, 'beside.xml'), `<configuration>${property('c', 'beside')}</configuration>`);
    write(
      'hdfs-site.xml',
      `${property('a', '1')}${include('more.xml')}${property('b', '2')}\n<include href="beside.xml"/>`,
    );
    const configuration = load();
    expect([configuration.get('a'), configuration.get('b'), configuration.get('c')]).toEqual([
      'more',
      'more',
      'beside',
    ]);
  });

  it('names both files as the origin and the including one as the source', () => {
    write('more.xml', `\n${property('a', 'x')}`);
    write('hdfs-site.xml', include('more.xml'));
    const configuration = load();
    expect(configuration.origin('a')).toBe('hdfs-site.xml:2 includes more.xml:3');
    expect(configuration.file('a')).toBe(join(conf, 'hdfs-site.xml'));
  });

  it('uses the fallback only when the file is missing', () => {
    write('more.xml', property('a', 'more'));
    const fallback = `<xi:fallback>${property('a', 'fallback')}</xi:fallback>`;
    write('hdfs-site.xml', include('more.xml', fallback) + property('z', '1'));
    expect(load().get('a')).toBe('more');
    write('hdfs-site.xml', include('nope.xml', fallback) + property('z', '1'));
    expect([load().get('a'), load().get('z')]).toEqual(['fallback', '1']);
    write('hdfs-site.xml', include('nope.xml', `<xi:fallback>${include('more.xml')}</xi:fallback>`));
    expect(load().get('a')).toBe('more');
    write('hdfs-site.xml', include('nope.xml', '<xi:fallback/>'));
    expect(load().get('a')).toBeNull();
  });

  it('refuses a missing file without fallback, a circle, and a file elsewhere', () => {
    write('hdfs-site.xml', include('nope.xml'));
    expect(failure(load).message).toMatch(
      /hdfs-site\.xml:2:\d+: the included file 'nope\.xml' does not exist; create it/,
    );
    write('hdfs-site.xml', include('hdfs-site.xml'));
    expect(failure(load).message).toMatch(
      /^\S*hdfs-site\.xml:2:\d+: files include one another in a circle \(hdfs-site\.xml → hdfs-site\.xml\); take one/,
    );
    write('hdfs-site.xml', include('a.xml'));
    write('a.xml', include('b.xml'));
    write('b.xml', include('a.xml'));
    expect(failure(load).message).toMatch(/^\S*b\.xml:2:\d+: .* in a circle \(a\.xml → b\.xml → a\.xml\); take one/);
    for (let depth = 0; depth < 17; depth++) write(`${depth}.xml`, include(`${depth + 1}.xml`));
    write('17.xml', '');
    write('hdfs-site.xml', include('0.xml'));
    expect(failure(load).message).toMatch(
      /^\S*15\.xml:2:\d+: more than 16 files include one another; include them side/,
    );
    write('one.xml', property('a', '1'));
    write('hdfs-site.xml', include('one.xml').repeat(1_001));
    expect(failure(load).message).toContain('more than 1000 included files');
    write('hdfs-site.xml', include('http://example.com/x.xml'));
    expect(failure(load).message).toContain('is not on this machine');
  });
});

describe('files that were read before', () => {
  it('are named, and missed when they are gone', () => {
    write('core-site.xml', property('a', '1'));
    write('hdfs-rbf-site.xml', property('b', '1'));
    const { files } = load();
    expect(files).toEqual([join(conf, 'core-site.xml'), join(conf, 'hdfs-rbf-site.xml')]);
    write('hdfs-site.xml', property('c', '1'));
    expect(load({ expected: files }).files).toHaveLength(3);
    rmSync(join(conf, 'core-site.xml'));
    expect(load().get('a')).toBeNull();
    const { message, file } = failure(() => load({ expected: files }));
    expect(message).toBe(
      'core-site.xml: gone, and was read before; put it back; one without properties says that nothing is set',
    );
    expect(file).toBe(join(conf, 'core-site.xml'));
  });
});

describe('files that cannot be read', () => {
  it.each([
    ['<configuration><property></configuration>', /hdfs-site\.xml:1:\d+: .*; correct the XML/],
    ['<configuration>\n<property><name>a</name></configuration>', /hdfs-site\.xml:2:\d+: /],
    ['', /hdfs-site\.xml:1:1: /],
    ['<configuration></configuration>x', /hdfs-site\.xml:1:\d+: /],
    ['<configuration>&nope;</configuration>', /hdfs-site\.xml:1:\d+: /],
    ['<configuration><xi:include href="x"/></configuration>', /hdfs-site\.xml:1:\d+: /],
    ['<!DOCTYPE c [<!ENTITY x SYSTEM "/etc/hostname">]><configuration/>', /entity 'x' lies in another file/],
    ['<!DOCTYPE c [<!ENTITY y "Y"><!ENTITY x "1&y;2">]><configuration/>', /entity 'x' holds markup or other entities/],
  ])('%j', (content, message) => {
    write('hdfs-site.xml', content, true);
    const error = failure(load);
    expect(error.message).toMatch(message);
    expect(error.file).toBe(join(conf, 'hdfs-site.xml'));
  });

  it('says so when the bytes are not text or the file is a directory', () => {
    writeFileSync(join(conf, 'core-site.xml'), Buffer.from([0x3c, 0xff, 0xfe]));
    expect(failure(load).message).toContain('save it as UTF-8');
    rmSync(join(conf, 'core-site.xml'));
    mkdirSync(join(conf, 'core-site.xml'));
    expect(failure(load).message).toContain('cannot be read');
  });

  it('answers any content with a configuration or a ConfigError', () => {
    const pieces = fc.constantFrom(
      '<configuration>',
      '</configuration>',
      '<property>',
      '</property>',
      '<name>',
      'a',
      '</name>',
      '<value>',
      '</value>',
      '<include href="core-site.xml"/>',
      '<include>',
      '<fallback>',
      '<![CDATA[',
      ']]>',
      '<!--',
      '-->',
      '&lt;',
      '&x;',
      '<!DOCTYPE c [<!ENTITY x "y">]>',
      '\u0000',
      '${a}',
    );
    const content = fc.oneof(
      fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('')),
      fc.string({ maxLength: 40 }),
    );
    let loaded = 0;
    fc.assert(
      fc.property(content, (text) => {
        write('core-site.xml', `<configuration>${text}</configuration>`, true);
        try {
          load();
          loaded++;
        } catch (error) {
          if (!(error instanceof ConfigError)) throw error;
        }
      }),
      { seed: 7, numRuns: 20_000, interruptAfterTimeLimit: 1_500, markInterruptAsFailure: false },
    );
    expect(loaded).toBeGreaterThan(0);
  });
});

describe('typed reads', () => {
  it('names place, key, value and what is allowed', () => {
    write('hdfs-rbf-site.xml', property('dfs.federation.router.connection.pool-size', 'many'));
    const error = failure(() => load().readInteger('dfs.federation.router.connection.pool-size'));
    expect(error.message).toBe(
      'hdfs-rbf-site.xml:2: dfs.federation.router.connection.pool-size = "many": not a whole number; allowed: a whole number of 32 bits, e.g. 100',
    );
    expect(error.key).toBe('dfs.federation.router.connection.pool-size');
    expect(error.value).toBe('many');
  });

  it('expands variables of the environment and of other keys', () => {
    write(
      'hdfs-site.xml',
      property('a', '${env.ROUTER_HOST:-r1}:${port}') +
        property('port', '8888') +
        property('x', '${y}') +
        property('y', '${x}'),
    );
    expect(load().get('a')).toBe('r1:8888');
    expect(load({ environment: { ROUTER_HOST: 'r2' } }).get('a')).toBe('r2:8888');
    expect(failure(() => load().get('x')).message).toContain('its variables refer to each other');
  });

  it('reads the keys that Java reads as plain numbers with or without unit', () => {
    write(
      'hdfs-rbf-site.xml',
      property('dfs.federation.router.heartbeat.interval', '20s') +
        property('dfs.federation.router.connection.clean.ms', '20000'),
    );
    expect(load().readDurationMs('dfs.federation.router.heartbeat.interval')).toBe(20_000);
    expect(load().readDurationMs('dfs.federation.router.connection.clean.ms')).toBe(20_000);
  });

  it('takes the unit of the key, and the default for what is no boolean', () => {
    write(
      'hdfs-rbf-site.xml',
      property('dfs.federation.router.observer.state.id.refresh.period', '15') +
        property('dfs.federation.router.rpc.enable', 'yes'),
    );
    expect(load().readDurationMs('dfs.federation.router.observer.state.id.refresh.period')).toBe(15_000);
    expect(load().readBoolean('dfs.federation.router.rpc.enable')).toBe(true);
  });

  it('does not print secrets', () => {
    write(
      'hdfs-rbf-site.xml',
      property('state-store-mysql.connection.password', '${p}') +
        property('p', '${state-store-mysql.connection.password}'),
    );
    expect(failure(() => load().get('state-store-mysql.connection.password')).message).not.toContain('${p}');
  });
});
