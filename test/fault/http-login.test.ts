import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { JAVA } from '../../src/control/rpc-server/remote-exception.ts';
import { apiRoutes } from '../../src/http/api/api.ts';
import { isChange } from '../../src/http/api/route.ts';
import { ROUTER_USER } from '../support/admin-rig.ts';
import { type Answer, HttpRig, mountBody, TOKENS } from '../support/http-rig.ts';

function said({ status, body }: Answer): [number, string, string] {
  const { javaClassName, message } = body.RemoteException;
  return [status, javaClassName, message];
}

async function add(rig: HttpRig, headers: Readonly<Record<string, string>>): Promise<Answer> {
  return await rig.send('/api/v1/mounts', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(mountBody('/x')),
  });
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

describe('changes over HTTP', () => {
  it('take a token, each of them, before anything else is looked at', async () => {
    await using rig = await HttpRig.start();
    const changes = apiRoutes(rig.parts, '1').filter(isChange);
    expect(changes.length).toBeGreaterThan(8);
    for (const { method, path } of changes) {
      const url = path.replace('{id}', 'ns0');
      const without = await rig.ask(method, url, 'no JSON', '');
      expect(said(without), `${method} ${path}`).toEqual([401, JAVA.AUTHENTICATION, 'a change takes a token']);
      expect(without.headers.get('www-authenticate')).toBe('Bearer realm="switchyard"');
    }
  });

  it('of tokens that nobody has, and of other ways to say who asks, are refused', async () => {
    await using rig = await HttpRig.start();
    const right = TOKENS[ROUTER_USER] ?? '';
    expect(said(await add(rig, bearer(`${right}x`)))).toEqual([401, JAVA.AUTHENTICATION, 'no such token']);
    expect(said(await add(rig, bearer(right.slice(1))))[0]).toBe(401);
    const basic = { authorization: `Basic ${btoa(`${ROUTER_USER}:${right}`)}` };
    expect(said(await add(rig, basic))).toEqual([
      401,
      JAVA.AUTHENTICATION,
      'the header Authorization is not Bearer and a token',
    ]);
    expect((await add(rig, { authorization: `bearer  ${right}` })).status).toBe(201);
    // Who sends a token wants to be somebody: nobody else reads in his place.
    expect((await rig.send('/api/v1/mounts', { headers: bearer(`${right}x`) })).status).toBe(401);
    expect((await rig.send('/api/v1/mounts', { headers: bearer(right) })).status).toBe(200);
  });

  it('are off without a file of tokens, reading is not', async () => {
    await using rig = await HttpRig.start({ tokens: null });
    for (const headers of [{}, bearer(TOKENS[ROUTER_USER] ?? '')]) {
      const answer = await add(rig, headers);
      expect(said(answer)).toEqual([
        403,
        JAVA.ACCESS_CONTROL,
        'this router has no file of tokens: over HTTP nothing can be changed',
      ]);
      expect(answer.body.RemoteException.remedy).toContain('set switchyard.http.token.file');
    }
    expect(await rig.ask('GET', '/mounts', undefined, '')).toMatchObject({ status: 200, body: { mounts: [] } });
  });

  it('go by the file as it is now', async () => {
    await using rig = await HttpRig.start();
    expect((await add(rig, bearer('superuser-0123456789'))).status).toBe(201);
    writeFileSync(rig.tokenFile, `${ROUTER_USER} another-token-0123456789\n`);
    expect((await add(rig, bearer('superuser-0123456789'))).status).toBe(401);
    expect((await add(rig, bearer('another-token-0123456789'))).status).toBe(409);
    chmodSync(rig.tokenFile, 0o644);
    for (let i = 0; i < 3; i++) {
      expect(said(await add(rig, bearer('another-token-0123456789')))).toEqual([
        503,
        JAVA.RETRIABLE,
        'the router cannot use its file of tokens',
      ]);
    }
    rmSync(rig.tokenFile);
    expect((await add(rig, bearer('another-token-0123456789'))).status).toBe(503);
    const told = rig.lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50);
    expect(told.map(({ reason, file }) => [reason, file])).toEqual([
      ['others than its owner may use it (mode 0644)', rig.tokenFile],
      ['cannot be read (ENOENT)', rig.tokenFile],
    ]);
    writeFileSync(rig.tokenFile, `${ROUTER_USER} another-token-0123456789\n`, { mode: 0o600 });
    expect((await add(rig, bearer('another-token-0123456789'))).status).toBe(409);
    expect((await rig.ask('GET', '/mounts', undefined, '')).status).toBe(200);
  });

  it('from pages of other sites are refused, whatever they send along', async () => {
    await using rig = await HttpRig.start();
    const token = bearer(TOKENS[ROUTER_USER] ?? '');
    for (const site of ['cross-site', 'same-site']) {
      expect(said(await add(rig, { ...token, 'sec-fetch-site': site })).slice(0, 2)).toEqual([
        403,
        JAVA.ACCESS_CONTROL,
      ]);
    }
    expect((await add(rig, { ...token, 'sec-fetch-site': 'same-origin' })).status).toBe(201);
    const asked = await rig.send('/api/v1/mounts', { method: 'OPTIONS', headers: { origin: 'http://evil.example' } });
    expect(asked.status).toBe(405);
    expect(asked.headers.has('access-control-allow-origin')).toBe(false);
  });

  it('stand in the log, with who asked, and tokens do not', async () => {
    await using rig = await HttpRig.start();
    await rig.ask('POST', '/mounts', mountBody('/x'), 'alice');
    await rig.ask('POST', '/mounts', mountBody('/x'));
    await rig.ask('GET', '/mounts');
    const lines = rig.lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 30);
    expect(lines).toMatchObject([
      { user: 'alice', request: 'POST /api/v1/mounts', status: 403, address: '127.0.0.1' },
      { user: ROUTER_USER, request: 'POST /api/v1/mounts', status: 201 },
    ]);
    for (const token of Object.values(TOKENS)) expect(rig.lines.join('')).not.toContain(token);
  });
});
