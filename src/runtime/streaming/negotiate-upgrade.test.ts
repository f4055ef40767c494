import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type NegotiatedUpgrade, negotiateUpgrade, type SupportedProtocols } from './negotiate-upgrade.ts';
import { COMMAND_PROTOCOLS, FORWARD_PROTOCOLS } from './protocols.ts';

type Row = [spoken: SupportedProtocols, upgrade: string, protocols: readonly string[], negotiated: NegotiatedUpgrade];

const refuse = (status: number, message: string): NegotiatedUpgrade => ({
  kind: 'refuse',
  status,
  message: `${message}\n`,
});
const [command, forward] = [COMMAND_PROTOCOLS, FORWARD_PROTOCOLS];
const v4 = 'v4.channel.k8s.io';

const rows: Record<string, Row> = {
  'the first supported protocol of a WebSocket': [
    command,
    'websocket',
    ['x', v4, 'v5.channel.k8s.io'],
    { kind: 'webSocket', protocol: v4 },
  ],
  'a WebSocket without a protocol': [command, 'websocket', [], { kind: 'webSocket', protocol: '' }],
  'no supported protocol of a WebSocket': [
    forward,
    'websocket',
    ['v5.channel.k8s.io', 'x'],
    refuse(
      403,
      `requested protocol(s) are not supported: [v5.channel.k8s.io x]; supports [SPDY/3.1+portforward.k8s.io ${v4} v4.base64.channel.k8s.io]`,
    ),
  ],
  'SPDY within a WebSocket': [
    forward,
    'websocket',
    ['SPDY/3.1+portforward.k8s.io'],
    { kind: 'webSocket', protocol: 'SPDY/3.1+portforward.k8s.io' },
  ],
  'no exec by SPDY within a WebSocket': [
    command,
    'websocket',
    ['SPDY/3.1+v4.channel.k8s.io'],
    refuse(
      403,
      `requested protocol(s) are not supported: [SPDY/3.1+v4.channel.k8s.io]; supports [v5.channel.k8s.io ${v4} v4.base64.channel.k8s.io channel.k8s.io base64.channel.k8s.io]`,
    ),
  ],
  'SPDY in any case': [command, 'spdy/3.1', ['v5.channel.k8s.io', v4], { kind: 'spdy', protocol: v4 }],
  'port-forward by SPDY': [
    forward,
    'SPDY/3.1',
    ['portforward.k8s.io'],
    { kind: 'spdy', protocol: 'portforward.k8s.io' },
  ],
  'SPDY without a protocol': [
    command,
    'SPDY/3.1',
    [],
    refuse(400, 'unable to upgrade: header X-Stream-Protocol-Version does not exist in request'),
  ],
  'no supported protocol of SPDY': [
    forward,
    'SPDY/3.1',
    ['v9', 'v8'],
    {
      kind: 'refuse',
      status: 403,
      message:
        'unable to upgrade: unable to negotiate protocol: client supports [v9 v8], server accepts [portforward.k8s.io]\n',
      headers: [['X-Accepted-Stream-Protocol-Versions', 'portforward.k8s.io']],
    },
  ],
  'plain HTTP': [
    command,
    '',
    [],
    refuse(400, 'unable to upgrade: header X-Stream-Protocol-Version does not exist in request'),
  ],
  'an unknown upgrade': [command, 'h2c', [v4], refuse(400, 'unable to upgrade: missing upgrade headers in request')],
};

for (const [name, [spoken, upgrade, protocols, negotiated]] of Object.entries(rows)) {
  test(`negotiateUpgrade() of ${name}`, () => {
    const offer = { path: '/', query: new URLSearchParams(), upgrade, protocols };
    assert.deepEqual(negotiateUpgrade(offer, spoken), negotiated);
  });
}
