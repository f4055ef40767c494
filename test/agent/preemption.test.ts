/** Critical pods that preempt others, on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import { toStaticPod } from '../../src/api/static-pod.ts';
import { type ClusterAgent, createPod, FOREVER, podKey, podOf, startClusterAgent } from './memory-agent.ts';

/** The machine in memory has one CPU. */
function withCpus(name: string, cpu: string, spec: Partial<Pod['spec']> = {}): Pod {
  const container = { name: 'main', image: 'busybox:1', resources: { requests: { cpu } } };
  return podOf(name, { containers: [container], ...spec });
}

const critical = { priority: 2_000_000_000 };

async function statusOf({ apiServer }: ClusterAgent, name: string) {
  return (await apiServer.direct.get(podKey(name), FOREVER)).status;
}

function running({ runtime }: ClusterAgent): string[] {
  const live = [...runtime.containers.values()].filter(({ state }) => state.phase === 'running');
  return live.map(({ config }) => config.labels['io.kubernetes.pod.name'] ?? '').sort((a, b) => a.localeCompare(b));
}

test('a critical pod starts after the pod that it preempts has ended, and other pods do not wait', async () => {
  await using it = await startClusterAgent();
  it.runtime.behaviours.set('main', { onTerminate: { afterMs: 5_000, code: 0 } });
  await createPod(it, withCpus('victim', '800m'));
  await it.host.clock.advance(1_000);
  await createPod(it, withCpus('critical', '500m', critical));
  await createPod(it, withCpus('small', '0'));
  await it.host.clock.advance(4_000);
  assert.deepEqual(running(it), ['small', 'victim']);
  await it.host.clock.advance(2_000);
  assert.deepEqual(running(it), ['critical', 'small']);

  const status = await statusOf(it, 'victim');
  assert.deepEqual(
    [status?.phase, status?.reason, status?.message],
    ['Failed', 'Preempting', 'Preempted in order to admit critical pod'],
  );
  const { lastTransitionTime: _, ...condition } =
    status?.conditions?.find(({ type }) => type === 'DisruptionTarget') ?? {};
  assert.deepEqual(condition, {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'TerminationByKubelet',
    message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
    observedGeneration: 1,
  });
  const events = it.agent
    .pods()
    .flatMap(({ pod, events: all }) => all.map(({ reason }) => `${pod.metadata.name} ${reason}`));
  assert.ok(events.includes('victim Preempting'), events.join());
});

test('a static pod preempts a pod of the API server', async () => {
  await using it = await startClusterAgent();
  await createPod(it, withCpus('victim', '800m'));
  await it.host.clock.advance(1_000);
  it.source.set(toStaticPod(withCpus('proxy', '500m'), { nodeName: 'box', source: 'file', location: '/m', seen: '' }));
  await it.host.clock.advance(3_000);
  assert.deepEqual(running(it), ['proxy-box']);
  assert.equal((await statusOf(it, 'victim'))?.reason, 'Preempting');
});

test('a critical pod that is deleted while it waits never starts', async () => {
  await using it = await startClusterAgent();
  it.runtime.behaviours.set('main', { onTerminate: { afterMs: 5_000, code: 0 } });
  await createPod(it, withCpus('victim', '800m'));
  await it.host.clock.advance(1_000);
  await createPod(it, withCpus('critical', '500m', critical));
  await it.host.clock.advance(1_000);
  await it.apiServer.direct.delete(podKey('critical'), {}, FOREVER);
  await it.host.clock.advance(10_000);
  assert.deepEqual(running(it), []);
  await assert.rejects(it.apiServer.direct.get(podKey('critical'), FOREVER));
});

test('a victim that does not end holds the critical pod up for one and a half grace periods', async () => {
  await using it = await startClusterAgent();
  it.runtime.failures.everyCall((method) => (method === 'stopContainer' ? { kind: 'hang' } : undefined));
  await createPod(it, withCpus('victim', '800m', { terminationGracePeriodSeconds: 20 }));
  await it.host.clock.advance(1_000);
  await createPod(it, withCpus('critical', '500m', critical));
  await it.host.clock.advance(28_000);
  assert.deepEqual(running(it), ['victim']);
  await it.host.clock.advance(4_000);
  assert.deepEqual(running(it), ['critical', 'victim']);
});
