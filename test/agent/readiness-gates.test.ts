/** Readiness gates: the whole agent on virtual time with an in-memory API server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodCondition } from '../../src/api/generated/core-v1.ts';
import { toStaticPod } from '../../src/api/static-pod.ts';
import {
  createPod,
  FOREVER,
  podKey,
  podOf,
  SETTINGS,
  startAgent,
  startClusterAgent,
  type World,
} from './memory-agent.ts';

const { nodeName } = SETTINGS;
const GATE = 'example.com/balancer';
const GATED = { readinessGates: [{ conditionType: GATE }] };

/** As a controller does. */
async function set({ apiServer }: Required<World>, status: string): Promise<void> {
  const patch = { status: { conditions: [{ type: GATE, status, reason: 'Balanced' }] } };
  await apiServer.direct.patch(podKey('web'), patch, { subresource: 'status' }, FOREVER);
}

async function condition({ apiServer }: Required<World>, type: string, name = 'web') {
  const { status }: Pod = await apiServer.direct.get(podKey(name), FOREVER);
  return status?.conditions?.find((each: PodCondition) => each.type === type);
}

test('a pod becomes ready at once when its gate is set, and not ready when it is cleared', async () => {
  await using it = await startClusterAgent();
  await createPod(it, podOf('web', GATED));
  await it.host.clock.advance(1000);
  assert.equal((await condition(it, 'ContainersReady'))?.status, 'True');
  const closed = await condition(it, 'Ready');
  assert.deepEqual([closed?.status, closed?.reason], ['False', 'ReadinessGatesNotReady']);
  assert.equal(closed?.message, `corresponding condition of pod readiness gate "${GATE}" does not exist.`);

  await set(it, 'True');
  await it.host.clock.advance(10);
  assert.equal((await condition(it, 'Ready'))?.status, 'True');
  const others = await condition(it, GATE);
  assert.deepEqual([others?.status, others?.reason], ['True', 'Balanced'], 'what others wrote stays');

  await set(it, 'False');
  await it.host.clock.advance(10);
  assert.match((await condition(it, 'Ready'))?.message ?? '', /is not "True", but False$/);
  assert.equal((await condition(it, GATE))?.status, 'False');
});

test('a gate that was set while no agent ran counts from its start', async () => {
  const it = await startClusterAgent();
  await createPod(it, podOf('web', GATED));
  await it.host.clock.advance(1000);
  await it.stop();
  await set(it, 'True');

  await using next = await startAgent(it);
  next.source.set();
  await next.host.clock.advance(1000);
  assert.equal((await condition(it, 'Ready'))?.status, 'True');
  assert.equal((await condition(it, GATE))?.status, 'True');
  assert.equal(next.runtime.sandboxes.size, 1, 'and nothing was started again');
});

test('a static pod runs and never becomes ready: conditions of its mirror pod do not count', async () => {
  await using it = await startClusterAgent();
  const origin = { source: 'file', location: '/etc/web.yaml', nodeName, seen: 'now' } as const;
  it.source.set(toStaticPod(podOf('web', GATED), origin));
  await it.host.clock.advance(1000);
  const ready = await condition(it, 'Ready', `web-${nodeName}`);
  assert.deepEqual([ready?.status, ready?.reason], ['False', 'ReadinessGatesNotReady']);
  assert.equal((await condition(it, 'ContainersReady', `web-${nodeName}`))?.status, 'True');
});
