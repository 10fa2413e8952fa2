import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InlineRouter } from '../support/inline-router.ts';
import { type RawCall, RawClient } from '../support/raw-client.ts';
import { answerPlainly, IO, ScriptedNameNode } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/** What ends one call must end no other, and tells its client what it was. */

const LIMIT = 256 * 1024;
const RPC_SERVER = 'org.apache.hadoop.ipc.RpcServerException';

let namenode: ScriptedNameNode;
let router: InlineRouter;
let client: RawClient;

beforeEach(async () => {
  namenode = await ScriptedNameNode.start();
  router = await InlineRouter.start({
    nameservices: { ns0: namenode.port },
    mounts: ['/a=ns0:/a', '/moved=ns0:/target/dir', '/moved/below=ns0:/x', '/other=ns0:/far', '/p/q=ns0:/q'],
    keys: { 'ipc.maximum.data.length': String(LIMIT), 'dfs.federation.router.default.nameserviceId': 'ns0' },
  });
  client = await RawClient.connect(router, { user: 'alice' });
});

afterEach(async () => {
  client[Symbol.dispose]();
  await router[Symbol.asyncDispose]();
  await namenode[Symbol.asyncDispose]();
});

const status = (src: string): RawCall => ({ method: 'getFileInfo', request: { src } });
const listing = (src: string): RawCall => ({
  method: 'getListing',
  request: { src, startAfter: Buffer.alloc(0), needLocation: false },
});

/** The router works, and holds nothing any more. */
async function expectSound(): Promise<void> {
  namenode.handler = answerPlainly;
  expect((await client.call(status('/a/after'))).status).toBe('SUCCESS');
  await waitUntil(() => router.engine.calls.inUse === 0, 'no call is left');
}

describe('an answer that the router has to read and cannot', () => {
  it.each([
    ['a required field is missing', Buffer.from([4, 0x0a, 2, 0x08, 1])],
    ['a field goes beyond the message', Buffer.from([3, 0x0a, 100, 1])],
    ['the length goes beyond the frame', Buffer.from([100, 0x0a])],
    ['there is no length', Buffer.alloc(0)],
  ])('is an IOException for its call alone: %s', async (_, body) => {
    namenode.handler = (call) => call.succeedWith(body);
    // Mount points lie below: their names belong in. Elsewhere nothing is read, and clients get the answer as it is.
    for (const src of ['/p', '/moved']) {
      expect(await client.call(listing(src))).toMatchObject({
        exception: IO,
        message: expect.stringContaining('The answer of the NameNode to getListing cannot be read: '),
      });
    }
    expect(router.count('callsBroken')).toBe(0);
    await expectSound();
  });
});

describe('an error in the router itself', () => {
  it('in a strategy ends the call with an IOException, and is counted', async () => {
    const { resolver } = router.engine;
    const { snapshot } = resolver;
    resolver.snapshot = null;
    const reply = await client.call(status('/a/x'));
    expect(reply).toMatchObject({
      exception: IO,
      message: expect.stringMatching(/^getFileInfo failed inside the router: Cannot read properties of null/),
    });
    resolver.snapshot = snapshot;
    expect(router.count('callsBroken')).toBe(1);
    await expectSound();
  });

  it('in a composer ends the call with an IOException, and is counted', async () => {
    const { answers } = router.engine;
    const succeed = answers.succeed.bind(answers);
    answers.succeed = () => {
      answers.succeed = succeed;
      throw new Error('on purpose');
    };
    expect(await client.call(status('/p/q'))).toMatchObject({
      exception: IO,
      message: 'getFileInfo failed inside the router: on purpose',
    });
    expect(router.count('callsBroken')).toBe(1);
    await expectSound();
  });
});

describe('a request at the frame limit', () => {
  /** A mkdirs call whose frame is as long as this. */
  function mkdirs(mount: string, frameBytes: number): RawCall {
    const make = (pathBytes: number): RawCall => ({
      method: 'mkdirs',
      request: { src: mount.padEnd(pathBytes, 'x'), masked: { perm: 0o755 }, createParent: true },
      callId: 1,
    });
    // Header, method header and the other fields are of one length as long as the ids are.
    const sent: Buffer[] = [];
    const write = client.socket.write.bind(client.socket);
    const measure = (pathBytes: number): number => {
      client.socket.write = ((bytes: Buffer) => sent.push(bytes) > 0) as typeof client.socket.write;
      client.send(make(pathBytes));
      client.socket.write = write;
      return (sent.pop() as Buffer).length - 4;
    };
    const guess = frameBytes - 1024;
    return make(guess + frameBytes - measure(guess));
  }

  it('is answered by the router when it would be above it with what the router adds', async () => {
    let longest = 0;
    let refused = 0;
    for (let frameBytes = LIMIT; frameBytes > LIMIT - 400; frameBytes -= 20) {
      const reply = await client.call(mkdirs('/a/', frameBytes));
      if (reply.status === 'SUCCESS') {
        longest = frameBytes;
        break;
      }
      refused++;
      expect(reply.exception).toBe(RPC_SERVER);
      const [, bytes] = /request of (\d+) bytes .* is 262144 \(ipc\.maximum\.data\.length\)/.exec(reply.message) ?? [];
      expect(Number(bytes)).toBeGreaterThan(LIMIT);
    }
    expect(refused).toBeGreaterThan(3);
    // No more is refused than must be: ids and addresses take about 110 bytes.
    expect(longest).toBeGreaterThan(LIMIT - 160);
    expect(namenode.calls).toHaveLength(1);
    await expectSound();
  });

  it('counts paths that grow', async () => {
    // Fits by itself and with the context, not with the longer target of its mount.
    const far = '/target/dir'.length - '/moved'.length;
    let frameBytes = LIMIT - 400;
    while ((await client.call(mkdirs('/a/', frameBytes))).status === 'SUCCESS') frameBytes++;
    expect((await client.call(mkdirs('/moved/', frameBytes - far - 1))).status).toBe('SUCCESS');
    expect((await client.call(mkdirs('/moved/', frameBytes - far))).exception).toBe(RPC_SERVER);
    await expectSound();
  });
});

describe('paths in an exception text are the client’s', () => {
  it('both of a rename', async () => {
    namenode.handler = (call) =>
      call.fail(IO, `rename ${call.path} to ${call.request['dst'] as string}: ${call.request['dst'] as string} exists`);
    const paths = { src: '/moved/s', dst: '/other/d' };
    expect((await client.call({ method: 'rename', request: paths })).message).toBe(
      'rename /moved/s to /other/d: /other/d exists',
    );
    const same = { src: '/a/s', dst: '/other/d' };
    expect((await client.call({ method: 'rename', request: same })).message).toBe(
      'rename /a/s to /other/d: /other/d exists',
    );
    expect(namenode.calls.map(({ request }) => request['dst'])).toEqual(['/far/d', '/far/d']);
  });

  it('all of a concat', async () => {
    namenode.handler = (call) => {
      const [first, second] = call.request['srcs'] as string[];
      call.fail(IO, `concat: the source ${second} differs from ${call.request['trg'] as string}, "${first}" does not`);
    };
    const request = { trg: '/moved/t', srcs: ['/moved/a', '/other/b'] };
    expect((await client.call({ method: 'concat', request })).message).toBe(
      'concat: the source /other/b differs from /moved/t, "/moved/a" does not',
    );
    expect(namenode.calls[0]?.request).toMatchObject({ trg: '/target/dir/t', srcs: ['/target/dir/a', '/far/b'] });
  });
});

it('a user whose clients are gone is forgotten, also when no NameNode was asked for it', async () => {
  const { pool } = router.engine;
  await client.result({ method: 'getHAServiceState', request: {} });
  expect(pool.users).toBe(1);
  const others = await Promise.all(
    Array.from({ length: 20 }, (_, i) => RawClient.connect(router, { user: `user${i}` })),
  );
  for (const other of others) await other.result({ method: 'getHAServiceState', request: {} });
  expect(pool.users).toBe(21);
  for (const other of others) other[Symbol.dispose]();
  await waitUntil(() => router.acceptor.openConnections === 1, 'their connections are gone');
  await waitUntil(() => pool.users === 1, 'they are forgotten');
  await expectSound();
});
