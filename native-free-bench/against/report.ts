/** How a comparison is printed: text for a terminal, Markdown for the records, JSON with every round. */

import { findShortfall } from '../harness/limits.ts';
import { describeMachine, type Machine, toJson } from '../harness/machine.ts';
import { grouped, markdownTable, median, percent, printTable, rangeOf } from '../harness/table.ts';
import { javaSettings } from './java-router.ts';
import type { Start } from './peers.ts';
import type { Plan } from './plan.ts';
import { isJava, type Peer } from './scenarios.ts';
import type { PeerSummary, ScenarioSummary, Verdict } from './summary.ts';

export interface Report {
  readonly machine: Machine;
  readonly plan: Plan;
  readonly starts: ReadonlyMap<Peer, readonly Start[]>;
  /** What the fixed rates are shares of; null when none was needed. */
  readonly ceiling: { readonly peer: Peer | null; readonly callsPerSecond: number } | null;
  readonly scenarios: readonly ScenarioSummary[];
  readonly verdicts: readonly Verdict[];
}

const HEADINGS = [
  'peer',
  'CPU µs/call',
  '× Java',
  '(range)',
  '/ HAProxy',
  '(range)',
  'calls/s',
  'p50 µs',
  'p50 since write',
  'p99 µs',
  'p99 since write',
  'p99.9 µs',
  'RSS MB',
  'switches/call',
  'peer busy',
  'load busy',
  'NN busy',
  'others',
  'NN conns',
  'errors',
] as const;

const START_HEADINGS = ['peer', 'ready ms', 'first call ms'] as const;
const VERDICT_HEADINGS = ['scenario', 'peer', 'figure', 'target', 'measured', 'result'] as const;
const LEGEND =
  '( ): the peer was not the limit, or not alone, so this says nothing about it; CPU per call stands. ' +
  '× Java: calls per CPU-second as a multiple of the better Java Router of the same round; / HAProxy: CPU per call through its.';

type Table = (headings: readonly string[], rows: readonly (readonly string[])[]) => string;

export function printConditions(machine: Machine, plan: Plan): string {
  const { versions } = plan;
  const peers = [versions.haproxy, versions.java === null ? null : `Hadoop 3.4.1 on ${versions.java}`];
  return (
    `${[describeMachine(machine), ...peers].filter((part) => part !== null).join(', ')}; ` +
    `peer on core ${plan.peerCores}, load and NameNode (${plan.backend}) on core ${plan.toolCores}; ` +
    `median of ${plan.rounds} interleaved rounds of ${plan.seconds} s` +
    `${plan.peers.some(isJava) ? `; Java Routers warmed up for ${plan.javaWarmupSeconds} s each` : ''}`
  );
}

export function printScenario(summary: ScenarioSummary): string {
  return [titleOf(summary), ...indent(printTable(HEADINGS, summary.peers.map(rowOf))), ...notesOf(summary), ''].join(
    '\n',
  );
}

export function printStarts(starts: Report['starts']): string {
  return ['start, not pinned', ...indent(printTable(START_HEADINGS, startRows(starts))), ''].join('\n');
}

export function printVerdicts(verdicts: readonly Verdict[]): string {
  if (verdicts.length === 0) return '';
  return ['targets', ...indent(printTable(VERDICT_HEADINGS, verdicts.map(verdictRow))), '', LEGEND, ''].join('\n');
}

export function toMarkdown(report: Report): string {
  const table: Table = markdownTable;
  const parts = ['# Switchyard against its peers', printConditions(report.machine, report.plan), LEGEND];
  for (const summary of report.scenarios) {
    parts.push(`## ${titleOf(summary)}`, table(HEADINGS, summary.peers.map(rowOf)));
    const notes = notesOf(summary).map((note) => `* ${note.trim()}`);
    if (notes.length > 0) parts.push(notes.join('\n'));
  }
  if (report.starts.size > 0) parts.push('## Start, not pinned', table(START_HEADINGS, startRows(report.starts)));
  if (report.verdicts.length > 0) parts.push('## Targets', table(VERDICT_HEADINGS, report.verdicts.map(verdictRow)));
  return `${parts.join('\n\n')}\n`;
}

export function reportJson(report: Report): string {
  const { machine, plan, ceiling, scenarios, verdicts } = report;
  const starts = [...report.starts].map(([peer, own]) => ({
    peer,
    readyMs: median(own.map((start) => start.readyMs)),
    firstCallMs: median(own.map((start) => start.firstCallMs)),
    starts: own,
  }));
  const settings = plan.peers.filter(isJava).map((peer) => [peer, javaSettings(peer)] as const);
  const whole = {
    bench: 'against',
    ...machine,
    versions: plan.versions,
    backend: plan.backend,
    peers: plan.peers,
    rounds: plan.rounds,
    seconds: plan.seconds,
    javaWarmupSeconds: plan.javaWarmupSeconds,
    javaSettings: Object.fromEntries(settings),
    ceiling,
    starts,
    scenarios,
    verdicts,
  };
  return toJson(whole);
}

function titleOf(summary: ScenarioSummary): string {
  const rate = summary.ratePerSecond > 0 ? `, ${grouped(summary.ratePerSecond)} calls/s` : '';
  return `${summary.scenario}: ${summary.meaning}${rate}`;
}

function rowOf(row: PeerSummary): string[] {
  const mark = (text: string): string => (row.limit === '' ? text : `(${text})`);
  const isDirect = row.peer === 'direct';
  return [
    row.peer,
    row.cpuMicrosPerCall?.toFixed(2) ?? '-',
    row.ofJava?.toFixed(2) ?? '-',
    rangeOf(row.ofJavaOfRounds),
    row.ofHaproxy?.toFixed(2) ?? '-',
    rangeOf(row.ofHaproxyOfRounds),
    mark(grouped(row.callsPerSecond)),
    mark(row.p50Micros.toFixed(0)),
    mark(row.serviceP50Micros.toFixed(0)),
    mark(row.p99Micros.toFixed(0)),
    mark(row.serviceP99Micros.toFixed(0)),
    mark(row.p999Micros.toFixed(0)),
    isDirect ? '-' : (row.rssBytes / 1e6).toFixed(0),
    row.contextSwitchesPerCall === 0 ? '-' : row.contextSwitchesPerCall.toFixed(3),
    isDirect ? '-' : percent(row.peerBusy),
    percent(row.loaderBusy),
    percent(row.namenodeBusy),
    percent(row.othersBusy),
    row.namenodeConnections === null ? '-' : String(row.namenodeConnections),
    String(row.errors),
  ];
}

/** What a reader must know of single rows. */
function notesOf(summary: ScenarioSummary): string[] {
  const notes: string[] = [];
  for (const row of summary.peers) {
    if (row.limit !== '') notes.push(`  ${row.peer}: ${row.limit}`);
    const shortfall = findShortfall(row.rounds, summary.ratePerSecond);
    if (shortfall !== '') notes.push(`  ${row.peer}: ${shortfall}`);
    if (row.errors > 0) notes.push(`  ${row.peer}: first error: ${row.firstError}`);
  }
  return notes;
}

function startRows(starts: Report['starts']): string[][] {
  return [...starts].map(([peer, own]) => [
    peer,
    median(own.map((start) => start.readyMs)).toFixed(0),
    median(own.map((start) => start.firstCallMs)).toFixed(0),
  ]);
}

function verdictRow(verdict: Verdict): string[] {
  return [verdict.scenario, verdict.peer, verdict.what, verdict.target, verdict.value, verdict.result];
}

function indent(text: string): string[] {
  return text.split('\n').map((line) => `  ${line}`);
}
