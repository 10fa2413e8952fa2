import { describe, expect, it } from 'vitest';
import { ObserverLags } from '../../src/control/observers/observer-lags.ts';
import { StateWords, stateBytes } from '../../src/observer/shared/state-words.ts';
import { ControlBlock, createControlBlock, NameNodeState } from '../../src/shared/control-block.ts';
import { JmxServer } from '../support/jmx-server.ts';
import { monitoredNamenode } from '../support/observed.ts';
import { recordLog } from '../support/store-routers.ts';

const RPC_PORT = 8020;

/** Answers as a NameNode whose last transaction is `txid`; anything else than a number is not valid. */
function answerWith(jmx: JmxServer, txid: string, rpc: object = {}): void {
  jmx.respond = ({ url = '' }, response) => {
    const isJournal = url.includes('JournalTransactionInfo');
    const journal = { JournalTransactionInfo: JSON.stringify({ LastAppliedOrWrittenTxId: txid }) };
    if (!isJournal && !url.includes(`RpcActivityForPort${RPC_PORT}`)) response.statusCode = 404;
    response.end(JSON.stringify({ beans: [isJournal ? journal : rpc] }));
  };
}

async function lagsOf(servers: readonly JmxServer[], enabled = true) {
  const block = new ControlBlock(createControlBlock(1), 1);
  block.setState(0, 0, NameNodeState.ACTIVE);
  block.setActive(0, 0);
  for (let i = 1; i < servers.length; i++) block.setState(0, i, NameNodeState.OBSERVER);
  const words = new StateWords(new SharedArrayBuffer(stateBytes(1)), 1);
  words.forgetLags();
  const { log, lines } = recordLog();
  const namenodes = servers.map(({ port }, i) => monitoredNamenode(i, RPC_PORT, port));
  const settings = { enabled: [enabled], maxStateIds: 5, refreshMs: 15_000, patienceMs: 2_000 };
  const lags = new ObserverLags({ namenodes, settings, block, words, intervalMs: 60_000 }, log);
  await lags.round();
  return { lags, words, lines };
}

describe('how far observers are behind', () => {
  it('is asked of the web servers, for workers and for operators', async () => {
    await using active = await JmxServer.start();
    await using near = await JmxServer.start();
    await using far = await JmxServer.start();
    answerWith(active, '1000', { RpcRequeueCalls: 0, RpcQueueTimeAvgTime: 0.5 });
    answerWith(near, '1001');
    answerWith(far, '900', { RpcRequeueCalls: 17, RpcQueueTimeAvgTime: 3.25 });
    const { lags, words, lines } = await lagsOf([active, near, far]);
    const told = lags.lags.map(({ namenode, ...lag }) => [namenode.namenodeId, lag]);
    expect(told).toEqual([
      ['nn0', { lastTxid: 1000, behind: 0, requeued: 0, queueMs: 0.5 }],
      ['nn1', { lastTxid: 1001, behind: 0, requeued: -1, queueMs: -1 }],
      ['nn2', { lastTxid: 900, behind: 100, requeued: 17, queueMs: 3.25 }],
    ]);
    expect([0, 1, 2, 3].map((i) => words.behindOf(0, i))).toEqual([0, 0, 100, -1]);
    expect(lines).toEqual([]);
    await lags.stop();
  });

  it('is unknown where a web server does not tell, which the log says once', async () => {
    await using active = await JmxServer.start();
    await using observer = await JmxServer.start();
    answerWith(active, '1000');
    answerWith(observer, 'N/A');
    const { lags, words, lines } = await lagsOf([active, observer]);
    await lags.round();
    expect(lags.lags.map(({ behind }) => behind)).toEqual([0, -1]);
    expect(words.behindOf(0, 1)).toBe(-1);
    expect(lines).toHaveLength(1);
    expect(JSON.stringify(lines[0])).toContain('JournalTransactionInfo has no LastAppliedOrWrittenTxId');
    await lags.stop();
  });

  it('is not asked of nameservices that take no part', async () => {
    await using active = await JmxServer.start();
    answerWith(active, '1000');
    const { lags } = await lagsOf([active], false);
    expect([lags.lags, active.requests]).toEqual([[], 0]);
    await lags.stop();
  });
});
