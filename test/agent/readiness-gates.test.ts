/** Readiness gates: the whole agent on virtual time with an in-memory API server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodCondition } from '../../src/api/generated/core-v1.ts';
import { toStaticPod } from '../../src/api/static-pod.ts';
import { newClusterWorld, podOf, SETTINGS, startAgent, type World } from './memory-agent.ts';

const FOREVER = new AbortController().signal;
const { nodeName } = SETTINGS;
const GATE = 'example.com/balancer';
const GATED = { readinessGates: [{ conditionType: GATE }] };

function keyOf(name: string) {
  return { resource: 'pods', namespace: 'default', name } as const;
}

async function create({ apiServer }: Required<World>): Promise<void> {
  const { spec, metadata } = podOf('web', GATED);
  await apiServer.direct.create(
    keyOf('web'),
    { metadata: { ...metadata, uid: '' }, spec: { ...spec, nodeName } },
    FOREVER,
  );
}

/** As a controller does. */
async function set({ apiServer }: Required<World>, status: string): Promise<void> {
  const patch = { status: { conditions: [{ type: GATE, status, reason: 'Balanced' }] } };
  await apiServer.direct.patch(keyOf('web'), patch, { subresource: 'status' }, FOREVER);
}

async function condition({ apiServer }: Required<World>, type: string, name = 'web') {
  const { status }: Pod = await apiServer.direct.get(keyOf(name), FOREVER);
  return status?.conditions?.find((each: PodCondition) => each.type === type);
}

test('a pod becomes ready at once when its gate is set, and not ready when it is cleared', async () => {
  const world = await newClusterWorld();
  const it = await startAgent(world);
  it.source.set();
  await create(world);
  await it.host.clock.advance(1000);
  assert.equal((await condition(world, 'ContainersReady'))?.status, 'True');
  const closed = await condition(world, 'Ready');
  assert.deepEqual([closed?.status, closed?.reason], ['False', 'ReadinessGatesNotReady']);
  assert.equal(closed?.message, `corresponding condition of pod readiness gate "${GATE}" does not exist.`);

  await set(world, 'True');
  await it.host.clock.advance(10);
  assert.equal((await condition(world, 'Ready'))?.status, 'True');
  const others = await condition(world, GATE);
  assert.deepEqual([others?.status, others?.reason], ['True', 'Balanced'], 'what others wrote stays');

  await set(world, 'False');
  await it.host.clock.advance(10);
  assert.match((await condition(world, 'Ready'))?.message ?? '', /is not "True", but False$/);
  assert.equal((await condition(world, GATE))?.status, 'False');
  await it.stop();
});

test('a gate that was set while no agent ran counts from its start', async () => {
  const world = await newClusterWorld();
  const it = await startAgent(world);
  it.source.set();
  await create(world);
  await it.host.clock.advance(1000);
  await it.stop();
  await set(world, 'True');

  const next = await startAgent(world);
  next.source.set();
  await next.host.clock.advance(1000);
  assert.equal((await condition(world, 'Ready'))?.status, 'True');
  assert.equal((await condition(world, GATE))?.status, 'True');
  assert.equal(next.runtime.sandboxes.size, 1, 'and nothing was started again');
  await next.stop();
});

test('a static pod runs and never becomes ready: conditions of its mirror pod do not count', async () => {
  const world = await newClusterWorld();
  const it = await startAgent(world);
  const origin = { source: 'file', location: '/etc/web.yaml', nodeName, seen: 'now' } as const;
  it.source.set(toStaticPod(podOf('web', GATED), origin));
  await it.host.clock.advance(1000);
  const ready = await condition(world, 'Ready', `web-${nodeName}`);
  assert.deepEqual([ready?.status, ready?.reason], ['False', 'ReadinessGatesNotReady']);
  assert.equal((await condition(world, 'ContainersReady', `web-${nodeName}`))?.status, 'True');
  await it.stop();
});
