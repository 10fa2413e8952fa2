import { describe, expect, it } from 'vitest';
import { SCAN_BAD, SCAN_OK } from '../../src/wire/call-scan.ts';
import {
  ConnectionContext,
  encodeHandshake,
  encodePing,
  encodeRefusal,
  encodeSaslSuccess,
  judgePreamble,
  Preamble,
  SaslScan,
  SaslState,
  scanConnectionContext,
  scanSasl,
} from '../../src/wire/handshake.ts';
import { encodeDelimited, messageType } from '../../src/wire/messages.ts';
import { readVarint32, varint32Size } from '../../src/wire/varint.ts';
import { vector, withoutStateId } from './vectors.ts';

const CLIENT_PROTOCOL = 'org.apache.hadoop.hdfs.protocol.ClientProtocol';

function preamble(hex: string): Buffer {
  return Buffer.concat([Buffer.from('ee'), Buffer.from(hex, 'hex')]);
}

describe('preamble', () => {
  it.each([
    ['68727063090000', Preamble.OK_NONE],
    ['68727063090700', Preamble.OK_NONE],
    ['687270630900df', Preamble.OK_SASL],
    ['4745542f090000', Preamble.OTHER_VERSION],
    ['47455420090000', Preamble.HTTP],
    ['504f5354202f20', Preamble.OTHER_VERSION],
    ['687270630a0000', Preamble.OTHER_VERSION],
    ['687270637f0000', Preamble.OTHER_VERSION],
    ['68727063080000', Preamble.OLD_VERSION],
    ['00000000030000', Preamble.OLD_VERSION],
    ['68727063020000', Preamble.VERSION_2],
    ['68727063010000', Preamble.NO_VERSION],
    ['68727063000000', Preamble.NO_VERSION],
    ['68727063800000', Preamble.NO_VERSION],
    ['68727063ff0000', Preamble.NO_VERSION],
    ['68727063090005', Preamble.UNKNOWN_AUTH],
  ])('%s', (hex, code) => {
    expect(judgePreamble(preamble(hex), 2)).toBe(code);
  });

  const answer = (hex: string) => {
    const bytes = preamble(hex);
    return encodeRefusal(judgePreamble(bytes, 2), bytes, 2);
  };

  it('is refused with the bytes of a Java server', () => {
    expect(answer('687270630a0000')).toEqual(withoutStateId(vector('10-fatal-version-mismatch-v10')));
    expect(answer('68727063080000')).toEqual(vector('11-oldstyle-version-8'));
    expect(answer('68727063090005')).toEqual(withoutStateId(vector('12-fatal-unknown-auth')));
    expect(answer('47455420090000')).toEqual(vector('13-http-get-response'));
    const two = answer('68727063020000')!;
    const eight = vector('11-oldstyle-version-8');
    expect(two.toString('hex', 0, 5)).toBe('0000000001');
    expect(two.toString('latin1', 5)).toBe(eight.toString('latin1', 8).replace(/8$/, '2'));
    expect(answer('68727063ff0000')).toBe(null);
    expect(answer('68727063090080')?.toString('latin1')).toContain('Unknown auth protocol:-128');
  });
});

describe('towards NameNodes', () => {
  it('writes preamble and context as a Java client does', () => {
    const clientId = Buffer.from('abb53d07b2ac4da79ed9b80d7118666a', 'hex');
    const sent = encodeHandshake({ user: 'alice', realUser: '', protocol: CLIENT_PROTOCOL, clientId });
    expect(sent).toEqual(Buffer.concat([vector('01-preamble'), vector('02-connection-context')]));
    const proxied = encodeHandshake({ user: 'alice', realUser: 'router', protocol: CLIENT_PROTOCOL, clientId });
    const context = new ConnectionContext();
    expect(scanConnectionContext(proxied, 7 + 4 + 27, proxied.length, context)).toBe(SCAN_OK);
    expect(context).toEqual({ user: 'alice', realUser: 'router', protocol: CLIENT_PROTOCOL });
  });

  it('writes pings', () => {
    expect(encodePing(Buffer.from('2d807d86beea405f81ae10d9c64e3790', 'hex'))).toEqual(vector('22-ping'));
  });
});

function behindHeader(frame: Buffer): number {
  const bytes = readVarint32(frame, 4, frame.length);
  return 4 + varint32Size(bytes) + bytes;
}

describe('connection context', () => {
  it('of 02', () => {
    const frame = vector('02-connection-context');
    const context = new ConnectionContext();
    expect(scanConnectionContext(frame, behindHeader(frame), frame.length, context)).toBe(SCAN_OK);
    expect(context).toEqual({ user: 'alice', realUser: '', protocol: CLIENT_PROTOCOL });
  });

  const scan = (hex: string) => {
    const bytes = Buffer.from(hex, 'hex');
    const context = Object.assign(new ConnectionContext(), { user: 'stale', realUser: 'stale', protocol: 'stale' });
    return { code: scanConnectionContext(bytes, 0, bytes.length, context), context };
  };

  it('without a user has none', () => {
    expect(scan('00')).toEqual({ code: SCAN_OK, context: { user: '', realUser: '', protocol: '' } });
    expect(scan('021200')).toEqual({ code: SCAN_OK, context: { user: '', realUser: '', protocol: '' } });
  });

  it('merges repeated user infos and steps over what it does not know', () => {
    expect(scan('0f 12030a0161 12060a016212017 2 0a00'.replaceAll(' ', ''))).toMatchObject({
      code: SCAN_OK,
      context: { user: 'b', realUser: 'r' },
    });
  });

  it.each(['', '05', '03120561', '0212 05', '041202 0a05', '020000'])('refuses %s', (hex) => {
    expect(scan(hex.replaceAll(' ', '')).code).toBe(SCAN_BAD);
  });
});

describe('SASL', () => {
  const scanFrame = (name: string) => {
    const frame = vector(name);
    const scan = new SaslScan();
    const state = scanSasl(frame, behindHeader(frame), frame.length, scan);
    return { state, scan, frame };
  };

  it('ends in SIMPLE with frame 30', () => {
    expect(encodeSaslSuccess()).toEqual(vector('30-sasl-success-simple-only-router'));
  });

  it('reads what clients and servers say', () => {
    expect(scanFrame('20-sasl-negotiate-request')).toMatchObject({
      state: SaslState.NEGOTIATE,
      scan: { authsCount: 0 },
    });
    expect(scanFrame('24-sasl-initiate-simple')).toMatchObject({
      state: SaslState.INITIATE,
      scan: { authsCount: 1, method: 'SIMPLE', mechanism: '', tokenStart: 0 },
    });
    expect(scanFrame('21-sasl-negotiate-response-simple-plus-token').scan.authsCount).toBe(2);
    expect(scanFrame('30-sasl-success-simple-only-router').state).toBe(SaslState.SUCCESS);
    const bytes = encodeDelimited(messageType('hadoop.common.RpcSaslProto'), { state: 4, token: Buffer.from('tok') });
    const scan = new SaslScan();
    expect(scanSasl(bytes, 0, bytes.length, scan)).toBe(SaslState.RESPONSE);
    expect(bytes.toString('latin1', scan.tokenStart, scan.tokenEnd)).toBe('tok');
  });

  it.each(['', '00', '021009', '0410012205', '06100122020a05'])('%s is no SASL message', (hex) => {
    const bytes = Buffer.from(hex, 'hex');
    const scan = new SaslScan();
    expect(scanSasl(bytes, 0, bytes.length, scan)).toBe(SaslState.UNREADABLE);
    expect(scan.state).toBe(SaslState.UNREADABLE);
  });
});
