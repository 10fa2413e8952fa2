import { makeDirectory, writeConfigFiles } from '../simulator/config-files.ts';
import { completeOptions, type SimulatorOptions } from '../simulator/options.ts';
import { parseServiceTime, type ServiceTime } from '../simulator/service-time.ts';
import { startSimulator } from '../simulator/simulator.ts';
import { SignalWait } from './until-signal.ts';
import { ExitCode, parseFlags, printLine, UsageError } from './usage.ts';

/**
 * `switchyard simulate`: NameNodes only. Prints one line of JSON when all of them listen,
 * {"ready":true,"pid":…,"nameservices":[{"id":…,"namenodes":[{"id":…,"host":…,"port":…}]}]}, and serves until a signal ends it.
 */
export async function run(args: string[]): Promise<number> {
  const flags = parseFlags(args, {
    nameservices: { type: 'string' },
    namenodes: { type: 'string' },
    observers: { type: 'string' },
    'observer-lag': { type: 'string' },
    'observer-calls-per-second': { type: 'string' },
    seed: { type: 'string' },
    'port-base': { type: 'string' },
    'service-time': { type: 'string' },
    'calls-per-second': { type: 'string' },
    'listing-limit': { type: 'string' },
    datanodes: { type: 'string' },
    'write-config': { type: 'string' },
  });
  const options: SimulatorOptions = {
    ...(flags.nameservices === undefined ? {} : { nameservices: flags.nameservices.split(',') }),
    ...readNumber('namenodes', flags.namenodes),
    ...readNumber('observers', flags.observers),
    ...readNumber('portBase', flags['port-base'], '--port-base'),
    ...readNumber('datanodes', flags.datanodes),
    ...readNumber('listingLimit', flags['listing-limit'], '--listing-limit'),
    ...readNumber('callsPerSecond', flags['calls-per-second'], '--calls-per-second'),
    ...readTime('serviceTime', flags['service-time'], '--service-time'),
    ...readTime('observerLag', flags['observer-lag'], '--observer-lag'),
    observerSettings: readNumber('callsPerSecond', flags['observer-calls-per-second'], '--observer-calls-per-second'),
    ...readNumber('seed', flags.seed),
  };
  const complete = asUsage('simulate', () => completeOptions(options));
  if (flags['write-config'] !== undefined) refuseBadDirectory(flags['write-config']);
  using signals = new SignalWait();
  await using simulator = await startSimulator(complete);
  const { nameservices } = simulator;
  if (flags['write-config'] !== undefined) {
    writeConfigFiles(flags['write-config'], nameservices, complete);
  }
  printLine(JSON.stringify({ ready: true, pid: process.pid, nameservices }));
  await signals.signalled;
  return ExitCode.OK;
}

/** Before any NameNode runs: what a directory lacks is known then. */
function refuseBadDirectory(directory: string): void {
  try {
    makeDirectory(directory);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--write-config ${directory}: ${reason}; name a directory that this user can make and write`);
  }
}

function readNumber<Name extends string>(
  name: Name,
  text: string | undefined,
  flag = `--${name}`,
): Partial<Record<Name, number>> {
  if (text === undefined) return {};
  if (!/^[0-9]+(\.[0-9]+)?$/.test(text)) throw new UsageError(`${flag} ${text}: not a number of 0 or more`);
  return { [name]: Number(text) } as Record<Name, number>;
}

function readTime<Name extends string>(
  name: Name,
  text: string | undefined,
  flag: string,
): Partial<Record<Name, ServiceTime>> {
  if (text === undefined) return {};
  return { [name]: asUsage(flag, () => parseServiceTime(text)) } as Record<Name, ServiceTime>;
}

/** What an option's own check says becomes a complaint about the command line. */
function asUsage<T>(flag: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && (error.name === 'ServiceTimeError' || error.name === 'SimulatorOptionError')) {
      throw new UsageError(flag.startsWith('--') ? `${flag}: ${error.message}` : error.message);
    }
    throw error;
  }
}
