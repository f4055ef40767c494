import assert from 'node:assert/strict';
import { tracingChannel } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { RPC_CHANNEL } from '../cri/instrument.ts';
import type { Clock } from '../host/clock.ts';
import { logCriCalls } from './cri-log.ts';

test('logCriCalls() logs each call without its request', async (t) => {
  let now = 0;
  const clock: Pick<Clock, 'monotonic'> = { monotonic: () => now };
  const lines: unknown[] = [];
  const stop = logCriCalls({ log: { debug: (message, fields) => lines.push([message, fields]) }, clock });
  t.after(stop);
  const channel = tracingChannel<object>(RPC_CHANNEL);
  const containerId = '0123456789abcdef';
  const call = async (): Promise<void> => {
    now += 12;
  };
  const failing = async (): Promise<void> => {
    throw new Error('container not found');
  };
  await channel.tracePromise(call, { method: 'StartContainer', request: { containerId, env: ['PASSWORD=x'] } });
  await channel
    .tracePromise(failing, { method: 'StopContainer', request: { containerId } })
    .catch(() => 'logged as well');
  assert.deepEqual(lines, [
    ['runtime call', { method: 'StartContainer', containerId: '0123456789abc', ms: 12 }],
    ['runtime call', { method: 'StopContainer', containerId: '0123456789abc', ms: 0, error: 'container not found' }],
  ]);
});
