import type { Type } from 'protobufjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { METHODS, PROTOCOLS } from '../../src/call/methods.ts';
import { SafeModeLevel } from '../../src/shared/control-block.ts';
import { messageType, type Plain } from '../../src/wire/messages.ts';
import { EchoNameNode } from '../support/echo-namenode.ts';
import { InlineRouter } from '../support/inline-router.ts';
import { type RawCall, RawClient } from '../support/raw-client.ts';

/** Router safe mode as clients see it. */

const STANDBY = 'org.apache.hadoop.ipc.StandbyException';
const READ = { method: 'getFileInfo', request: { src: '/a/x' } };
const WRITE = { method: 'mkdirs', request: { src: '/a/x', masked: { perm: 0o755 }, createParent: true } };
const STATE = { method: 'getHAServiceState', request: {} };

let namenode: EchoNameNode;
let router: InlineRouter;
let client: RawClient;
beforeEach(async () => {
  namenode = await EchoNameNode.start();
  router = await InlineRouter.start({ nameservices: { ns0: namenode.port }, mounts: ['/a=ns0:/a'] });
  client = await RawClient.connect(router, { user: 'alice' });
});
afterEach(async () => {
  client[Symbol.dispose]();
  await router[Symbol.asyncDispose]();
  await namenode[Symbol.asyncDispose]();
});

async function outcomeOf(call: RawCall): Promise<string> {
  const { status, exception, message } = await client.call(call);
  return status === 'SUCCESS' ? 'SUCCESS' : `${exception}: ${message}`;
}

function refusal(category: string): string {
  return `${STANDBY}: Router router:8888 is in safe mode and cannot handle ${category} requests`;
}

/** A request with the required fields alone. */
function minimalRequest(type: Type): Plain {
  const plain: Plain = {};
  for (const field of type.fieldsArray) {
    field.resolve();
    if (!field.required) continue;
    const { resolvedType } = field;
    if (resolvedType !== null && 'fieldsArray' in resolvedType) plain[field.name] = minimalRequest(resolvedType);
    else if (resolvedType !== null) plain[field.name] = Object.keys(resolvedType.values)[0] ?? '';
    else if (field.type === 'string') plain[field.name] = '/a/x';
    else if (field.type === 'bytes') plain[field.name] = Buffer.from('x');
    else plain[field.name] = field.type === 'bool' ? false : 1;
  }
  return plain;
}

describe('in safe mode', () => {
  it('changes are refused so that clients try another router; reads pass', async () => {
    expect(await outcomeOf(WRITE)).toBe('SUCCESS');
    router.block.setSafeMode(SafeModeLevel.WRITES);
    expect(await outcomeOf(WRITE)).toBe(refusal('WRITE'));
    expect(await outcomeOf(READ)).toBe('SUCCESS');
    expect(await client.result(STATE)).toEqual({ state: 'STANDBY' });
    router.block.setSafeMode(SafeModeLevel.OFF);
    expect(await outcomeOf(WRITE)).toBe('SUCCESS');
    expect(await client.result(STATE)).toEqual({ state: 'ACTIVE' });
    expect(router.count('callsRefused')).toBe(1);
  });

  it('without a mount table reads are refused, too', async () => {
    router.block.setSafeMode(SafeModeLevel.READS_TOO);
    expect(await outcomeOf(READ)).toBe(refusal('READ'));
    expect(await outcomeOf(WRITE)).toBe(refusal('WRITE'));
    expect(await client.result(STATE)).toEqual({ state: 'STANDBY' });
  });

  it('calls that were taken before go on to their end', async () => {
    namenode.hold();
    const callId = client.send(WRITE);
    await namenode.until(() => namenode.held === 1, 'the call is at the NameNode');
    router.block.setSafeMode(SafeModeLevel.WRITES);
    namenode.release();
    expect(await client.receive()).toMatchObject({ callId, status: 'SUCCESS' });
    expect(await outcomeOf(WRITE)).toBe(refusal('WRITE'));
  });

  it('the refusal holds for every method of category WRITE, whatever answers it, and for no other', async () => {
    router.block.setSafeMode(SafeModeLevel.WRITES);
    const protocol = PROTOCOLS.findIndex(({ simpleName }) => simpleName === 'ClientProtocol');
    const methods = METHODS.filter(
      ({ request, ...each }) => each.protocol === protocol && request.startsWith('hadoop.hdfs.'),
    );
    expect(methods.length).toBeGreaterThan(90);
    for (const { name, category, request } of methods) {
      const outcome = await outcomeOf({ method: name, request: minimalRequest(messageType(request)) });
      if (category === 'WRITE') expect([name, outcome]).toEqual([name, refusal('WRITE')]);
      else expect([name, outcome]).not.toEqual([name, refusal(category)]);
    }
  });

  it('large requests are refused, too, and leave no memory claimed', async () => {
    router.block.setSafeMode(SafeModeLevel.WRITES);
    const trgSrc = `/a/${'x'.repeat(200)}`;
    const srcs = Array.from({ length: 5_000 }, (_, i) => `${trgSrc}${i}`);
    expect(await outcomeOf({ method: 'concat', request: { trg: '/a/y', srcs } })).toBe(refusal('WRITE'));
    expect(router.block.usedKib).toBe(0);
    expect(namenode.held).toBe(0);
  });
});
