import { hasLimit, limitedEntry, limitsOf, type QuotaFields, usageOf } from './mount-fields.ts';
import { NO_MOUNT, noMount, SOURCE, type Source } from './mount-routes.ts';
import type { ApiParts } from './parts.ts';
import { type AnyRoute, type ApiCall, type ApiRoute, NOT_ALLOWED } from './route.ts';
import { answer, GIVEN_LIMITS, list, PATH, QUOTA_IN_USE } from './schema.ts';

/** Limits of mount entries, and what counts against them. */
export function quotaRoutes({ mounts, now }: ApiParts): AnyRoute[] {
  const inUse = (entry: ReturnType<typeof mounts.list>[number]): object => ({
    path: entry.sourcePath,
    quota: limitsOf(entry),
    usage: usageOf(entry),
  });
  const limit = async ({ caller, query: { path } }: ApiCall<Source, unknown>, quota: QuotaFields | null) => {
    const make = (before: Parameters<typeof limitedEntry>[1] | null) =>
      before === null ? null : limitedEntry(quota, before, now());
    return inUse((await mounts.change(caller, path, make)) ?? noMount(path));
  };
  const refusals = { 403: NOT_ALLOWED, 404: NO_MOUNT };

  const readQuotas: ApiRoute<Partial<Source>> = {
    method: 'GET',
    path: '/quotas',
    operation: 'listQuotas',
    summary: 'mount entries with limits, by path, and what counts against these',
    parameters: { path: { schema: PATH, summary: 'entries at and below it; left out: all' } },
    answer: answer({ quotas: list(QUOTA_IN_USE) }),
    run: ({ caller, query: { path = '/' } }) => ({
      quotas: mounts.list(caller, path).filter(hasLimit).map(inUse),
    }),
  };
  const setQuota: ApiRoute<Source, QuotaFields> = {
    method: 'PUT',
    path: '/mount/quota',
    operation: 'setQuota',
    summary: 'makes these the limits of a mount entry; what is not sent is not limited',
    parameters: { path: SOURCE },
    body: GIVEN_LIMITS,
    answer: QUOTA_IN_USE,
    refusals,
    run: (call) => limit(call, call.body),
  };
  const clearQuota: ApiRoute<Source> = {
    method: 'DELETE',
    path: '/mount/quota',
    operation: 'clearQuota',
    summary: 'removes all limits of a mount entry',
    parameters: { path: SOURCE },
    answer: QUOTA_IN_USE,
    refusals,
    run: (call) => limit(call, null),
  };
  return [readQuotas, setQuota, clearQuota];
}
