/** All nameservices of one simulator with their servers, and the control requests. Lives in the simulator's thread. */

import { CallLog } from './call-log.ts';
import type { ControlRequest, ControlResults, NameNodeStatus, Which } from './control-requests.ts';
import { ControlError } from './control-requests.ts';
import { checkRunning, fence, restart, setLag, transition } from './namenode-controls.ts';
import { Nameservice } from './nameservice.ts';
import type { HaState } from './operation.ts';
import type { CompleteOptions, SimulatorSettings } from './options.ts';
import { checkSettings, settingsOfObservers } from './options.ts';
import { HOST, RpcServer } from './rpc-server.ts';
import { seededRandom } from './service-time.ts';
import { NO_LAG } from './tailing.ts';

export class Cluster {
  readonly #nameservices: readonly Nameservice[];
  readonly #servers: readonly RpcServer[];
  readonly #log = new CallLog();
  readonly #portBase: number;

  constructor(options: CompleteOptions) {
    const random = seededRandom(options.seed);
    const states: HaState[] = [
      ...Array.from({ length: options.namenodes }, (_, at): HaState => (at === 0 ? 'active' : 'standby')),
      ...Array.from({ length: options.observers }, (): HaState => 'observer'),
    ];
    const shared = { ...options, createdMs: Date.now() };
    this.#portBase = options.portBase;
    this.#nameservices = options.nameservices.map((id) => {
      const rootInodeId = options.rootInodeIds[id];
      return new Nameservice(id, states, rootInodeId === undefined ? shared : { ...shared, rootInodeId });
    });
    const namenodes = this.#nameservices.flatMap((nameservice) => nameservice.namenodes);
    const ofObservers = settingsOfObservers(options);
    for (const namenode of namenodes.filter(({ state }) => state === 'observer')) {
      namenode.tailing.configure({ ...NO_LAG, lagTime: options.observerLag });
    }
    this.#servers = namenodes.map((namenode) => {
      const settings = namenode.state === 'observer' ? ofObservers : options;
      return new RpcServer(namenode, settings, this.#log, random);
    });
  }

  /** Opens all ports. When one cannot be opened, none stays open. */
  async start(): Promise<void> {
    try {
      for (const [at, server] of this.#servers.entries()) {
        await server.start(this.#portBase === 0 ? 0 : this.#portBase + at);
      }
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop()));
  }

  async control(request: ControlRequest): Promise<ControlResults[ControlRequest['op']]> {
    switch (request.op) {
      case 'status':
        return this.#servers.map(statusOf);
      case 'calls':
        return this.#log.find(request);
      case 'counts':
        return this.#log.counts();
      case 'clear':
        this.#log.clear();
        return null;
      case 'failover':
        this.#failover(request.nameservice, request.to, request.fence?.unsynced);
        return null;
      case 'settings':
        this.#configure(request.settings, request.of);
        return null;
      default:
        await this.#controlOne(request);
        return null;
    }
  }

  async #controlOne(request: Extract<ControlRequest, Which>): Promise<void> {
    const server = this.#find(request);
    const { namenode } = server;
    switch (request.op) {
      case 'transition':
        transition(server, request.to);
        break;
      case 'stop':
        // Whoever comes after it need not wait for its consent: a stopped NameNode is not active.
        namenode.enter('standby');
        namenode.setSafeMode('leave');
        await server.stop();
        break;
      case 'start':
        if (server.running) {
          throw new ControlError(`${request.nameservice} ${request.namenode} is running`);
        }
        await server.start(server.port);
        break;
      case 'fence':
        fence(namenode, request.unsynced ?? 0);
        break;
      case 'restart':
        await restart(server, request);
        break;
      case 'hang':
        server.hang(request.mode ?? 'calls');
        break;
      case 'resume':
        server.resume();
        break;
      case 'lag':
        setLag(namenode, request);
        break;
      case 'blockReports':
        namenode.hearsBlockReports = request.arrive;
        break;
      case 'loseAnswers':
        server.loseAnswers(request.method, request.times);
        break;
      case 'garble':
        server.garbles = request.on;
        break;
    }
  }

  #failover(id: string, to: string, unsynced: number | undefined): void {
    const next = this.#find({ nameservice: id, namenode: to });
    checkRunning(next);
    const active = next.namenode.nameservice.active();
    if (active !== undefined && active !== next.namenode) {
      if (unsynced === undefined) {
        active.transition('standby');
      } else {
        fence(active, unsynced);
      }
    }
    transition(next, 'active');
  }

  #configure(settings: Partial<SimulatorSettings>, of: Which | undefined): void {
    const servers = of === undefined ? this.#servers : [this.#find(of)];
    for (const server of servers) {
      const changed = { ...server.settings, ...settings };
      checkSettings(changed);
      server.configure(changed);
    }
  }

  #find({ nameservice, namenode }: Which): RpcServer {
    const found = this.#servers.find(
      (server) => server.namenode.id === namenode && server.namenode.nameservice.id === nameservice,
    );
    if (found === undefined) {
      const known = this.#servers.map((server) => `${server.namenode.nameservice.id} ${server.namenode.id}`);
      throw new ControlError(`no NameNode ${nameservice} ${namenode}; there are ${known.join(', ')}`);
    }
    return found;
  }
}

function statusOf(server: RpcServer): NameNodeStatus {
  const { namenode } = server;
  const stateId = namenode.stateId(Date.now());
  return {
    nameservice: namenode.nameservice.id,
    namenode: namenode.id,
    host: HOST,
    port: server.port,
    state: namenode.state,
    running: server.running,
    hung: server.hung,
    safeMode: namenode.safeMode,
    fenced: namenode.fenced,
    stateId,
    appliedTxId: namenode.namespace.txid,
    lastTxId: namenode.lastTxId,
    inodes: namenode.namespace.inodeCount,
    connections: server.connections,
    queued: server.queued,
    requeued: server.requeued,
  };
}
