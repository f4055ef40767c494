import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { LoginConnection } from '../../host/login-manager.ts';
import { ensureInhibitDelay } from './inhibit-delay.ts';

const signal = new AbortController().signal;

test('ensureInhibitDelay() gives up on a logind that keeps its delay, in the words of kubelet', async () => {
  const host = createMemoryHost({ startMs: 0 });
  let reloads = 0;
  const connection: LoginConnection = {
    closed: new Promise(() => undefined),
    inhibitDelayMs: async () => 5_000,
    reloadConfiguration: async () => void reloads++,
    delayShutdown: async () => ({ release: async () => undefined }),
    close: () => undefined,
  };
  const raised = host.clock.runUntil(ensureInhibitDelay(connection, 90, host, signal));
  await assert.rejects(raised, {
    message:
      'node shutdown manager was timed out after 5 attempts waiting for logind InhibitDelayMaxSec to update to 1m30s (ShutdownGracePeriod), current value is 5s',
  });
  assert.equal(reloads, 1);
  assert.equal(host.clock.now(), 1_500);
});
