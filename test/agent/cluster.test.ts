/** The whole agent as a cluster node, on virtual time: pods come from an in-memory API server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
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

async function create(world: Required<World>, name: string, spec: Partial<Pod['spec']> = {}): Promise<Pod> {
  return createPod(world, podOf(name, spec));
}

async function find({ apiServer }: Required<World>, name: string): Promise<Pod | undefined> {
  return apiServer.direct.get(podKey(name), FOREVER).catch(() => undefined);
}

test('a pod of this node runs, and its status reaches the API server', async () => {
  await using it = await startClusterAgent();
  await create(it, 'web');
  await it.host.clock.advance(1000);
  const status = (await find(it, 'web'))?.status;
  assert.equal(status?.phase, 'Running');
  assert.ok(status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'));
});

test('a deleted pod ends within its grace period and is removed everywhere', async () => {
  await using it = await startClusterAgent();
  it.runtime.behaviours.set('main', { onTerminate: { afterMs: 3000, code: 0 } });
  await create(it, 'web');
  await it.host.clock.advance(1000);
  await it.apiServer.direct.delete(podKey('web'), {}, FOREVER);
  await it.host.clock.advance(2999);
  assert.notEqual(await find(it, 'web'), undefined);
  await it.host.clock.advance(1000);
  assert.equal(await find(it, 'web'), undefined);
  assert.equal(it.runtime.sandboxes.size, 0);
  assert.deepEqual(it.agent.pods(), []);
});

test('a force-deleted pod is removed from the machine too', async () => {
  await using it = await startClusterAgent();
  await create(it, 'web');
  await it.host.clock.advance(1000);
  await it.apiServer.direct.delete(podKey('web'), { graceSeconds: 0 }, FOREVER);
  await it.host.clock.advance(1000);
  assert.equal(it.runtime.sandboxes.size, 0);
});

test('a restarted agent terminates the pods that were deleted meanwhile', async () => {
  const it = await startClusterAgent();
  await create(it, 'marked');
  await create(it, 'forced');
  await it.host.clock.advance(1000);
  await it.stop();
  await it.apiServer.direct.delete(podKey('marked'), {}, FOREVER);
  await it.apiServer.direct.delete(podKey('forced'), { graceSeconds: 0 }, FOREVER);

  await using next = await startAgent(it);
  next.source.set();
  await next.host.clock.advance(5000);
  assert.equal(await find(it, 'marked'), undefined);
  assert.equal(next.runtime.sandboxes.size, 0);
});

test('orphans are not touched before the API server has reported', async () => {
  const it = await startClusterAgent();
  await create(it, 'web');
  await it.host.clock.advance(1000);
  await it.stop();
  it.apiServer.faults.setOutage(true);
  await using next = await startAgent(it);
  next.source.set();
  await next.host.clock.advance(60_000);
  assert.equal(next.runtime.sandboxes.size, 1);
  it.apiServer.faults.setOutage(false);
  await next.host.clock.advance(60_000);
  assert.equal(next.agent.pods()[0]?.status.phase, 'Running');
});

test('a completed job stays completed over a restart of the agent', async () => {
  const it = await startClusterAgent();
  it.runtime.behaviours.set('main', { exits: { afterMs: 10, code: 0 } });
  await create(it, 'job', { restartPolicy: 'Never' });
  await it.host.clock.advance(1000);
  assert.equal((await find(it, 'job'))?.status?.phase, 'Succeeded');
  await it.stop();

  await using next = await startAgent(it);
  next.source.set();
  await next.host.clock.advance(5000);
  assert.equal((await find(it, 'job'))?.status?.phase, 'Succeeded');
  assert.equal(next.runtime.containers.size, 1);
});

test('a static pod has a mirror pod, which is deleted with it', async () => {
  await using it = await startClusterAgent();
  const origin = { source: 'file', location: '/etc/web.yaml', nodeName, seen: 'now' } as const;
  it.source.set(toStaticPod(podOf('web'), origin));
  await it.host.clock.advance(1000);
  const mirror = await find(it, `web-${nodeName}`);
  assert.equal(mirror?.status?.phase, 'Running');
  assert.equal(mirror.metadata.annotations?.['kubernetes.io/config.mirror'], it.agent.pods()[0]?.pod.metadata.uid);
  assert.equal(it.runtime.sandboxes.size, 1);

  await it.apiServer.direct.delete(podKey(`web-${nodeName}`), { graceSeconds: 0 }, FOREVER);
  await it.host.clock.advance(5000);
  assert.equal((await find(it, `web-${nodeName}`))?.status?.phase, 'Running', 'made again');
  assert.equal(it.runtime.sandboxes.size, 1, 'and the pod itself went on');

  it.source.set();
  await it.host.clock.advance(5000);
  assert.equal(await find(it, `web-${nodeName}`), undefined);
  assert.equal(it.runtime.sandboxes.size, 0);
});

test('the mirror of a replaced static pod is replaced with it, also while its sandbox cannot be removed', async () => {
  await using it = await startClusterAgent();
  const origin = { source: 'file', location: '/etc/web.yaml', nodeName, seen: 'now' } as const;
  const mirrored = async (): Promise<string | undefined> =>
    (await find(it, `web-${nodeName}`))?.metadata.annotations?.['kubernetes.io/config.mirror'];
  const version = (pod: Pod): Pod => toStaticPod({ ...pod, metadata: { ...pod.metadata, uid: '' } }, origin);
  const versions = [version(podOf('web')), version(podOf('web', { hostNetwork: true }))];
  for (const pod of versions) {
    it.source.set(pod);
    it.runtime.failures.next('removePodSandbox', { kind: 'delay', ms: 120_000 });
    await it.host.clock.advance(5000);
    assert.equal(await mirrored(), pod.metadata.uid);
  }
  assert.notEqual(versions[0]?.metadata.uid, versions[1]?.metadata.uid);

  it.source.set();
  await it.host.clock.advance(5000);
  assert.equal(await mirrored(), undefined, 'deleted, although the sandbox of the first version is still there');
  await it.host.clock.advance(300_000);
  assert.equal(it.runtime.sandboxes.size, 0);
});
