import { SafeModeLevel } from '../../shared/control-block.ts';
import { Counter } from '../../shared/counters.ts';
import { decodePlain, encode, messageType } from '../../wire/messages.ts';
import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';
import type { Method } from '../method.ts';
import { PROTOCOLS } from '../methods.ts';
import { refuseUnsupported } from './refused.ts';

const EMPTY = Buffer.alloc(0);

/** Answers of the router itself, by method. */
const ANSWERS: Readonly<Record<string, (engine: Engine, call: Call) => void>> = {
  getHAServiceState(engine, call) {
    const isStandby = engine.block.draining || engine.block.safeMode !== SafeModeLevel.OFF;
    engine.succeed(
      call,
      encode(messageType((call.method as Method).response), { state: isStandby ? 'STANDBY' : 'ACTIVE' }),
    );
  },
  // No nameservice has observer reads yet: there is no state to bring up to date.
  // Without Kerberos there are no tokens; clients take an answer without one as just that.
  getDelegationToken: (engine, call) => engine.succeed(call, EMPTY),
  renewDelegationToken: refuseToken,
  cancelDelegationToken: refuseToken,
  getProtocolVersions(engine, call) {
    const method = call.method as Method;
    const { protocol } = decodePlain(
      messageType(method.request),
      call.frame,
      call.start + call.fields.bodyStart,
      call.start + call.fields.bodyEnd,
    );
    const known = PROTOCOLS.find((each) => each.name === protocol);
    const protocolVersions = known === undefined ? [] : [{ rpcKind: 'RPC_PROTOCOL_BUFFER', versions: [known.version] }];
    engine.succeed(call, encode(messageType(method.response), { protocolVersions }));
  },
  // The hashes are those of Java's method objects; clients ask for them only to find methods that their server may lack.
  getProtocolSignature: refuseUnsupported,
};

export function answerLocally(engine: Engine, call: Call): void {
  const answer = ANSWERS[(call.method as Method).name];
  if (answer === undefined) {
    refuseUnsupported(engine, call);
    return;
  }
  engine.counters.add(Counter.callsLocal);
  try {
    answer(engine, call);
  } catch (error) {
    engine.fail(call, Failure.MALFORMED, error instanceof Error ? error.message : String(error));
  }
}

function refuseToken(engine: Engine, call: Call): void {
  engine.fail(call, Failure.IO, 'Delegation tokens are issued only with Kerberos authentication');
}
