import type { MonitoredNamenode } from '../../src/control/membership/addresses.ts';
import type { ObservedView } from '../../src/http/api/parts.ts';
import { viewObservers } from '../../src/http/api/view-observers.ts';
import { Answer, Proof, State } from '../../src/observer/rules.ts';
import { Figure, Figures, figuresBytes, readFigures } from '../../src/observer/shared/figures.ts';
import { StateWords, stateBytes } from '../../src/observer/shared/state-words.ts';
import { Clock } from '../../src/shared/clock.ts';
import { ControlBlock, createControlBlock, NameNodeState } from '../../src/shared/control-block.ts';

/** NameNode `nn<index>` of ns0, on this machine. */
export function monitoredNamenode(index: number, rpcPort: number, webPort: number): MonitoredNamenode {
  const rpc = { host: '127.0.0.1', port: rpcPort };
  return {
    nameservice: 0,
    index,
    nameserviceId: 'ns0',
    namenodeId: `nn${index}`,
    rpc,
    service: rpc,
    lifeline: rpc,
    web: { host: '127.0.0.1', port: webPort },
    webScheme: 'http',
    webAddress: `127.0.0.1:${webPort}`,
  };
}

/** ns0 with an active at 1000 and an observer 12 behind that failed; ns1, which takes no part. Two threads have counted reads. */
export function observedNs0(): ObservedView[] {
  const block = new ControlBlock(createControlBlock(2), 2);
  block.setState(0, 0, NameNodeState.ACTIVE);
  block.setState(0, 1, NameNodeState.OBSERVER);
  const words = new StateWords(new SharedArrayBuffer(stateBytes(2)), 2);
  const { stamp } = new Clock();
  const answer = new Answer();
  answer.namenode = 0;
  answer.proof = Proof.ACTIVE;
  answer.txid = 1000;
  words.merge(0, answer, stamp, stamp, new State());
  words.prove(0, stamp);
  words.hold(0, 1, stamp, 1000, 1000);
  const shared = new SharedArrayBuffer(figuresBytes(2, 2));
  new Figures(shared, 0, 2).add(0, Figure.observerReads, 3);
  new Figures(shared, 1, 2).add(0, Figure.observerReads, 4);
  const namenodes = [0, 1].map((index) => monitoredNamenode(index, 8020 + index, 9870 + index));
  const addresses = namenodes.map(({ namenodeId: id, rpc }) => ({ id, ...rpc }));
  const [, observer] = namenodes as [MonitoredNamenode, MonitoredNamenode];
  return viewObservers(
    {
      nameservices: [
        { id: 'ns0', namenodes: addresses },
        { id: 'ns1', namenodes: [] },
      ],
    },
    { observers: { enabled: [true, false], maxStateIds: 5, refreshMs: 15_000, patienceMs: 2_000 } },
    block,
    { namenodes },
    {
      words,
      lags: { lags: [{ namenode: observer, lastTxid: 988, behind: 12, requeued: 7, queueMs: 1.5 }] },
      figures: () => readFigures(shared, 2),
    },
  );
}
