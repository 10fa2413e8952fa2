import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import type { Method } from '../../src/call/method.ts';
import { METHODS, methodIndex, PROTOCOLS, protocolIndex } from '../../src/call/methods.ts';
import { messageType, serviceType } from '../../src/wire/messages.ts';

function method(name: string): Method {
  const index = methodIndex(0, name);
  expect(index, name).toBeGreaterThanOrEqual(0);
  return METHODS[index]!;
}

/** The field that a dotted name leads to. */
function follow(typeName: string, dotted: string): protobuf.Field {
  let type: protobuf.Type | protobuf.Enum | null = messageType(typeName);
  let field: protobuf.Field | undefined;
  for (const part of dotted.split('.')) {
    expect(type, `${typeName} ${dotted}`).toBeInstanceOf(protobuf.Type);
    field = (type as protobuf.Type).fields[part];
    expect(field, `${typeName} ${dotted}`).toBeDefined();
    field!.resolve();
    type = field!.resolvedType;
  }
  return field!;
}

describe('the table and the descriptors', () => {
  it.each(PROTOCOLS)('$simpleName: one row for each method of the service, with its messages', (protocol) => {
    const rows = METHODS.filter((row) => row.protocol === PROTOCOLS.indexOf(protocol));
    const described = serviceType(protocol.service).methodsArray.map((each) => {
      each.resolve();
      return [each.name, each.resolvedRequestType!.fullName.slice(1), each.resolvedResponseType!.fullName.slice(1)];
    });
    expect(rows.map((row) => [row.name, row.request, row.response]).sort()).toEqual(described.sort());
    expect(new Set(rows.map((row) => row.name)).size).toBe(rows.length);
    expect(protocol.name.endsWith(`.${protocol.simpleName}`)).toBe(true);
  });

  it('every path field is a singular string of the request', () => {
    let paths = 0;
    for (const row of METHODS) {
      for (const number of [row.pathField, row.path2Field]) {
        if (number !== 0) {
          const field = messageType(row.request).fieldsById[number];
          expect([field?.type, field?.repeated], `${row.name} field ${number}`).toEqual(['string', false]);
          expect(field!.name, row.name).toMatch(/^(src|dst|path|trg|target|link|zone|filename|snapshotRoot)$/);
          paths++;
        }
      }
    }
    expect(paths).toBe(65);
  });

  it('every request field that looks like a path is in its row', () => {
    for (const row of METHODS) {
      for (const field of messageType(row.request).fieldsArray) {
        const named = [row.pathField, row.path2Field].includes(field.id) || row.deepPaths.includes(field.name);
        if (/^(src|srcs|dst|path|paths|trg|target|link|zone|snapshotRoot)$/.test(field.name)) {
          expect(named, `${row.name}.${field.name}`).toBe(true);
        }
      }
    }
  });

  it('dotted names lead to strings of paths and pool ids', () => {
    for (const row of METHODS) {
      for (const path of row.deepPaths) {
        expect(follow(row.request, path).type, `${row.name} ${path}`).toBe('string');
      }
      for (const path of row.replyPaths) {
        expect(follow(row.response, path).type, `${row.name} ${path}`).toMatch(/^(string|bytes)$/);
      }
      if (row.blockPool !== '') {
        expect(row.blockPool, row.name).toMatch(/\.poolId$/);
        expect(follow(row.request, row.blockPool).type).toBe('string');
      }
      if (row.namespaceIn !== '') {
        const field = follow(row.response, `${row.namespaceIn}.namespace`);
        expect([field.id, field.type], row.name).toEqual([19, 'string']);
      }
    }
  });
});

describe('rows agree with themselves', () => {
  it('index and protocol', () => {
    METHODS.forEach((row, index) => {
      expect(row.index).toBe(index);
      expect(methodIndex(row.protocol, row.name)).toBe(index);
    });
    expect(METHODS.length).toBe(130);
  });

  it('each strategy has what it needs', () => {
    for (const row of METHODS) {
      const paths = (row.pathField === 0 ? 0 : 1) + (row.path2Field === 0 ? 0 : 1) + row.deepPaths.length;
      if (row.strategy === 'one-path' || row.strategy === 'mount-view') {
        expect(paths, row.name).toBe(1);
      } else if (row.strategy === 'two-paths') {
        expect(paths, row.name).toBe(2);
      } else {
        expect(paths, row.name).toBe(0);
      }
      if (row.strategy === 'block-pool') {
        expect(row.blockPool, row.name).not.toBe('');
      }
      expect(row.refusedBecause !== '', row.name).toBe(row.strategy === 'refused');
      expect(row.mountCheck && paths === 0, row.name).toBe(false);
      expect(row.mountCheck2 && row.path2Field === 0, row.name).toBe(false);
    }
  });

  it('only reads are for observers, and what is sent at most once is a write', () => {
    for (const row of METHODS) {
      if (row.coordinated || row.observerReadable || row.activeOnly) {
        expect(row.effect, row.name).toBe('read');
      }
      expect(row.coordinated && !row.observerReadable, row.name).toBe(false);
      expect(row.activeOnly && row.observerReadable, row.name).toBe(false);
      if (row.retry === 'AtMostOnce' && row.strategy !== 'refused') {
        expect(row.effect, row.name).toBe('write');
      }
    }
  });
});

describe('what the table says', () => {
  it('calls of NameNode retry caches are AtMostOnce, those that may run twice are not', () => {
    const once =
      'create append updatePipeline rename rename2 concat delete createSymlink saveNamespace satisfyStoragePolicy createSnapshot ' +
      'deleteSnapshot renameSnapshot addCacheDirective modifyCacheDirective removeCacheDirective addCachePool modifyCachePool ' +
      'removeCachePool createEncryptionZone reencryptEncryptionZone setXAttr removeXAttr setErasureCodingPolicy ' +
      'unsetErasureCodingPolicy addErasureCodingPolicies removeErasureCodingPolicy enableErasureCodingPolicy disableErasureCodingPolicy';
    const rows = METHODS.filter((row) => row.protocol === 0 && row.retry === 'AtMostOnce').map((row) => row.name);
    expect(rows.sort()).toEqual(once.split(' ').sort());
  });

  it('some rows in full', () => {
    expect(method('abandonBlock')).toMatchObject({
      pathField: 2,
      blockPool: 'b.poolId',
      strategy: 'one-path',
      effect: 'write',
      quotaCheck: true,
    });
    expect(method('rename2')).toMatchObject({
      pathField: 1,
      path2Field: 2,
      strategy: 'two-paths',
      mountCheck: true,
      mountCheck2: false,
    });
    expect(method('concat')).toMatchObject({ pathField: 1, deepPaths: ['srcs'], category: 'WRITE' });
    expect(method('getFileInfo')).toMatchObject({
      coordinated: true,
      observerReadable: true,
      mountCheck: false,
    });
    expect(method('getQuotaUsage')).toMatchObject({ activeOnly: true, observerReadable: false });
    expect(method('satisfyStoragePolicy')).toMatchObject({ effect: 'write', category: 'READ' });
    expect(method('create').namespaceIn).toBe('fs');
    expect(method('append').namespaceIn).toBe('stat');
    expect(METHODS[methodIndex(1, 'versionRequest')]).toMatchObject({
      strategy: 'any-nameservice',
      request: 'hadoop.hdfs.VersionRequestProto',
    });
    expect(METHODS[methodIndex(4, 'getProtocolVersions')]).toMatchObject({
      strategy: 'local',
      retry: 'none',
      category: 'none',
    });
  });

  it('names that are not there', () => {
    expect(methodIndex(0, 'versionRequest')).toBe(-1);
    expect(methodIndex(0, 'toString')).toBe(-1);
    expect(methodIndex(-1, 'mkdirs')).toBe(-1);
    expect(methodIndex(PROTOCOLS.length, 'mkdirs')).toBe(-1);
    expect(protocolIndex('org.apache.hadoop.tools.GetUserMappingsProtocol')).toBe(3);
    expect(protocolIndex('org.apache.hadoop.ha.HAServiceProtocol')).toBe(-1);
  });
});
