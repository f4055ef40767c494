import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodCondition, ResourceRequirements } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { PodEvents } from '../events/pod-events.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import type { HostFacts } from './host-facts.ts';
import { PodResizes, type PodResizesDeps } from './pod-resizes.ts';
import { ResourceRecords } from './resource-records.ts';

const SMALL: ResourceRequirements = { requests: { cpu: '50m', memory: '16Mi' }, limits: { memory: '64Mi' } };
const LARGE: ResourceRequirements = { requests: { cpu: '70m', memory: '16Mi' }, limits: { memory: '64Mi' } };
const NO_CPU = { reason: 'OutOfcpu', message: 'no CPU' };
const NOW = '2026-01-01T00:00:00Z';
const V2 = { cgroupVersion: 'v2', swapBytes: 2 ** 30 } as HostFacts; // the facts that swap depends on

function podWith(resources: ResourceRequirements, generation = 1): Pod {
  return examplePod({ metadata: { generation }, container: { resources } });
}

/** A running pod with small resources, on a node with room for more. */
async function node(changes: Partial<PodResizesDeps> = {}) {
  const { fs, clock } = createMemoryHost();
  const events = new PodEvents(clock);
  const recorded: string[] = [];
  events.subscribe((_, { type, reason, message }) => recorded.push(`${type} ${reason} ${message}`));
  const records = await ResourceRecords.read({ fs, log: silentLog, settings: { rootDir: '/root' } });
  const settings = { memoryCapacityBytes: 2 ** 30 };
  const parts = { records, events, clock, settings, hostFacts: V2, admit: () => undefined, ...changes };
  const resizes = new PodResizes(parts);
  const small = podWith(SMALL);
  resizes.onPodAdmitted(small);
  resizes.onPodUpdated(small, true);
  await records.prepare(small);
  const ask = (pod: Pod): readonly Pod[] => {
    resizes.onPodUpdated(pod, false);
    return resizes.retryPending(new Map([['u1', pod]]), [small]);
  };
  return { resizes, records, clock, recorded, small, ask };
}

function condition(given: Partial<PodCondition> & Pick<PodCondition, 'type'>): PodCondition {
  return { status: 'True', observedGeneration: 2, lastProbeTime: NOW, lastTransitionTime: NOW, ...given };
}

const RUNNING = { containers: [{ name: 'web', state: 'running' }] } as unknown as ObservedPod; // the fields that a resize reads

const SUMMARY =
  '{"containers":[{"name":"web","resources":{"limits":{"memory":"64Mi"},"requests":{"cpu":"70m","memory":"16Mi"}}}],"generation":2}';

test('a pod that asks for its allocation is not pending', async () => {
  const { resizes, small } = await node();
  assert.equal(resizes.hasPending, false);
  assert.deepEqual(resizes.retryPending(new Map([['u1', small]]), [small]), []);
});

test('a resize is allocated, and in progress until the containers have the resources', async () => {
  const { resizes, records, clock, recorded, ask } = await node();
  const large = podWith(LARGE, 2);
  assert.deepEqual(ask(large), [large]);
  assert.deepEqual(resizes.conditions('u1'), [condition({ type: 'PodResizeInProgress' })]);
  await clock.advance(5000);
  resizes.checkProgress(large, RUNNING);
  assert.deepEqual(resizes.conditions('u1'), [condition({ type: 'PodResizeInProgress' })]);
  const [web] = large.spec.containers;
  assert.ok(web);
  await records.recordActuated(large, web);
  resizes.checkProgress(large, RUNNING);
  resizes.checkProgress(large, RUNNING);
  assert.deepEqual(resizes.conditions('u1'), []);
  assert.deepEqual(recorded, [
    `Normal ResizeStarted Pod resize started: ${SUMMARY}`,
    `Normal ResizeCompleted Pod resize completed: ${SUMMARY}`,
  ]);
});

test('a pod keeps its resources while the node has no room, and one event is recorded', async () => {
  let rejection: typeof NO_CPU | undefined = NO_CPU;
  const { resizes, clock, recorded, small, ask } = await node({ admit: () => rejection });
  const large = podWith(LARGE, 2);
  const asIs = [{ ...large, spec: small.spec }];
  const waits = condition({ type: 'PodResizePending', reason: 'Deferred', message: 'no CPU' });
  assert.deepEqual(ask(large), asIs);
  assert.deepEqual(resizes.conditions('u1'), [waits]);
  const again = (): readonly Pod[] => resizes.retryPending(new Map([['u1', large]]), [small]);
  await clock.advance(5000);
  assert.deepEqual(again(), []);
  assert.deepEqual(resizes.conditions('u1'), [waits]);
  rejection = { ...NO_CPU, message: 'still no CPU' };
  assert.deepEqual(again(), asIs);
  const lastProbeTime = '2026-01-01T00:00:05Z';
  assert.deepEqual(resizes.conditions('u1'), [{ ...waits, message: 'still no CPU', lastProbeTime }]);
  rejection = undefined;
  assert.deepEqual(again(), [large]);
  const begun = { lastProbeTime, lastTransitionTime: lastProbeTime };
  assert.deepEqual(resizes.conditions('u1'), [condition({ type: 'PodResizeInProgress', ...begun })]);
  assert.deepEqual(recorded, [
    `Warning ResizeDeferred Pod resize OutOfcpu: ${SUMMARY.slice(0, -1)},"error":"no CPU"}`,
    `Normal ResizeStarted Pod resize started: ${SUMMARY}`,
  ]);
});

const EXCLUSIVE: Record<string, { manager: 'cpu' | 'memory'; to: ResourceRequirements; message: string | undefined }> =
  {
    CPUs: {
      manager: 'cpu',
      to: guaranteed('70m', '16Mi'),
      message: 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
    },
    memory: {
      manager: 'memory',
      to: guaranteed('50m', '32Mi'),
      message: 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
    },
    'the other resource': { manager: 'cpu', to: guaranteed('50m', '32Mi'), message: undefined },
  };

function guaranteed(cpu: string, memory: string): ResourceRequirements {
  return { requests: { cpu, memory }, limits: { cpu, memory } };
}

for (const [what, { manager, to, message }] of Object.entries(EXCLUSIVE)) {
  test(`a guaranteed pod with ${manager} of its own: a resize of ${what}`, async () => {
    const staticManagers = { cpu: false, memory: false, [manager]: true };
    const { resizes, records } = await node({ settings: { memoryCapacityBytes: 2 ** 30, staticManagers } });
    const before = podWith(guaranteed('50m', '16Mi'));
    records.allocate(before);
    const after = podWith(to, 2);
    resizes.onPodUpdated(after, false);
    resizes.retryPending(new Map([['u1', after]]), [before]);
    const pending = resizes.conditions('u1').find(({ type }) => type === 'PodResizePending');
    assert.deepEqual(
      [pending?.reason, pending?.message],
      message === undefined ? [undefined, undefined] : ['Infeasible', message],
    );
  });
}

test('a resize waits for pods that end, without a condition', async () => {
  let isFull = true;
  const { resizes, recorded, ask } = await node({ admit: () => (isFull ? 'wait' : undefined) });
  assert.deepEqual(ask(podWith(LARGE, 2)), []);
  assert.deepEqual([resizes.hasPending, resizes.conditions('u1'), recorded], [true, [], []]);
  isFull = false;
  assert.equal(ask(podWith(LARGE, 2)).length, 1);
});

test('a resize that is reverted is no longer pending', async () => {
  const { resizes, ask } = await node({ admit: () => NO_CPU });
  ask(podWith(LARGE, 2));
  resizes.onPodUpdated(podWith(SMALL, 3), false);
  assert.equal(resizes.hasPending, false);
  assert.deepEqual(resizes.conditions('u1'), []);
});

test('a resize of a container with swap is infeasible and not retried', async () => {
  const { resizes, recorded, ask } = await node({
    settings: { memoryCapacityBytes: 2 ** 30, swapBehavior: 'LimitedSwap' },
  });
  const { limits } = SMALL;
  ask(podWith({ limits, requests: { cpu: '50m', memory: '32Mi' } }, 2));
  const message = 'In-place resize of containers with swap is not supported.';
  const infeasible = condition({ type: 'PodResizePending', reason: 'Infeasible', message });
  assert.deepEqual(resizes.conditions('u1'), [infeasible]);
  assert.equal(resizes.hasPending, false);
  assert.match(recorded[0] ?? '', /^Warning ResizeInfeasible Pod resize Infeasible: /);
  ask(podWith({ limits: { memory: '80Mi' }, requests: { cpu: '50m', memory: '16Mi' } }, 3));
  assert.deepEqual(resizes.conditions('u1'), [condition({ type: 'PodResizeInProgress', observedGeneration: 3 })]);
});

test('an error is recorded once, and cleared with the end of the resize', async () => {
  const { resizes, recorded, ask } = await node();
  const large = podWith(LARGE, 2);
  ask(large);
  for (const _ of [1, 2]) resizes.onResizeFailed(large, 'no room');
  const failing = condition({ type: 'PodResizeInProgress', reason: 'Error', message: 'no room' });
  resizes.checkProgress(large, RUNNING);
  assert.deepEqual(resizes.conditions('u1'), [failing]);
  assert.equal(recorded.length, 2);
  assert.equal(recorded[1], `Warning ResizeError Pod resize error: ${SUMMARY.slice(0, -1)},"error":"no room"}`);
});

test('the next process continues a pending resize without repeating its event', async () => {
  const { resizes, recorded } = await node({ admit: () => NO_CPU });
  const waits = condition({ type: 'PodResizePending', reason: 'Deferred', message: 'no CPU' });
  const large = { ...podWith(LARGE, 2), status: { conditions: [waits, condition({ type: 'Ready' })] } };
  resizes.onPodUpdated(large, true);
  assert.equal(resizes.hasPending, true);
  assert.deepEqual(resizes.retryPending(new Map([['u1', large]]), [large]), []);
  assert.deepEqual(resizes.conditions('u1'), [waits]);
  assert.deepEqual(recorded, []);
});

test('the next process completes a resize whose containers have their resources', async () => {
  const { resizes, recorded, small } = await node();
  const underWay = condition({ type: 'PodResizeInProgress', observedGeneration: 1 });
  const pod = { ...small, status: { conditions: [underWay] } };
  resizes.onPodUpdated(pod, true);
  assert.deepEqual(resizes.conditions('u1'), [underWay]);
  resizes.checkProgress(pod, RUNNING);
  assert.deepEqual(resizes.conditions('u1'), []);
  assert.match(recorded[0] ?? '', /^Normal ResizeCompleted .*"generation":1\}$/);
});

test('a pod that left its source is neither pending nor counted', async () => {
  const { resizes, small, ask } = await node({ admit: () => NO_CPU });
  ask(podWith(LARGE, 2));
  resizes.forget('u1');
  resizes.onPodEnded('u1');
  assert.equal(resizes.hasPending, false);
  assert.deepEqual(resizes.conditions('u1'), []);
  assert.equal(resizes.allocated(small), small);
});

test('a burstable pod is resized beside managers that assign resources', async () => {
  const staticManagers = { cpu: true, memory: true };
  const { resizes, ask } = await node({ settings: { memoryCapacityBytes: 2 ** 30, staticManagers } });
  assert.equal(ask(podWith(LARGE, 2)).length, 1);
  assert.deepEqual(
    resizes.conditions('u1').map(({ type }) => type),
    ['PodResizeInProgress'],
  );
});
