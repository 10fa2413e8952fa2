/** The command line of the comparison, and whether this machine can do it. */

import { spawnSync } from 'node:child_process';
import { type Arguments, readArguments, readNames, readNumber, readWhole, refuse } from '../harness/arguments.ts';
import { type CoreSplit, checkDescriptors, splitCores } from '../harness/machine.ts';
import { readAvailableMemoryBytes } from '../harness/process-meter.ts';
import { haproxyVersion } from '../harness/proxies.ts';
import { BACKENDS, type BackendName } from './backend.ts';
import { JAVA_HEAP_GIB } from './java-router.ts';
import { isJava, PEERS, type Peer, SCENARIOS, type Scenario } from './scenarios.ts';

export interface Plan extends CoreSplit {
  readonly scenarios: readonly Scenario[];
  readonly peers: readonly Peer[];
  readonly rounds: number;
  readonly seconds: number;
  /** Starts of each peer whose times are taken. */
  readonly starts: number;
  readonly javaWarmupSeconds: number;
  /** Calls a second of which fixed rates are shares; 0: measured on the Java Routers of this run. */
  readonly ceiling: number;
  readonly backend: BackendName;
  readonly json: string | undefined;
  readonly markdown: string | undefined;
  readonly versions: { readonly haproxy: string | null; readonly java: string | null };
}

const GIB = 1 << 30;
/** Memory of a Java Router besides its heap. */
const JAVA_OTHER_GIB = 0.5;
/** Memory of everything else, and of the rig when it is the backend. */
const OTHERS_GIB = 1.5;
const RIG_GIB = 2.5;

export function readPlan(): Plan {
  const values = readArguments({
    only: { type: 'string' },
    peers: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    starts: { type: 'string' },
    backend: { type: 'string', default: 'stub' },
    quick: { type: 'boolean', default: false },
    'java-warmup': { type: 'string' },
    ceiling: { type: 'string' },
    json: { type: 'string' },
    markdown: { type: 'string' },
  });
  const quick = values['quick'] === true;
  const peers = readNames(values, 'peers', PEERS);
  const ceiling = readNumber(values, 'ceiling', 0, 10_000_000, 0);
  const backend = readBackend(values);
  const cores = splitCores();
  checkDescriptors();
  checkMemory(peers, backend);
  return {
    scenarios: readScenarios(values, peers.some(isJava) || ceiling > 0),
    peers,
    rounds: readWhole(values, 'rounds', 1, 1000, quick ? 1 : 5),
    seconds: readNumber(values, 'seconds', 0.1, 3600, quick ? 1 : 4),
    starts: readWhole(values, 'starts', 1, 100, quick ? 1 : 3),
    javaWarmupSeconds: readNumber(values, 'java-warmup', 0, 3600, quick ? 10 : 150),
    ceiling,
    backend,
    json: values['json'] as string | undefined,
    markdown: values['markdown'] as string | undefined,
    ...cores,
    versions: readVersions(peers, backend),
  };
}

/** Without a Java Router or --ceiling nothing says what the fixed rates are: they are left out, or refused when they were asked for. */
function readScenarios(values: Arguments, hasCeiling: boolean): Scenario[] {
  const names = SCENARIOS.map((scenario) => scenario.name);
  const only = readNames(values, 'only', names);
  const chosen = SCENARIOS.filter((scenario) => only.includes(scenario.name));
  const closed = chosen.filter((scenario) => scenario.ceilingShare === 0);
  if (hasCeiling || closed.length === chosen.length) return chosen;
  const reason =
    "fixed rates are shares of the Java Router's ceiling: add a Java Router to --peers, or give --ceiling N";
  if (values['only'] !== undefined) refuse(reason);
  process.stderr.write(`${reason}; left out\n`);
  return closed;
}

function readBackend(values: Arguments): BackendName {
  const text = String(values['backend']);
  return BACKENDS.find((name) => name === text) ?? refuse(`--backend ${text}: one of ${BACKENDS.join(', ')} is wanted`);
}

function checkMemory(peers: readonly Peer[], backend: BackendName): void {
  const routers = peers.filter(isJava).length;
  const needed = routers * (JAVA_HEAP_GIB + JAVA_OTHER_GIB) + OTHERS_GIB + (backend === 'rig' ? RIG_GIB : 0);
  const available = readAvailableMemoryBytes() / GIB;
  if (available >= needed) return;
  refuse(
    `${needed} GiB of memory are needed, ${available.toFixed(1)} GiB are free` +
      `${routers === 0 ? '' : `: each Java Router has a heap of ${JAVA_HEAP_GIB} GiB; leave one out with --peers`}`,
  );
}

function readVersions(peers: readonly Peer[], backend: BackendName): Plan['versions'] {
  const haproxy = peers.includes('haproxy') ? haproxyVersion() : null;
  if (haproxy instanceof Error) {
    return refuse(
      'haproxy is not there: install it (Debian: apt-get install haproxy) or leave it out with --peers direct,java-pool,java-single,ring,inline',
    );
  }
  return { haproxy, java: peers.some(isJava) || backend === 'rig' ? javaVersion() : null };
}

/** First line of `java -version`. */
function javaVersion(): string {
  const home = process.env['JAVA_HOME'];
  const run = spawnSync(home === undefined ? 'java' : `${home}/bin/java`, ['-version'], { encoding: 'utf8' });
  if (run.error !== undefined || run.status !== 0) {
    return refuse(
      'java is not there: install a JDK 17 and Maven (Debian: apt-get install openjdk-17-jdk-headless maven) ' +
        'or leave the Java Routers out with --peers direct,haproxy,ring,inline',
    );
  }
  return (run.stderr.split('\n')[0] as string).trim();
}
