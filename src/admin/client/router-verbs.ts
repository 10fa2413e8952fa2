import { ExitCode, nearestWord, UsageError } from '../../commands/usage.ts';
import { formatAddress, parseAddress } from '../../config/address.ts';
import type { AdminClient } from './admin-client.ts';
import { isGiven, readArguments, requireCount } from './arguments.ts';
import { type AdminContext, connect, printResult, readAddress, warn } from './context.ts';
import { readSource } from './mount-flags.ts';
import { refused } from './mount-verbs.ts';
import { plainText, reasonOf } from './text.ts';
import type { Verb } from './verb.ts';

const EACH_FLAGS = { all: { type: 'boolean' } } as const;
const NAMESERVICE_USAGE = 'nameservice enable|disable NAMESERVICE';
const PART_USAGE = 'refresh-router-args [HOST:PORT] IDENTIFIER [ARGUMENT…]';
const SAFE_MODE_USAGE = 'safemode enter|leave|get [--all]';

export const ROUTER_VERBS: readonly Verb[] = [
  {
    name: 'destination',
    aliases: ['getDestination', 'get-destination'],
    usage: 'destination PATH',
    summary: 'ask the router in which nameservices a path is',
    run: showDestination,
  },
  {
    name: 'safemode',
    aliases: [],
    usage: SAFE_MODE_USAGE,
    summary: 'put a router in safe mode, take it out, or ask; --all: each of the routers',
    run: safeMode,
  },
  {
    name: 'nameservice',
    aliases: [],
    usage: NAMESERVICE_USAGE,
    summary: 'disable a nameservice for all routers, or enable it again',
    run: changeNameservice,
  },
  {
    name: 'disabled',
    aliases: ['getDisabledNameservices', 'get-disabled-nameservices'],
    usage: 'disabled',
    summary: 'list the disabled nameservices',
    run: listDisabled,
  },
  {
    name: 'refresh',
    aliases: [],
    usage: 'refresh [--all]',
    summary: 'make a router read the mount table now; --all: each of the routers',
    run: (args, contextOf) =>
      onRouters(args, contextOf, 'refresh [--all]', async (client) =>
        (await client.refreshMounts()) ? 'has read the mount table' : null,
      ),
  },
  {
    name: 'refresh-superuser-groups',
    aliases: ['refreshSuperUserGroupsConfiguration', 'refresh-super-user-groups-configuration'],
    usage: 'refresh-superuser-groups [--all]',
    summary: 'make a router read its rules of proxy users again',
    run: (args, contextOf) =>
      onRouters(args, contextOf, 'refresh-superuser-groups [--all]', async (client) =>
        (await client.refreshSuperUserGroups()) ? 'has read its rules of proxy users' : null,
      ),
  },
  {
    name: 'refresh-call-queue',
    aliases: ['refreshCallQueue'],
    usage: 'refresh-call-queue [--all]',
    summary: 'make a router read its call queue and fairness policy from its configuration again',
    run: (args, contextOf) =>
      onRouters(args, contextOf, 'refresh-call-queue [--all]', async (client) => {
        await client.refreshCallQueue();
        return 'has refreshed its call queue';
      }),
  },
  {
    name: 'refresh-router-args',
    aliases: ['refreshRouterArgs'],
    usage: PART_USAGE,
    summary: 'refresh a part of a router by its name, such as RefreshFairnessPolicyController',
    run: refreshPart,
  },
];

async function showDestination(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  const { positionals } = readArguments(args, {});
  requireCount(positionals, 1, 1, 'destination PATH');
  const path = readSource(positionals[0] ?? '');
  const context = contextOf();
  using client = await connect(context);
  const nameservices = await client.readDestination(path);
  printResult(context, { path, nameservices }, nameservices.map(plainText));
  return nameservices.length > 0 ? ExitCode.OK : refused(`${client.address} names no nameservice for ${path}`);
}

async function safeMode(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  const [word = '', ...rest] = args;
  switch (word) {
    case 'enter':
      return await onRouters(rest, contextOf, SAFE_MODE_USAGE, async (client) =>
        (await client.enterSafeMode()) ? 'is in safe mode' : null,
      );
    case 'leave':
      return await onRouters(rest, contextOf, SAFE_MODE_USAGE, async (client) =>
        (await client.leaveSafeMode()) ? 'has left safe mode' : null,
      );
    case 'get':
      return await onRouters(rest, contextOf, SAFE_MODE_USAGE, async (client) =>
        (await client.isInSafeMode()) ? 'is in safe mode' : 'is not in safe mode',
      );
    default:
      throw unknownWord(word, ['enter', 'leave', 'get'], SAFE_MODE_USAGE);
  }
}

async function changeNameservice(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  const { positionals } = readArguments(args, {});
  const [word = '', nameservice = ''] = positionals;
  if (word !== 'enable' && word !== 'disable') throw unknownWord(word, ['enable', 'disable'], NAMESERVICE_USAGE);
  requireCount(positionals, 2, 2, NAMESERVICE_USAGE);
  const context = contextOf();
  using client = await connect(context);
  const isDone = await (word === 'enable'
    ? client.enableNameservice(nameservice)
    : client.disableNameservice(nameservice));
  if (isDone) {
    return printResult(context, { [`${word}d`]: nameservice }, [plainText(`${word}d nameservice ${nameservice}`)]);
  }
  const why = word === 'enable' ? 'it is not disabled' : 'the router knows no enabled nameservice of this name';
  return refused(`cannot ${word} nameservice ${nameservice}: ${why}`);
}

async function listDisabled(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  requireCount(readArguments(args, {}).positionals, 0, 0, 'disabled');
  const context = contextOf();
  using client = await connect(context);
  const nameservices = await client.readDisabledNameservices();
  return printResult(context, nameservices, nameservices.length === 0 ? ['none'] : nameservices.map(plainText));
}

/** Asks the first router that answers, or each of them. `ask` gives what is to be said of the router, null when it did not do it. */
async function onRouters(
  args: readonly string[],
  contextOf: () => AdminContext,
  usage: string,
  ask: (client: AdminClient) => Promise<string | null>,
): Promise<number> {
  const { positionals, flags } = readArguments(args, EACH_FLAGS);
  requireCount(positionals, 0, 0, usage);
  const context = contextOf();
  if (!isGiven(flags, 'all')) {
    using client = await connect(context);
    return report(context, [{ router: client.address, answer: await ask(client) }]);
  }
  const answers: Answer[] = [];
  for (const address of context.addresses) {
    try {
      using client = await connect(context, [address]);
      answers.push({ router: client.address, answer: await ask(client) });
    } catch (error) {
      // An address is named in the texts of failed connections, not in those of refusals.
      answers.push({ router: formatAddress(address.host, address.port), answer: null, reason: reasonOf(error) });
    }
  }
  return report(context, answers);
}

interface Answer {
  readonly router: string;
  readonly answer: string | null;
  readonly reason?: string;
}

function report(context: AdminContext, answers: readonly Answer[]): number {
  const good = answers.filter(({ answer }) => answer !== null);
  printResult(
    context,
    answers.map(({ router, answer, reason }) =>
      answer === null ? { router, failed: reason ?? NOT_DONE } : { router, answer },
    ),
    good.map(({ router, answer }) => plainText(`${router} ${answer}`)),
  );
  for (const { router, answer, reason = NOT_DONE } of answers) {
    if (answer === null) warn(`${router}: ${reason}`);
  }
  return good.length === answers.length ? ExitCode.OK : ExitCode.FAILED;
}

const NOT_DONE = 'the router did not do it: it has no such service, or no State Store that answers';

async function refreshPart(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  // What follows the identifier is the router's to read, dashes or not.
  const [first = '', ...others] = args;
  const named = others.length > 0 && isAddress(first) ? readAddress('the address', first) : null;
  const [identifier = '', ...rest] = named === null ? args : others;
  if (identifier === '') throw new UsageError(`no identifier is given; write: switchyard admin ${PART_USAGE}`);
  const context = contextOf();
  using client = await connect(context, named === null ? context.addresses : [named]);
  const answers = await client.refreshPart(identifier, rest);
  const lines = answers.map(({ sender, message, exitStatus }) =>
    plainText(`${sender === '' ? client.address : sender}: ${message} (exit ${exitStatus})`),
  );
  printResult(context, answers, lines);
  if (answers.length === 0) return refused(`${client.address} gave no answer to ${identifier}`);
  return answers.every(({ exitStatus }) => exitStatus === 0) ? ExitCode.OK : ExitCode.FAILED;
}

function isAddress(text: string): boolean {
  if (!/:\d+$/.test(text)) return false;
  try {
    parseAddress(text, -1);
    return true;
  } catch {
    return false;
  }
}

function unknownWord(word: string, words: readonly string[], usage: string): UsageError {
  const near = nearestWord(word, words);
  const hint = near === null ? '' : `; did you mean ${near}?`;
  const problem = word === '' ? 'something is missing' : `'${word}' is not understood`;
  return new UsageError(`${problem}${hint || `; write: switchyard admin ${usage}`}`);
}
