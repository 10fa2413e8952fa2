/** The result as text for people. */
import { formatAddress } from '../../config/address.ts';
import type { LoadPlan } from '../plan/plan.ts';
import {
  alignRows,
  describeLoop,
  formatAchieved,
  formatBytes,
  formatCount,
  formatMicros,
  formatMs,
  formatRate,
  formatShare,
  plainText,
} from './format.ts';
import { PERCENTILES } from './percentiles.ts';
import {
  type Group,
  type LoaderHealth,
  type LoadResult,
  type Percentiles,
  SATURATED_SHARE,
  type Watched,
} from './result.ts';

/** Classes of errors, and mounts, that are printed; --json has all. */
const MAX_LINES = 20;
const MAX_MESSAGE_CHARACTERS = 140;
const MAX_NAME_CHARACTERS = 60;

const CLOSED_LOOP = 'CLOSED LOOP: latencies leave out the waiting of calls that were not made';

export function renderResult(result: LoadResult): string[] {
  const lines: string[] = [];
  for (const section of [
    renderPlan(result),
    renderPace(result),
    renderLatency(result),
    renderGroups('by operation', result.operations, 'operation'),
    renderGroups('by mount', result.targets, 'mount'),
    renderErrors(result),
    renderWatched(result.watched),
    renderLoader(result),
  ]) {
    if (section.length > 0) lines.push(...section, '');
  }
  lines.pop();
  return lines;
}

/** What was called, and how. */
function renderPlan({ plan, measuredMs, endedEarly, gaveUp }: LoadResult): string[] {
  const { host, port, connections, inFlight, users, threads } = plan;
  const lines = [
    `hdfs://${formatAddress(host, port)}: ${count(connections, 'connection')} with at most ${count(inFlight, 'call')} in flight each, ` +
      `${count(users.length, 'user')}, ${count(threads, 'loader thread')}${plan.observerReads ? ', with state ids for observer reads' : ''}`,
    plan.loop.kind === 'closed' ? CLOSED_LOOP : describeLoop(plan.loop),
    `measured for ${formatMs(measuredMs)}${describeStart(plan)}`,
  ];
  if (endedEarly === true) lines.push('ENDED EARLY: what follows was measured until then');
  if (gaveUp === true)
    lines.push('GAVE UP: no connection to the server for too long; what follows was measured until then');
  return lines;
}

function describeStart({ loop, warmupMs }: LoadPlan): string {
  if (loop.kind === 'open' && loop.rampMs > 0) {
    return `, after a ramp of ${formatMs(loop.rampMs)}${warmupMs > loop.rampMs ? ` and ${formatMs(warmupMs)} of warm-up in all` : ''}`;
  }
  return warmupMs === 0 ? '' : `, after ${formatMs(warmupMs)} of warm-up`;
}

function renderPace(result: LoadResult): string[] {
  const { calls, callsPerSecond, askedPerSecond, achievedShare, successes, errors, errorShare } = result;
  const achieved =
    askedPerSecond === null || achievedShare === null
      ? ''
      : `, ${formatAchieved(achievedShare)} of the ${formatRate(askedPerSecond)} asked`;
  const lines = [
    `achieved ${formatRate(callsPerSecond)} calls/s${achieved}`,
    `${count(calls, 'call')} over: ${count(successes, 'success', 'successes')}, ${count(errors, 'error')} (${formatShare(errorShare)})`,
  ];
  if (result.saturated && result.gaveUp !== true) {
    lines.push(
      `SATURATED: less than ${formatShare(SATURATED_SHARE)} of the asked rate got through; corrected latencies grow as long as the load lasts`,
    );
  }
  return [...lines, ...describeLate(result)];
}

function* describeLate(result: LoadResult): Generator<string> {
  const { plan, lateForSlots, lateForLoader, unsent, unanswered, substituted, nothingFound = 0, gaveUp } = result;
  if (lateForSlots > 0) {
    const or = plan.loop.kind === 'replay' ? ', or an earlier call that they depend on had no reply' : '';
    yield `${count(lateForSlots, 'call')} sent late because no connection had a free slot (--in-flight) and room to write, or none was open${or}; the wait is in the corrected latencies`;
  }
  if (lateForLoader > 0) yield `${count(lateForLoader, 'call')} sent late because the loader was late`;
  if (unsent > 0) {
    const when = gaveUp === true ? 'not made' : 'due and not sent when the time was over';
    yield `${count(unsent, 'call')} ${when}; their latencies would be the longest, and are missing`;
  }
  if (unanswered > 0)
    yield `${count(unanswered, 'call')} without a reply when the run was ended; their latencies are missing too`;
  if (nothingFound > 0) yield `${count(nothingFound, 'call')} found nothing`;
  if (substituted > 0) {
    yield `${count(substituted, 'call')} that found nothing of this run to rename, change or delete: mkdirs took the place`;
  }
}

function renderLatency({ plan, latency }: LoadResult): string[] {
  if (latency.corrected.count === 0) return ['no latencies: no call that was due in the measured time was answered'];
  const corrected = ['corrected, since it was due', ...readColumns(latency.corrected)];
  const service = ['service, since it was sent', ...readColumns(latency.service)];
  const rows = plan.loop.kind === 'closed' ? [service] : [corrected, service];
  return alignRows([['latency', ...PERCENTILES.map(([, name]) => name)], ...rows], '');
}

function readColumns(percentiles: Percentiles): string[] {
  return PERCENTILES.map(([key]) => formatMicros(percentiles[key]));
}

function renderGroups(title: string, groups: readonly Group[], kind: string): string[] {
  if (groups.length === 0) return [];
  const rows = groups
    .slice(0, MAX_LINES)
    .map(({ name, calls, errors, corrected, service }) => [
      plainText(name, MAX_NAME_CHARACTERS),
      formatCount(calls),
      formatCount(errors),
      ...[corrected.p50, corrected.p99, corrected.p999, corrected.max, service.p50, service.p99].map(formatMicros),
    ]);
  const head = [title, 'calls', 'errors', 'p50', 'p99', 'p99.9', 'max', 'service p50', 'p99'];
  const lines = alignRows([head, ...rows], '');
  if (groups.length > MAX_LINES) lines.push(`… and ${count(groups.length - MAX_LINES, `more ${kind}`)}`);
  return lines;
}

function renderErrors({ errorClasses }: LoadResult): string[] {
  if (errorClasses.length === 0) return [];
  const rows = errorClasses
    .slice(0, MAX_LINES)
    .map((one) => [plainText(one.class, MAX_MESSAGE_CHARACTERS), formatCount(one.count)]);
  const lines = alignRows([['errors by class', 'calls'], ...rows], '').flatMap((line, index) => {
    const message = index === 0 ? '' : plainText(errorClasses[index - 1]?.firstMessage ?? '', MAX_MESSAGE_CHARACTERS);
    return message === '' ? [line] : [line, `    first: ${message}`];
  });
  if (errorClasses.length > MAX_LINES) lines.push(`… and ${errorClasses.length - MAX_LINES} more classes`);
  return lines;
}

function renderWatched(watched: Watched | null): string[] {
  if (watched === null) return [];
  const { pid, command, cpuSeconds, cpuMicrosPerCall, rssStartBytes, rssEndBytes, rssMaxBytes } = watched;
  return [
    `process ${pid}${command === '' ? '' : ` (${plainText(command, MAX_NAME_CHARACTERS)})`}${watched.ended === true ? ': HAS ENDED during the run' : ''}`,
    ...nameLines([
      ['CPU', `${cpuSeconds.toFixed(2)} s, ${formatMicros(cpuMicrosPerCall)} a call`],
      [
        'resident memory',
        `${formatBytes(rssStartBytes)} to ${formatBytes(rssEndBytes)}, at most ${formatBytes(rssMaxBytes)}`,
      ],
      ['sockets', describeCounts(watched.socketsStart, watched.socketsEnd)],
      ['descriptors', describeCounts(watched.descriptorsStart, watched.descriptorsEnd)],
      [
        'context switches',
        `${formatCount(watched.voluntarySwitches)} voluntary, ${formatCount(watched.involuntarySwitches)} involuntary`,
      ],
    ]),
  ];
}

function describeCounts(start: number | null, end: number | null): string {
  return start === null || end === null ? 'could not be counted' : `${start} to ${end}`;
}

function nameLines(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`);
}

function renderLoader({ plan, loader, watched }: LoadResult): string[] {
  const { utilization, cpuShare, loopDelayP50Ms, loopDelayP99Ms, loopDelayMaxMs, gcCount, gcTotalMs, gcMaxMs } = loader;
  const lines = [
    `the loader itself: busiest thread ${formatShare(utilization)} busy${plan.spin === true ? ' (--spin)' : ''}, ${cpuShare.toFixed(2)} cores used, ` +
      describeSendDelay(loader) +
      `event-loop delay p50 ${loopDelayP50Ms.toFixed(1)} p99 ${loopDelayP99Ms.toFixed(1)} max ${loopDelayMaxMs.toFixed(1)} ms, ` +
      `${formatCount(gcCount)} GC pauses of ${gcTotalMs.toFixed(0)} ms, longest ${gcMaxMs.toFixed(1)} ms`,
  ];
  if (loader.wasTheLimit) lines.push(`THE LOADER WAS THE LIMIT: ${loader.reason}`);
  if (loader.nearLimit !== undefined) lines.push(`the loader was near its limit: ${loader.nearLimit}`);
  if (watched?.ended === true) lines.push('THE WATCHED PROCESS HAS ENDED: its numbers stop there');
  return lines;
}

function describeSendDelay({ sendDelay }: LoaderHealth): string {
  if (sendDelay === null) return '';
  return `calls written p50 ${formatMicros(sendDelay.p50)} p99 ${formatMicros(sendDelay.p99)} after they were due, `;
}

function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(number)} ${number === 1 ? noun : plural}`;
}
