// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of Hadoop's configuration
import { describe, expect, it } from 'vitest';
import { formatAddress, parseAddress } from '../../src/config/address.ts';
import { ValueError } from '../../src/config/config-error.ts';
import { ExpansionError, expandVariables, systemProperties } from '../../src/config/expand.ts';
import {
  parseBoolean,
  parseBytes,
  parseChoice,
  parseDurationMs,
  parseFloating,
  parseInteger,
  parseList,
  parseLong,
} from '../../src/config/values.ts';

/** Every expectation in this file is what Hadoop 3.4.1's own classes answer; `error` stands for an exception of theirs. */
const error = Symbol('error');

function outcome<T>(read: () => T): T | typeof error {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof ValueError || thrown instanceof ExpansionError) return error;
    throw thrown;
  }
}

describe('numbers', () => {
  it.each([
    ['10', 10, 10, 10],
    [' 10 ', 10, 10, 10],
    ['0x1F', 31, 31, error],
    ['-0x10', -16, -16, error],
    ['0X1f', 31, 31, error],
    ['+5', 5, 5, 5],
    ['-7', -7, -7, -7],
    ['10k', error, error, 10_240],
    ['', error, error, error],
    [' ', error, error, error],
    ['1_0', error, error, error],
    ['2147483647', 2_147_483_647, 2_147_483_647, 2_147_483_647],
    ['2147483648', error, 2_147_483_648, 2_147_483_648],
    ['-2147483648', -2_147_483_648, -2_147_483_648, -2_147_483_648],
    ['0x80000000', error, 2_147_483_648, error],
    ['9223372036854775808', error, error, error],
    ['#12', error, error, error],
    ['1.0', error, error, error],
  ])('%j is int %s, long %s, bytes %s', (text, int, long, bytes) => {
    expect(outcome(() => parseInteger(text))).toBe(int);
    expect(outcome(() => parseLong(text))).toBe(long);
    expect(outcome(() => parseBytes(text))).toBe(bytes);
  });

  it.each([
    ['1k', 1024],
    ['1K', 1024],
    ['2m', 2_097_152],
    ['1g', 1_073_741_824],
    ['1t', 2 ** 40],
    ['1p', 2 ** 50],
    ['1e', 2 ** 60],
    [' 3m ', 3_145_728],
    ['-1k', -1024],
    ['1 k', error],
    ['9e', error],
    ['k', error],
    ['1kb', error],
    ['1b', error],
    ['1.5k', error],
  ])('%j bytes is %s', (text, expected) => {
    expect(outcome(() => parseBytes(text))).toBe(expected);
  });

  it.each([
    ['0.5f', 0.5],
    ['0.5F', 0.5],
    ['0.5d', 0.5],
    ['1e3', 1000],
    ['1E-2', 0.01],
    ['  .5 ', 0.5],
    ['1.', 1],
    ['+1', 1],
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['-Infinity', Number.NEGATIVE_INFINITY],
    ['1,5', error],
    ['', error],
    ['1l', error],
    ['.', error],
  ])('%j as a float is %s', (text, expected) => {
    expect(outcome(() => parseFloating(text))).toBe(expected);
  });
});

describe('durations', () => {
  it.each([
    ['10', 10],
    ['10s', 10_000],
    ['10S', 10_000],
    [' 10s ', 10_000],
    ['1500us', 1],
    ['-1500us', -1],
    ['3ns', 0],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['1d', 86_400_000],
    ['10ms', 10],
    ['-1', -1],
    ['-1s', -1000],
    ['+5s', 5000],
    ['9223372036854775807d', 2 ** 63],
    ['10 s', error],
    ['1.5s', error],
    ['5min', error],
    ['10mss', error],
    ['0x10s', error],
    ['s', error],
    ['', error],
    [' ', error],
  ])('%j is %s ms', (text, expected) => {
    expect(outcome(() => parseDurationMs(text, 'ms'))).toBe(expected);
  });

  it('takes the unit of the key for a number alone', () => {
    expect(parseDurationMs('15', 's')).toBe(15_000);
    expect(parseDurationMs('15ms', 's')).toBe(15);
  });
});

describe('booleans, lists, choices', () => {
  it.each([
    ['true', true],
    ['TRUE', true],
    [' true ', true],
    ['FALSE ', false],
    ['yes', null],
    ['1', null],
    ['', null],
  ])('%j is %s', (text, expected) => {
    expect(parseBoolean(text)).toBe(expected);
  });

  it.each([
    ['a,b', ['a', 'b']],
    ['a , b,\n c', ['a', 'b', 'c']],
    ['a\r\nb', ['a', 'b']],
    ['a,,b', ['a', 'b']],
    ['b,a,a,b', ['b', 'a']],
    [' ', []],
    ['', []],
  ])('%j is the list %j', (text, expected) => {
    expect(parseList(text)).toEqual(expected);
  });

  it('finds a choice whatever its case and names the others', () => {
    expect(parseChoice(' http_only ', ['HTTP_ONLY', 'HTTPS_ONLY'])).toBe('HTTP_ONLY');
    expect(() => parseChoice('http', ['HTTP_ONLY', 'HTTPS_ONLY'])).toThrow(
      expect.objectContaining({ allowed: 'HTTP_ONLY, HTTPS_ONLY' }),
    );
  });
});

describe('addresses', () => {
  it.each([
    ['host', 'host', 8020],
    ['host:1', 'host', 1],
    ['h:', 'h', 8020],
    ['hdfs://h:9/x', 'h', 9],
    ['hdfs://h', 'h', 8020],
    ['[::1]:80', '::1', 80],
    ['[::1]', '::1', 8020],
    ['h:0', 'h', 0],
    [' h:1 ', 'h', 1],
    ['1.2.3.4:5', '1.2.3.4', 5],
    ['nn1.example.com:8020', 'nn1.example.com', 8020],
  ])('%j is host %s, port %i', (text, host, port) => {
    expect(parseAddress(text, 8020)).toEqual({ host, port });
  });

  it.each(['::1', ':80', 'a:b:c', 'h:65536', 'h:-1', 'h:1/x', 'h_x:1', 'hdfs://h:99999', 'h:1 2', '', 'h:+1', 'h:0x1'])(
    '%j is an error',
    (text) => {
      expect(outcome(() => parseAddress(text, 8020))).toBe(error);
    },
  );

  it('writes IPv6 in brackets', () => {
    expect(formatAddress('::1', 80)).toBe('[::1]:80');
    expect(formatAddress('h', 80)).toBe('h:80');
  });
});

describe('variables', () => {
  const keys = new Map([
    ['b', 'B'],
    ['c', '<${b}>'],
    ['loop1', '${loop2}'],
    ['loop2', '${loop1}'],
    ['self', 'z${self}'],
    ['user.name', 'not this one'],
  ]);
  const environment: Record<string, string> = { HOME: '/home/hdfs', EMPTY: '' };
  const properties = systemProperties({ HOME: '/home/hdfs', HADOOP_HOME: '/opt/hadoop' }, 'hdfs');
  const source = {
    environment: (name: string): string | null => environment[name] ?? null,
    systemProperty: (name: string): string | null => properties.get(name) ?? null,
    raw: (key: string): string | null => keys.get(key) ?? null,
  };

  it.each([
    ['x${b}y', 'xBy'],
    ['${b} ${b}', 'B B'],
    ['${c}', '<B>'],
    ['${user.name}', 'hdfs'],
    ['${hadoop.log.dir}', '/opt/hadoop/logs'],
    ['${java.io.tmpdir}', '/tmp'],
    ['${env.HOME}', '/home/hdfs'],
    ['${env.NOPE-d}', 'd'],
    ['${env.NOPE:-d}', 'd'],
    ['${env.NOPE-}', ''],
    ['${env.EMPTY-d}', ''],
    ['${env.EMPTY:-d}', 'd'],
    ['${env.NOPE:d}', '${env.NOPE:d}'],
    ['${env.NOPE}', '${env.NOPE}'],
    ['${env.}', '${env.}'],
    ['${}', '${}'],
    ['${a ${b}}', '${a B}'],
    ['$${b}', '$B'],
    ['${b', '${b'],
    ['${${b}}', '${B}'],
    ['x}${b}', 'x}B'],
    ['{${b}}', '{B}'],
    ['${user.name}-${b}-${nope}-${b}', 'hdfs-B-${nope}-${b}'],
    ['${self}', '${self}'],
    ['x${self}', 'x${self}'],
    ['${loop1}', error],
    ['${b}'.repeat(19), 'B'.repeat(19)],
    ['${b}'.repeat(20), error],
  ])('%j expands to %j', (text, expected) => {
    expect(outcome(() => expandVariables(text, source))).toBe(expected);
  });
});
