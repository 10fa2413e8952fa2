/** The page `sizing` of the manual, made from the result of a scale bench. */

import { fileURLToPath } from 'node:url';
import { grouped, markdownTable, type PrintTable, percent } from '../harness/table.ts';
import { FLEETS, type Fleet, RULES, sizeFleet } from './fleet.ts';
import { CPU_TERMS, MEMORY_TERMS } from './model.ts';
import { PLANNED_LOAD } from './points.ts';
import { bytes, describeError, describeLimit, describeMachine, signedPercent } from './report.ts';
import type { CapacityModel, ScaleResult } from './result.ts';
import { readScaleResult } from './result-file.ts';
import { THREAD_KINDS } from './router-watch.ts';

export const SIZING_PAGE: URL = new URL('../../src/manual/sizing.md', import.meta.url);
/** What the page is made from. */
export const BASELINE: string = fileURLToPath(new URL('../baselines/scale.json', import.meta.url));
/** What the batches of a real fleet may be through the measured ones. */
const TOGETHER_FACTORS = [1 / 16, 1 / 4, 1, 4] as const;

const GB = 1e9;
/** Calls in flight on each connection of a user at which the router opens another one (namenode/group.ts). */
const CALLS_PER_GROWN_CONNECTION = 16;

/** One column for each fleet. */
export function printSizing(model: CapacityModel, fleets: readonly Fleet[], table: PrintTable): string {
  const sizings = fleets.map((fleet) => sizeFleet(model, fleet, RULES));
  const row = (name: string, cells: (index: number) => string): string[] => [
    name,
    ...fleets.map((_, index) => cells(index)),
  ];
  type Sized = (typeof sizings)[number];
  const sized = (name: string, cell: (sizing: Sized) => string): string[] =>
    row(name, (index) => cell(sizings[index] as Sized));
  return table(
    ['calls/s at the busiest time', ...fleets.map((fleet) => grouped(fleet.callsPerSecond))],
    [
      sized('CPU µs per call', (sizing) => sizing.cpuMicrosPerCall.toFixed(1)),
      sized('calls/s of an acceptor core', (sizing) => grouped(sizing.callsPerAcceptorCore)),
      sized('calls/s of a worker core', (sizing) =>
        Number.isFinite(sizing.callsPerWorkerCore) ? grouped(sizing.callsPerWorkerCore) : '-',
      ),
      sized('acceptor cores', (sizing) => grouped(sizing.acceptorCores)),
      sized('worker cores', (sizing) => grouped(sizing.workerCores)),
      sized('cores for the rest', (sizing) => grouped(sizing.otherCores)),
      sized('routers, one of them spare', (sizing) => grouped(sizing.routers)),
      sized('acceptors + workers of each', (sizing) => `${sizing.acceptorsPerRouter} + ${sizing.workersPerRouter}`),
      sized('connections that a NameNode needs', (sizing) => grouped(sizing.namenodeConnectionsNeeded)),
      sized('connections that it has, by users', (sizing) => grouped(sizing.namenodeConnectionsByUsers)),
      sized('calls in flight', (sizing) => grouped(sizing.callsInFlight)),
      sized('memory of each router, GB', (sizing) => (sizing.bytesPerRouter / GB).toFixed(2)),
      sized('memory together, GB', (sizing) => (sizing.bytesTogether / GB).toFixed(1)),
    ],
  );
}

/** Cores of all kinds together, when other numbers of calls come at once than were measured. One column for each fleet. */
export function printSensitivity(model: CapacityModel, fleets: readonly Fleet[], table: PrintTable): string {
  return table(
    ['calls at once', ...fleets.map((fleet) => `cores for ${grouped(fleet.callsPerSecond)} calls/s`)],
    TOGETHER_FACTORS.map((factor) => {
      const together = Math.max(1, model.together * factor);
      return [
        `${together.toFixed(1)}${factor === 1 ? ' (measured)' : ''}`,
        ...fleets.map((fleet) => {
          const { acceptorCores, workerCores, otherCores } = sizeFleet(model, fleet, RULES, together);
          return grouped(acceptorCores + workerCores + otherCores);
        }),
      ];
    }),
  );
}

/** The page as the committed baseline gives it. Throws when the baseline cannot be read. */
export function renderSizingManual(): string {
  const result = readScaleResult(BASELINE);
  if (result instanceof Error) throw result;
  return renderSizingPage(result);
}

/** The whole page. Throws when the result has no model. */
export function renderSizingPage(result: ScaleResult): string {
  const { model } = result;
  if (model === null) throw new Error(`the result has no capacity model: ${result.modelMissing}`);
  const fleet = FLEETS[0] as Fleet;
  const cpuRows = CPU_TERMS.map((term) => [
    `\`${term}\``,
    ...THREAD_KINDS.map((kind) => model.cpu[kind][term].toFixed(3)),
  ]);
  const memoryRows = MEMORY_TERMS.map((term) => [`\`${term}\``, bytes(model.memory[term])]);
  return `${SIZING_HEAD}
## A first estimate

For ${grouped(fleet.clients)} clients with at most one call in flight each, ${fleet.nameservices} nameservices with ${fleet.usersPerNameservice} users each at a time,
${grouped(fleet.mounts)} mount points, replies of ${grouped(fleet.replyBytes)} bytes and NameNodes that take ${fleet.namenodeMs} ms:

${printSizing(model, FLEETS, markdownTable)}

Threads are meant to be busy for ${percent(RULES.busyShare)} of the time at most. A router has
${RULES.coresPerRouter} cores; one router more than the load needs may fail. Set \`switchyard.acceptors\` and \`switchyard.workers\` to the row
"acceptors + workers". Memory is what a router holds when the spare one is away; kernel buffers of the sockets come on top.
${describeMargin(model)}

How many calls a thread finds at once decides what a wake-up costs each of them. ${model.together.toFixed(1)} were measured with 64 clients at
${percent(PLANNED_LOAD)} of the calls a second that went through at most, so the table is made with it. But the load tool sends the calls of a millisecond
together; clients that know nothing of each other may come fewer at a time. All cores together, as that number changes:

${printSensitivity(model, FLEETS, markdownTable)}

## The formulas

Of each kind of thread (acceptors, workers, everything else), with numbers of its own:

    CPU µs per call = call + client / M + namenode · min(1, G / N) + wake / N
                      + cold · log10(max(1, C / 64)) + spread · log10(max(1, G / 64))
                      + table · log10(mount points) + reply · KB + large · KB, if KB is above 16

C is the number of client connections of an acceptor, M the calls in flight of one connection, N the calls that are there at once, G the
pairs of user and nameservice that they belong to, KB the size of a reply in 1,000 bytes. What comes together is read and written together, so
a call has only a share of each read and write: 1/M on the clients' side, G/N on the NameNodes'.

    cores           = calls per second · CPU µs per call · ${model.cpuMargin.toFixed(2)} / 1,000,000 / ${RULES.busyShare}
    resident bytes  = base + connection · connections + inFlight · calls in flight
                      + mount · mount points + thread · (acceptors + workers)
    calls in flight = calls per second · seconds that a NameNode takes
    NameNode connections = peak calls per second / calls per connection

One connection to a NameNode carried ${grouped(model.callsPerNamenodeConnection)} calls a second when measured; ${describeLimit(model)}.
So the calls rarely set the number of connections. Users do: each has connections of its own, because a connection carries one
user. \`dfs.federation.router.connection.pool-size\` is the most that a user gets from each worker to one NameNode; a further one is opened when
all have ${CALLS_PER_GROWN_CONNECTION} calls in flight, and 1 is enough unless the NameNode reads several connections faster than one
(\`ipc.server.read.threadpool.size\` above 1 at the NameNode).
${describeUsedConnections(result)}
## The numbers

${markdownTable(['CPU, µs', ...THREAD_KINDS], cpuRows)}

${markdownTable(['memory', 'value'], memoryRows)}

CPU: error ${describeError(model.cpuFitError)} on the points that the model was fitted on,
${describeError(model.cpuHeldOutError)} on combinations that it had not seen
(of each, below 0 where the model says too little: ${model.cpuHeldOutError.signedOfPoints.map(signedPercent).join(', ')}).
Memory: error ${describeError(model.memoryFitError)}, and ${describeError(model.memoryHeldOutError)} on loads that it had not seen.

Measured on ${describeMachine(result.machine)}; hand-off ${result.handoff}; median of ${result.rounds} rounds of ${result.seconds} s for each point.

${SIZING_TAIL}`;
}

function describeMargin(model: CapacityModel): string {
  if (model.cpuMargin === 1) {
    return `No margin is added to the CPU of the model: it did not say too little, in the median, of the combinations that it had not seen.`;
  }
  return (
    `CPU and cores have a margin: the model said ${percent(1 - 1 / model.cpuMargin)} too little, in the median, of the combinations that it had\n` +
    `not seen, so all that it says is multiplied by ${model.cpuMargin.toFixed(2)}.`
  );
}

/** '' without the axis. */
function describeUsedConnections(result: ScaleResult): string {
  const most = result.axes.find(({ axis }) => axis === 'namenodeConnections')?.points.at(-1);
  if (most === undefined) return '';
  return (
    `\nA connection is used when a batch of calls leaves and all before it have calls in flight. Where ${most.point.namenodeConnections} were allowed, with\n` +
    `${grouped(most.point.connections * most.point.inFlight)} calls in flight, ${most.namenodeConnections} carried calls.\n`
  );
}

const SIZING_HEAD = `# Sizing

How many cores, routers, connections and how much memory a fleet needs. The numbers of this page are made by a script from a measurement
(last section); do not edit them by hand.
`;

const SIZING_TAIL = `## Limits of this estimate

* It was measured on a machine with few cores: the whole router on one core, loader and NameNode on the rest. Everything beyond one acceptor and
  one worker is extrapolated: the table says what follows if cores add up. Shared caches, memory bandwidth, network cards and the kernel's own
  work for them are not in it.
* Loopback connections cost less than a real network card. The processor of your machines is another one.
* All calls are \`getFileInfo\`, SIMPLE authentication, mount points with one destination. Calls that a NameNode takes longer for need more calls
  in flight, not more CPU.
* The memory of a call in flight is that of a small call; large requests and replies add their own size while they wait.
* A NameNode answers far fewer calls a second than a router passes on: first make sure that it can serve its share of the calls.
* The margin on the CPU covers the median error on combinations that the model had not seen, not the largest: see the numbers above.

## On your own machine

From the sources, on a machine that does nothing else (about 12 minutes):

    npm run bench:scale -- --json scale.json
    node native-free-bench/scale/sizing.ts --model scale.json

The second command prints the table from your numbers; \`--calls\`, \`--clients\`, \`--nameservices\`, \`--users\`, \`--mounts\`, \`--reply-bytes\` and
\`--namenode-ms\` describe your fleet. Then check the estimate against a real router with \`switchyard load ceiling\`.
`;
