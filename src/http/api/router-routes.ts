import { JAVA } from '../../control/rpc-server/remote-exception.ts';
import { HttpRefusal } from '../refusal.ts';
import type { ApiParts } from './parts.ts';
import { type AnyRoute, type ApiRoute, NOT_SUPERUSER } from './route.ts';
import { answer, FLAG, list, object, PATH, ROUTER, SAFE_MODE, TEXT } from './schema.ts';

/** The router itself, and what it knows of the others. */
export function routerRoutes({ router, routers }: ApiParts): AnyRoute[] {
  const readRouters: ApiRoute = {
    method: 'GET',
    path: '/routers',
    operation: 'listRouters',
    summary: 'routers of the deployment, as their records in the State Store say',
    answer: answer({ routers: list(ROUTER) }),
    refusals: { 503: 'the State Store has not been read yet' },
    run: () => ({ routers: routers() }),
  };
  const readSafeMode: ApiRoute = {
    method: 'GET',
    path: '/safemode',
    operation: 'getSafeMode',
    summary: 'whether this router is in safe mode',
    answer: SAFE_MODE,
    run: () => ({ on: router.isInSafeMode }),
  };
  const setSafeMode: ApiRoute<never, { on: boolean }> = {
    method: 'PUT',
    path: '/safemode',
    operation: 'setSafeMode',
    summary: 'makes this router enter safe mode, or leave it',
    body: object({ on: FLAG }, ['on']),
    answer: SAFE_MODE,
    refusals: { 403: NOT_SUPERUSER, 409: 'this router has no safe mode' },
    run: ({ caller, body: { on } }) => {
      const hasSafeMode = on ? router.enterSafeMode(caller) : router.leaveSafeMode(caller);
      if (hasSafeMode) return { on: router.isInSafeMode };
      const remedy = 'it takes a State Store, and dfs.federation.router.safemode.enable not false';
      throw new HttpRefusal(409, JAVA.UNSUPPORTED, 'this router has no safe mode', remedy);
    },
  };
  const resolvePath: ApiRoute<{ path: string }> = {
    method: 'GET',
    path: '/resolve',
    operation: 'resolvePath',
    summary: 'where the mount table leads a path, in the order to ask; no NameNode is asked',
    parameters: { path: { schema: PATH, isRequired: true, summary: 'a path of clients' } },
    answer: answer({ path: PATH, locations: list(answer({ nameservice: TEXT, path: TEXT })) }),
    refusals: { 404: 'it leads nowhere, or only to disabled nameservices' },
    run: ({ query: { path }, address }) => ({ path, locations: router.locationsOf(path, address) }),
  };
  const refreshProxyUsers: ApiRoute = {
    method: 'POST',
    path: '/proxy-users/refresh',
    operation: 'refreshProxyUsers',
    summary: 'reads hadoop.proxyuser.* of the configuration files anew',
    status: 204,
    refusals: { 403: NOT_SUPERUSER },
    run: ({ caller }) => router.refreshProxyUsers(caller),
  };
  return [readRouters, readSafeMode, setSafeMode, resolvePath, refreshProxyUsers];
}
