import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../../base/log.ts';
import { StatusResponse, VersionResponse } from '../../../cri/generated/runtime-v1.ts';
import { VirtualClock } from '../../../host/fake/virtual-clock.ts';
import { RuntimeReadiness } from './runtime-readiness.ts';

const READY = StatusResponse.fromPartial({
  status: { conditions: ['RuntimeReady', 'NetworkReady'].map((type) => ({ type, status: true })) },
});
const VERSION = VersionResponse.fromPartial({ runtimeName: 'test', runtimeVersion: '1' });

test('a silent runtime is reported after 30 seconds, once, and again when it responds', async () => {
  const clock = new VirtualClock();
  let answers = true;
  const runtime = {
    status: async () => (answers ? READY : Promise.reject(new Error('away'))),
    version: async () => VERSION,
  };
  const readiness = new RuntimeReadiness({ runtime, clock, log: silentLog });
  const notified: unknown[] = [];
  readiness.subscribe(() => notified.push([clock.monotonic(), ...readiness.notReadyReasons()]));
  const life = new AbortController();
  const running = readiness.run(life.signal);
  const began = clock.monotonic();
  await clock.advance(1_000);
  answers = false;
  await clock.advance(59_000);
  answers = true;
  await clock.advance(10_000);
  const after = (ms: number): number => began + ms;
  assert.deepEqual(notified.slice(0, 2), [[after(0)], [after(30_000), 'container runtime is down']]);
  assert.equal(notified.length, 3);
  assert.equal((notified[2] as unknown[]).length, 1, 'nothing is wrong any more');
  life.abort();
  await running.catch(() => undefined);
});
