import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import {
  decode,
  decodePlain,
  encode,
  encodeDelimited,
  MessageError,
  messageType,
  serviceType,
  toPlain,
} from '../../src/wire/messages.ts';

const PROTO = new URL('../../proto/', import.meta.url);

/** Bytes of a captured frame without its 4-byte length. */
function frame(name: string): Buffer {
  return Buffer.from(readFileSync(new URL(`frames/${name}.hex`, import.meta.url), 'utf8').trim(), 'hex').subarray(4);
}

/** Start and end of the next varint-delimited message. */
function delimited(bytes: Buffer, at: number): [number, number] {
  const reader = protobuf.Reader.create(bytes);
  reader.pos = at;
  const length = reader.uint32();
  return [reader.pos, reader.pos + length];
}

const requestHeader = messageType('hadoop.common.RpcRequestHeaderProto');
const responseHeader = messageType('hadoop.common.RpcResponseHeaderProto');

describe('captured frames', () => {
  const requests: [string, string, object][] = [
    ['03-getFileInfo-request', 'hadoop.hdfs.GetFileInfoRequestProto', { src: '/data' }],
    [
      '05-mkdirs-request',
      'hadoop.hdfs.MkdirsRequestProto',
      { src: '/data/d1', masked: { perm: 0o755 }, createParent: true, unmasked: { perm: 0o777 } },
    ],
    [
      '07-getBlockLocations-request',
      'hadoop.hdfs.GetBlockLocationsRequestProto',
      { src: '/data/none', offset: 0, length: 1342177280 },
    ],
    [
      '23-router-to-namenode-mkdirs-request',
      'hadoop.hdfs.MkdirsRequestProto',
      { src: '/dest/x', masked: { perm: 0o755 }, createParent: true },
    ],
  ];
  it.each(requests)('%s decodes, and encodes to the same bytes', (name, typeName, fields) => {
    const bytes = frame(name);
    const [start, end] = delimited(bytes, 0);
    const header = decodePlain(requestHeader, bytes, start, end);
    expect(header).toMatchObject({ rpcKind: 'RPC_PROTOCOL_BUFFER', rpcOp: 'RPC_FINAL_PACKET', retryCount: 0 });
    const [callStart, callEnd] = delimited(bytes, end);
    const callType = messageType('hadoop.common.RequestHeaderProto');
    const call = decodePlain(callType, bytes, callStart, callEnd);
    expect(call).toMatchObject({
      declaringClassProtocolName: 'org.apache.hadoop.hdfs.protocol.ClientProtocol',
      clientProtocolVersion: 1,
    });
    const [bodyStart, bodyEnd] = delimited(bytes, callEnd);
    const type = messageType(typeName);
    const body = decodePlain(type, bytes, bodyStart, bodyEnd);
    expect(body).toEqual(fields);
    const again = Buffer.concat([
      encodeDelimited(requestHeader, header),
      encodeDelimited(callType, call),
      encodeDelimited(type, body),
    ]);
    expect(again.toString('hex')).toBe(bytes.toString('hex'));
  });

  it('a file status with 64-bit fields, enums and defaults', () => {
    const bytes = frame('04-getFileInfo-response');
    const [, headerEnd] = delimited(bytes, 0);
    const [start, end] = delimited(bytes, headerEnd);
    const type = messageType('hadoop.hdfs.GetFileInfoResponseProto');
    const plain = decodePlain(type, bytes, start, end);
    expect(plain).toMatchObject({
      fs: {
        fileType: 'IS_DIR',
        path: Buffer.alloc(0),
        permission: { perm: 0o777 },
        owner: 'root',
        group: 'supergroup',
        fileId: 16386,
        childrenNum: 0,
      },
    });
    const { fs } = plain as { fs: object };
    expect(Object.hasOwn(fs, 'symlink')).toBe(false);
    expect(encodeDelimited(type, plain).equals(bytes.subarray(headerEnd))).toBe(true);
  });

  it('a call id below zero reads as the server meant it', () => {
    const bytes = frame('12-fatal-unknown-auth');
    const [start, end] = delimited(bytes, 0);
    const header = decodePlain(responseHeader, bytes, start, end);
    expect(header).toMatchObject({
      callId: -1,
      status: 'FATAL',
      errorDetail: 'FATAL_UNAUTHORIZED',
      clientId: Buffer.alloc(0),
      retryCount: -1,
    });
    expect(encode(responseHeader, header).equals(bytes.subarray(start, end))).toBe(true);
  });

  it('the state id of a router that has none is the smallest long', () => {
    const bytes = frame('23-router-to-namenode-mkdirs-request');
    const [start, end] = delimited(bytes, 0);
    expect(decodePlain(requestHeader, bytes, start, end)['stateId']).toBe(-(2n ** 63n));
  });

  it('a SASL negotiation', () => {
    const bytes = frame('21-sasl-negotiate-response-simple-plus-token');
    const [, headerEnd] = delimited(bytes, 0);
    const [start, end] = delimited(bytes, headerEnd);
    const sasl = decodePlain(messageType('hadoop.common.RpcSaslProto'), bytes, start, end);
    expect(sasl).toMatchObject({
      state: 'NEGOTIATE',
      auths: [{ method: 'TOKEN', mechanism: 'DIGEST-MD5' }, { method: 'SIMPLE' }],
    });
  });
});

describe('values', () => {
  const stats = messageType('hadoop.hdfs.QuotaUsageProto');
  const usage = { fileAndDirectoryCount: 0, quota: 0, spaceConsumed: 0, spaceQuota: 0 };

  it.each([0, 1, -1, 2 ** 53 - 1, -(2 ** 53 - 1), 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)])(
    'the long %s survives',
    (value) => {
      expect(decodePlain(stats, encode(stats, { ...usage, quota: value }))['quota']).toBe(value);
      expect(
        decodePlain(requestHeader, encode(requestHeader, { callId: 0, clientId: Buffer.alloc(0), stateId: value }))[
          'stateId'
        ],
      ).toBe(value);
    },
  );

  it('an unsigned long above 2^63 is the Java long of the same bits', () => {
    expect(decodePlain(stats, encode(stats, { ...usage, quota: 2n ** 64n - 1n }))['quota']).toBe(-1);
  });

  it('maps, with any key', () => {
    const type = messageType('hadoop.hdfs.RouterFederatedStateProto');
    expect(encode(type, { namespaceStateIds: { ns0: 50 } }).toString('hex')).toBe('0a070a036e73301032');
    const ids = Object.fromEntries([
      ['ns0', 50],
      ['__proto__', 7],
    ]);
    const again = decodePlain(type, encode(type, { namespaceStateIds: ids }));
    expect(Object.entries(again['namespaceStateIds'] as object)).toEqual([
      ['ns0', 50],
      ['__proto__', 7],
    ]);
    expect(decodePlain(type, Buffer.alloc(0))).toEqual({ namespaceStateIds: {} });
  });

  it('absent repeated fields are empty arrays, absent optional ones are absent', () => {
    expect(decodePlain(messageType('hadoop.hdfs.RenewLeaseRequestProto'), Buffer.from([10, 1, 99]))).toEqual({
      clientName: 'c',
      namespaces: [],
    });
  });

  it('unknown fields are kept when a decoded message is written again', () => {
    const type = messageType('hadoop.hdfs.GetFileInfoRequestProto');
    const bytes = Buffer.from('0a022f61f0c10105', 'hex');
    const message = decode(type, bytes);
    expect(toPlain(type, message)).toEqual({ src: '/a' });
    expect(encode(type, message).toString('hex')).toBe('0a022f61f0c10105');
  });

  it('a value of an enum from a newer Hadoop is kept as well', () => {
    const type = messageType('hadoop.hdfs.RollingUpgradeRequestProto');
    expect(() => decode(type, Buffer.from('0863', 'hex'))).toThrow(
      /RollingUpgradeRequestProto: missing required 'action'/,
    );
    const optional = messageType('hadoop.common.RpcRequestHeaderProto');
    const bytes = Buffer.from('180022000863', 'hex');
    expect(encode(optional, decode(optional, bytes)).toString('hex')).toBe('180022000863');
  });

  it('reads only its range of the buffer', () => {
    const bytes = Buffer.from('ff0a022f61ff', 'hex');
    const type = messageType('hadoop.hdfs.GetFileInfoRequestProto');
    expect(decodePlain(type, bytes, 1, 5)).toEqual({ src: '/a' });
    expect(() => decode(type, bytes, 1, 4)).toThrow(MessageError);
    expect(() => decode(type, bytes, 0, 6)).toThrow(MessageError);
  });
});

describe('mistakes are named', () => {
  const mkdirs = messageType('hadoop.hdfs.MkdirsRequestProto');
  const good = { src: '/a', masked: { perm: 0 }, createParent: true };
  const cases: [string, object, RegExp][] = [
    ['unknown field', { ...good, scr: '/b' }, /MkdirsRequestProto has no field scr/],
    ['inherited name', { ...good, constructor: 1 }, /has no field constructor/],
    ['missing field', { src: '/a', createParent: true }, /MkdirsRequestProto\.masked is required/],
    ['missing field inside', { ...good, masked: {} }, /FsPermissionProto\.perm is required/],
    ['wrong type', { ...good, src: 5 }, /MkdirsRequestProto\.src must be string, not number 5/],
    ['number for a bool', { ...good, createParent: 1 }, /createParent must be bool/],
    ['fraction', { ...good, masked: { perm: 0.5 } }, /perm must be uint32/],
    ['too large', { ...good, masked: { perm: 2 ** 32 } }, /perm must be uint32/],
    ['text for a message', { ...good, masked: 'rwx' }, /masked must be an object/],
  ];
  it.each(cases)('%s', (_name, object, text) => {
    expect(() => encode(mkdirs, object)).toThrow(text);
    expect(() => encode(mkdirs, object)).toThrow(MessageError);
  });

  it('longs, enums, arrays, maps', () => {
    const id = { callId: 0, clientId: Buffer.alloc(0) };
    expect(() => encode(requestHeader, { ...id, stateId: 2n ** 64n })).toThrow(/stateId must be int64/);
    expect(() => encode(requestHeader, { ...id, stateId: 2 ** 60 })).toThrow(/stateId must be int64/);
    expect(() => encode(requestHeader, { ...id, rpcKind: 'RPC' })).toThrow(
      /rpcKind must be one of RPC_BUILTIN, RPC_WRITABLE/,
    );
    expect(() => encode(requestHeader, { ...id, clientId: 'abc' })).toThrow(/clientId must be bytes/);
    expect(() => encode(messageType('hadoop.hdfs.ConcatRequestProto'), { trg: '/a', srcs: '/b' })).toThrow(
      /srcs must be an array/,
    );
    expect(() => encode(messageType('hadoop.hdfs.RouterFederatedStateProto'), { namespaceStateIds: 3 })).toThrow(
      /must be an object/,
    );
  });

  it('names that do not exist', () => {
    expect(() => messageType('hadoop.hdfs.NoSuchProto')).toThrow(/no message hadoop\.hdfs\.NoSuchProto/);
    expect(() => messageType('org.example.Proto')).toThrow(MessageError);
    expect(() => messageType('hadoop.hdfs')).toThrow(MessageError);
    expect(() => serviceType('hadoop.hdfs.MkdirsRequestProto')).toThrow(/no service/);
  });
});

describe('the files of proto/', () => {
  it('every message and every service can be found, whatever was loaded before', () => {
    const all = new protobuf.Root();
    for (const file of readdirSync(PROTO)) {
      protobuf.parse(readFileSync(new URL(file, PROTO), 'utf8'), all, { keepCase: true });
    }
    all.resolveAll();
    let messages = 0;
    const visit = (namespace: protobuf.NamespaceBase): void => {
      for (const child of namespace.nestedArray) {
        const name = child.fullName.slice(1);
        if (child instanceof protobuf.Type) {
          messages++;
          const found = messageType(name);
          expect(found.fieldsArray.map(shape), name).toEqual(child.fieldsArray.map(shape));
        } else if (child instanceof protobuf.Service) {
          expect(serviceType(name).methodsArray.length, name).toBe(child.methodsArray.length);
        }
        if (child instanceof protobuf.Namespace) {
          visit(child);
        }
      }
    };
    visit(all);
    expect(messages).toBeGreaterThan(400);
  });

  it('are found from a built package too: dist/wire beside proto', () => {
    const folder = mkdtempSync(join(tmpdir(), 'messages-'));
    try {
      const root = new URL('../../', import.meta.url);
      cpSync(new URL('proto', root), join(folder, 'proto'), { recursive: true });
      cpSync(new URL('src/wire/messages.ts', root), join(folder, 'dist/wire/messages.ts'));
      cpSync(new URL('package.json', root), join(folder, 'package.json'));
      symlinkSync(fileURLToPath(new URL('node_modules', root)), join(folder, 'node_modules'));
      const url = pathToFileURL(join(folder, 'dist/wire/messages.ts')).href;
      const script = `const m = await import(${JSON.stringify(url)}); console.log(m.messageType('hadoop.hdfs.MkdirsRequestProto').fullName)`;
      const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
      expect(run.stderr).toBe('');
      expect(run.stdout).toBe('.hadoop.hdfs.MkdirsRequestProto\n');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

function shape(field: protobuf.Field): string {
  field.resolve();
  const { name, id, type, required, repeated, packed, hasPresence, map, resolvedType, typeDefault } = field;
  return [name, id, type, required, repeated, packed, hasPresence, map, resolvedType?.fullName, typeDefault].join(' ');
}
