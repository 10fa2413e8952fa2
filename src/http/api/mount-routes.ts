import type { AdminCaller } from '../../admin/access.ts';
import { comparePaths } from '../../admin/mount-rules.ts';
import { JAVA, RemoteException } from '../../control/rpc-server/remote-exception.ts';
import type { MountEntry } from '../../mount/entry.ts';
import { HttpRefusal } from '../refusal.ts';
import { changedEntry, entryWith, type MountFields, mountOf, newEntry } from './mount-fields.ts';
import type { ApiParts } from './parts.ts';
import { type AnyRoute, API, type ApiRoute, NOT_ALLOWED, notFound, type Parameter } from './route.ts';
import { answer, list, MOUNT, MOUNT_CHANGES, NEW_MOUNT, object, PATH, TEXT, WHOLE_MOUNT } from './schema.ts';

/** Entries of one answer. */
const MAX_LISTED = 10_000;
const LISTED_BY_DEFAULT = 1_000;
/** Entries that are added in one request, and their bytes. */
export const MAX_BATCH = 1_000;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

export const SOURCE: Parameter = { schema: PATH, isRequired: true, summary: 'what clients see' };
export const NO_MOUNT = 'there is no such mount entry, or none that this user may read';

/** The query of routes for one mount entry. */
export interface Source {
  readonly path: string;
}
interface Page {
  readonly path?: string;
  readonly limit?: number;
  readonly after?: string;
}

export function mountRoutes(parts: ApiParts): AnyRoute[] {
  const { mounts, defaults, now } = parts;
  const added = (caller: AdminCaller, fields: MountFields & Source): MountEntry =>
    entryWith(fields, newEntry(fields.path, caller, defaults), now());

  const readMounts: ApiRoute<Page> = {
    method: 'GET',
    path: '/mounts',
    operation: 'listMounts',
    summary: 'mount entries by path',
    parameters: {
      path: { schema: PATH, summary: 'entries at and below it; left out: all' },
      limit: {
        schema: { type: 'integer', minimum: 1, maximum: MAX_LISTED },
        summary: `entries of one answer, ${LISTED_BY_DEFAULT} unless given`,
      },
      after: { schema: PATH, summary: 'entries behind this path: `next` of the answer before' },
    },
    answer: answer({
      mounts: list(MOUNT),
      total: { type: 'integer', description: 'all that there are at and below the path' },
      next: { type: ['string', 'null'], description: 'null: no more follow' },
    }),
    run: ({ caller, query: { path = '/', limit = LISTED_BY_DEFAULT, after } }) => {
      const all = mounts.list(caller, path);
      const start = after === undefined ? 0 : firstBehind(all, after);
      const page = all.slice(start, start + limit);
      const next = start + limit < all.length ? (page.at(-1)?.sourcePath ?? null) : null;
      return { mounts: page.map(mountOf), total: all.length, next };
    },
  };
  const readMount: ApiRoute<Source> = {
    method: 'GET',
    path: '/mount',
    operation: 'getMount',
    summary: 'one mount entry',
    parameters: { path: SOURCE },
    answer: MOUNT,
    refusals: { 404: NO_MOUNT },
    run: ({ caller, query: { path } }) => mountOf(mounts.get(caller, path) ?? noMount(path)),
  };
  const addMount: ApiRoute<never, MountFields & Source> = {
    method: 'POST',
    path: '/mounts',
    operation: 'addMount',
    summary: 'adds a mount entry',
    body: NEW_MOUNT,
    status: 201,
    answer: MOUNT,
    refusals: { 403: NOT_ALLOWED, 409: 'there is an entry of the path' },
    run: async ({ caller, body, reply }) => {
      const entry = added(caller, body);
      if (!(await mounts.add(caller, entry))) {
        const remedy = 'change it with PATCH or PUT, or remove it first';
        throw new HttpRefusal(409, JAVA.FILE_EXISTS, `mount '${body.path}' exists already`, remedy);
      }
      reply.header('location', `${API}/mount?path=${encodeURIComponent(body.path)}`);
      return mountOf(mounts.get(caller, body.path) ?? entry);
    },
  };
  const addMounts: ApiRoute<never, { mounts: readonly (MountFields & Source)[] }> = {
    method: 'POST',
    path: '/mounts/batch',
    operation: 'addMounts',
    summary: 'adds several mount entries: none when one of them may not be added, else each that is not there yet',
    body: object({ mounts: { ...list(NEW_MOUNT), minItems: 1, maxItems: MAX_BATCH } }, ['mounts']),
    maxBodyBytes: MAX_BATCH_BYTES,
    answer: answer({ added: list(TEXT), failed: list(answer({ path: TEXT, reason: TEXT })) }),
    refusals: { 403: NOT_ALLOWED },
    run: async ({ caller, body }) => {
      const entries = body.mounts.map((fields) => added(caller, fields));
      requireDistinct(entries);
      const failed = await mounts.addAll(caller, entries);
      const paths = entries.map(({ sourcePath }) => sourcePath);
      return {
        added: paths.filter((path) => !failed.has(path)),
        failed: Array.from(failed, ([path, reason]) => ({ path, reason })),
      };
    },
  };
  const replaceMount: ApiRoute<Source, MountFields> = {
    method: 'PUT',
    path: '/mount',
    operation: 'putMount',
    summary: 'makes a mount entry what is sent, whether it is there or not',
    parameters: { path: SOURCE },
    body: WHOLE_MOUNT,
    answer: MOUNT,
    refusals: { 403: NOT_ALLOWED },
    run: async ({ caller, query: { path }, body }) => {
      requireSame(path, body);
      const entry = await mounts.change(caller, path, (before) =>
        entryWith(body, before ?? newEntry(path, caller, defaults), now()),
      );
      return mountOf(entry ?? noMount(path));
    },
  };
  const changeMount: ApiRoute<Source, MountFields> = {
    method: 'PATCH',
    path: '/mount',
    operation: 'changeMount',
    summary: 'changes fields of a mount entry; what is not sent stays',
    parameters: { path: SOURCE },
    body: MOUNT_CHANGES,
    answer: MOUNT,
    refusals: { 403: NOT_ALLOWED, 404: NO_MOUNT },
    run: async ({ caller, query: { path }, body }) => {
      requireSame(path, body);
      const entry = await mounts.change(caller, path, (before) =>
        before === null ? null : changedEntry(body, before, now()),
      );
      return mountOf(entry ?? noMount(path));
    },
  };
  const removeMount: ApiRoute<Source> = {
    method: 'DELETE',
    path: '/mount',
    operation: 'removeMount',
    summary: 'removes a mount entry',
    parameters: { path: SOURCE },
    status: 204,
    refusals: { 403: NOT_ALLOWED, 404: NO_MOUNT },
    run: async ({ caller, query: { path } }) => {
      if (!(await mounts.remove(caller, path))) noMount(path);
    },
  };
  const refreshMounts: ApiRoute = {
    method: 'POST',
    path: '/mounts/refresh',
    operation: 'refreshMounts',
    summary: 'reads the mount table anew; returns when it is in force',
    status: 204,
    refusals: { 503: 'the State Store cannot be read' },
    run: async () => {
      if (await mounts.reload()) return;
      throw new RemoteException(JAVA.STATE_STORE_UNAVAILABLE, 'the mount table could not be read from the State Store');
    },
  };
  return [readMounts, addMount, addMounts, refreshMounts, readMount, replaceMount, changeMount, removeMount];
}

export function noMount(path: string): never {
  notFound(`there is no mount entry '${path}' that you may read`, '/mounts');
}

/** Index of the first entry whose path comes after `path`. */
function firstBehind(sorted: readonly MountEntry[], path: string): number {
  const at = sorted.findIndex(({ sourcePath }) => comparePaths(sourcePath, path) > 0);
  return at < 0 ? sorted.length : at;
}

function requireSame(path: string, { path: other = path }: MountFields): void {
  if (other === path) return;
  const why = `the body is of mount '${other}', the query of '${path}'; an entry keeps its path`;
  throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, why);
}

function requireDistinct(entries: readonly MountEntry[]): void {
  const seen = new Set<string>();
  for (const { sourcePath } of entries) {
    if (seen.has(sourcePath)) throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, `mount '${sourcePath}' is given twice`);
    seen.add(sourcePath);
  }
}
