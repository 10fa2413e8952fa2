/** Calls that a simulated NameNode executes in this thread, without a wire between. */
import type { IncomingCall } from '../../src/simulator/name-node.ts';
import { Nameservice } from '../../src/simulator/nameservice.ts';
import type { HaState } from '../../src/simulator/operation.ts';
import { CLIENT_PROTOCOL, methodsOf } from '../../src/simulator/operations.ts';
import { decodePlain, encode, type Plain } from '../../src/wire/messages.ts';

export const NOW_MS = 1_700_000_000_000;
export const CREATE = 1;
export const OVERWRITE = 2;

export function newNameservice(listingLimit = 1000, states: readonly HaState[] = ['active', 'standby']): Nameservice {
  return new Nameservice('ns0', states, {
    superuser: 'root',
    supergroup: 'supergroup',
    groups: { bob: ['staff'] },
    clusterId: 'CID-test',
    createdMs: NOW_MS,
    listingLimit,
    replication: 3,
    blockSizeBytes: 1024,
    accessTimePrecisionMs: 3_600_000,
    seed: 1,
  });
}

/** What calls go to: the active NameNode of a new nameservice, unless a test puts another one in its place. */
export const asked = { namenode: newNameservice().namenodes[0]!, nowMs: NOW_MS };

/** Before each test. */
export function beginAnew(): void {
  asked.namenode = newNameservice().namenodes[0]!;
  asked.nowMs = NOW_MS;
}

/** The answer, or `Class: text`; both messages pass through their wire form. */
export function ask(method: string, request: object, user = 'root', more: Partial<IncomingCall> = {}): Plain | string {
  const served = methodsOf(CLIENT_PROTOCOL)?.get(method);
  if (served === undefined) throw new Error(`no method ${method}`);
  const { namenode, nowMs } = asked;
  const { nameservice } = namenode;
  const outcome = namenode.execute(
    {
      method: served,
      request: decodePlain(served.request, encode(served.request, request)),
      message: Buffer.alloc(0),
      caller: { user, groups: nameservice.groupsOf(user), superuser: nameservice.isSuperuser(user) },
      realUser: '',
      machine: '10.0.0.1',
      clientPort: 1,
      clientId: Buffer.alloc(0),
      callId: 0,
      retryCount: 0,
      callerContext: '',
      callerSignature: '',
      stateId: null,
      ...more,
    },
    nowMs,
  );
  if (outcome.exception !== null) return `${outcome.exception.javaClass}: ${outcome.exception.message}`;
  return decodePlain(served.response, encode(served.response, outcome.answer ?? {}));
}

export const mkdirs = (src: string, user?: string, perm = 0o755, createParent = true): Plain | string =>
  ask('mkdirs', { src, masked: { perm }, createParent }, user);

export function create(src: string, user?: string, more: object = {}): Plain | string {
  return ask(
    'create',
    {
      src,
      masked: { perm: 0o644 },
      clientName: 'c1',
      createFlag: CREATE,
      createParent: true,
      replication: 3,
      blockSize: 1024,
      ...more,
    },
    user,
  );
}

export const complete = (src: string, clientName = 'c1', more: object = {}): Plain | string =>
  ask('complete', { src, clientName, ...more });

export function file(src: string): void {
  create(src, 'root', { createFlag: CREATE | OVERWRITE });
  complete(src);
}

export const info = (src: string, user?: string): Plain | undefined | string => {
  const answer = ask('getFileInfo', { src }, user);
  return typeof answer === 'string' ? answer : (answer['fs'] as Plain | undefined);
};

export const list = (src: string, startAfter = '', user?: string): string[] | string => {
  const answer = ask('getListing', { src, startAfter: Buffer.from(startAfter), needLocation: false }, user);
  if (typeof answer === 'string') return answer;
  const entries = (answer['dirList'] as Plain)['partialListing'] as Plain[];
  return entries.map((entry) => (entry['path'] as Buffer).toString());
};

export const rename = (src: string, dst: string, user?: string): unknown => {
  const answer = ask('rename', { src, dst }, user);
  return typeof answer === 'string' ? answer : answer['result'];
};

export const rename2 = (src: string, dst: string, overwriteDest = false): Plain | string =>
  ask('rename2', { src, dst, overwriteDest });
