import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forwardedPorts, streamOptions, tunnelledProtocols } from './stream-query.ts';

test('streamOptions(): a terminal has one output only', () => {
  assert.deepEqual(streamOptions(new URLSearchParams('input=1&output=1&error=1')), {
    stdin: true,
    stdout: true,
    stderr: true,
    tty: false,
  });
  assert.deepEqual(streamOptions(new URLSearchParams('output=1&error=1&tty=1')), {
    stdin: false,
    stdout: true,
    stderr: false,
    tty: true,
  });
});

test('streamOptions() requires at least one stream', () => {
  const message = 'you must specify at least 1 of stdin, stdout, stderr';
  for (const query of ['', 'output=true', 'error=1&tty=1']) {
    assert.throws(() => streamOptions(new URLSearchParams(query)), { status: 400, message });
  }
});

test('forwardedPorts(): only a WebSocket names them in advance', () => {
  assert.deepEqual(forwardedPorts(new URLSearchParams('port=80,81&port=82'), 'WebSocket'), [80, 81, 82]);
  assert.deepEqual(forwardedPorts(new URLSearchParams(), 'SPDY/3.1'), []);
});

test('tunnelledProtocols(): names what a WebSocket with SPDY carries', () => {
  assert.deepEqual(tunnelledProtocols(['v4.channel.k8s.io', 'SPDY/3.1+portforward.k8s.io']), ['portforward.k8s.io']);
  assert.deepEqual(tunnelledProtocols(['v4.channel.k8s.io', 'SPDY/3.1+other']), []);
});

for (const [query, message] of [
  ['', 'query parameter "port" is required'],
  ['port=', 'query parameter "port" cannot be empty'],
  ['port=80,x', 'unable to parse "80,x" as a port: strconv.ParseUint: parsing "x": invalid syntax'],
  ['port=65536', 'unable to parse "65536" as a port: strconv.ParseUint: parsing "65536": value out of range'],
  ['port=0', 'port "0" must be > 0'],
] as const) {
  test(`forwardedPorts(): ${message}`, () => {
    assert.throws(() => forwardedPorts(new URLSearchParams(query), 'websocket'), { status: 400, message });
  });
}
