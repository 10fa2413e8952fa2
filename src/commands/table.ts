/** Names of the commands; `main.ts` has the code of each, loaded only when it runs. */
export type CommandName = 'start' | 'admin' | 'quickstart' | 'simulate' | 'load' | 'check-config' | 'help' | 'version';

/** What `help` says about a command. */
export interface Command {
  readonly name: CommandName;
  readonly summary: string;
  /** Everything after the first line of `help NAME`. */
  readonly usage: string;
}

const CONFIG_FLAGS = `  --config-dir DIR       directory with core-site.xml, hdfs-site.xml and hdfs-rbf-site.xml
                         (default: HADOOP_CONF_DIR, else HADOOP_HOME/etc/hadoop)
  --rpc HOST:PORT        address of the client port, 0 for any free port
  --set KEY=VALUE        sets a configuration key, wins over all files; repeatable`;

/** All commands, in the order in which `help` lists them. */
export const COMMANDS: readonly Command[] = [
  {
    name: 'start',
    summary: 'run a router',
    usage: `switchyard start [flags]

Reads Hadoop's configuration files, serves clients, and prints one line of JSON on stdout when it does:
{"ready":true,"pid":…,"rpc":"host:port","http":"host:port"}. Logs go to stderr. SIGTERM and SIGINT let calls in flight finish,
up to switchyard.drain.timeout; a second signal ends it at once.

${CONFIG_FLAGS}
  --mount /SRC=NS:/DST   adds a mount point; repeatable
  --mounts FILE          adds the mount points of a JSON file with all fields of the State Store's records
  --acceptors N          threads for client connections (switchyard.acceptors)
  --workers N            threads for NameNode connections (switchyard.workers)
  --handoff ring|inline  how calls get from acceptors to workers (switchyard.handoff)
  --insecure KEY         starts without the protection that KEY asks for and this release lacks; repeatable

Exit codes: 0 drained, 1 failed or calls were cut, 2 wrong flags or configuration.`,
  },
  {
    name: 'admin',
    summary: 'administer routers, Java or Switchyard: mount table, quotas, safe mode, nameservices',
    usage: `switchyard admin [--admin HOST:PORT]… VERB [arguments]`,
  },
  {
    name: 'quickstart',
    summary: 'run a router in front of two simulated nameservices, with a demonstration',
    usage: `switchyard quickstart [flags]

Starts two simulated nameservices, a router with three mount points in front of them, and a client that makes
directories and files through it and prints what went where. Stays up until Ctrl-C.

  --once                 ends after the demonstration

Exit codes: 0 ended by a signal or after --once, 1 failed, 2 wrong flags.`,
  },
  {
    name: 'simulate',
    summary: 'run simulated NameNodes only',
    usage: `switchyard simulate [flags]

Runs NameNodes that keep their namespace in memory and speak the real protocol, and prints one line of JSON on
stdout when they serve: {"ready":true,"nameservices":[…]}. SIGTERM and SIGINT end them.

  --nameservices A,B     names of the nameservices (default: ns0,ns1)
  --namenodes N          active and standby NameNodes of each (default: 2)
  --observers K          observers of each, besides (default: 0); replies then carry state ids
  --observer-lag T       how old an edit is when observers apply it, written as times per call are (default: 0)
  --port-base P          first port; without it each NameNode takes a free one
  --service-time T       time per call: 0.2ms, exp:1ms, or lognormal:1ms,0.5
  --calls-per-second N   cap of each NameNode; 0: none
  --observer-calls-per-second N
                         cap of each observer, when it differs
  --listing-limit N      entries of one page of a listing (default: 1000)
  --datanodes N          DataNodes that NameNodes report and place blocks on; nothing is stored (default: 0)
  --seed N               of times that are drawn; the same seed, the same times (default: 1)
  --write-config DIR     writes core-site.xml, hdfs-site.xml and hdfs-rbf-site.xml for a router or hdfs dfs

Exit codes: 0 ended by a signal, 1 failed, 2 wrong flags.`,
  },
  {
    name: 'load',
    summary: 'measure the tail latency of a router or NameNode under load',
    usage: `switchyard load --fs hdfs://HOST:PORT --mounts /DIR (--rate R | --closed) [flags]
       switchyard load ceiling --fs … --p99 10ms [flags]
       switchyard load soak --fs … --at 80% [flags]
       switchyard load replay AUDIT_LOG --fs … [flags]
       switchyard load compare A.json B.json [--html FILE]
       switchyard load clean --fs … --mounts /DIR [flags]`,
  },
  {
    name: 'check-config',
    summary: 'show what a router would read from a configuration directory, and what looks wrong',
    usage: `switchyard check-config [flags]

Prints every key that has a value with the place that sets it, then what this release does not support yet,
then what looks wrong. Starts nothing.

${CONFIG_FLAGS}
  --json                 prints one JSON object instead

Exit codes: 0 nothing looks wrong, 1 something does, 2 wrong flags.`,
  },
  {
    name: 'help',
    summary: 'show this list, a command, or a page of the manual',
    usage: `switchyard help [COMMAND|TOPIC]`,
  },
  {
    name: 'version',
    summary: 'show the version',
    usage: `switchyard version`,
  },
];

export function findCommand(name: string): Command | null {
  return COMMANDS.find((command) => command.name === name) ?? null;
}
