import type { ApiParts, NameserviceView } from './parts.ts';
import { type AnyRoute, type ApiRoute, NOT_SUPERUSER, notFound, type Parameter } from './route.ts';
import { answer, FLAG, list, NAMESERVICE, object } from './schema.ts';

interface Named {
  readonly id: string;
}

const ID: Parameter = {
  schema: { type: 'string', minLength: 1 },
  isRequired: true,
  summary: 'name of the nameservice',
};
const UNKNOWN = 'no nameservice of this name is behind the router';

export function nameserviceRoutes({ router, nameservices }: ApiParts): AnyRoute[] {
  const find = (id: string): NameserviceView => {
    const found = nameservices().find((nameservice) => nameservice.id === id);
    return found ?? notFound(`no nameservice '${id}' is behind this router`, '/nameservices');
  };
  const readNameservices: ApiRoute = {
    method: 'GET',
    path: '/nameservices',
    operation: 'listNameservices',
    summary: 'nameservices behind the router, with their NameNodes and what is known of these',
    answer: answer({ nameservices: list(NAMESERVICE) }),
    run: () => ({ nameservices: nameservices() }),
  };
  const readNameservice: ApiRoute<Named> = {
    method: 'GET',
    path: '/nameservices/{id}',
    operation: 'getNameservice',
    summary: 'one nameservice',
    parameters: { id: ID },
    answer: NAMESERVICE,
    refusals: { 404: UNKNOWN },
    run: ({ query: { id } }) => find(id),
  };
  const setNameservice: ApiRoute<Named, { enabled: boolean }> = {
    method: 'PUT',
    path: '/nameservices/{id}',
    operation: 'setNameservice',
    summary: 'disables a nameservice for all routers, or enables it again',
    parameters: { id: ID },
    body: object({ enabled: FLAG }, ['enabled']),
    answer: NAMESERVICE,
    refusals: { 403: NOT_SUPERUSER, 404: UNKNOWN },
    run: async ({ caller, query: { id }, body: { enabled } }) => {
      // What they tell, whether it was otherwise before, does not matter.
      if (enabled) await router.enableNameservice(caller, id);
      else await router.disableNameservice(caller, id);
      return find(id);
    },
  };
  return [readNameservices, readNameservice, setNameservice];
}
