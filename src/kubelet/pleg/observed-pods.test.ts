import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import { createFakeRuntime } from '../../cri/fake/fake-runtime.ts';
import {
  ContainerConfig,
  CreateContainerRequest,
  PodSandboxConfig,
  RunPodSandboxRequest,
} from '../../cri/generated/runtime-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { ObservedPods } from './observed-pods.ts';

const LIFE = new AbortController().signal;

function labels(uid: string): Record<string, string> {
  return {
    'io.kubernetes.pod.uid': uid,
    'io.kubernetes.pod.name': uid,
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.container.name': 'main',
  };
}

function setUp() {
  const host = createMemoryHost();
  const fake = createFakeRuntime(host);
  fake.addImage('busybox:1');
  const { runtime } = fake.cri;
  const changed: string[] = [];
  const calls: string[] = [];
  fake.failures.everyCall((method) => {
    calls.push(method);
    return undefined;
  });
  const observed = new ObservedPods({ ...host, runtime, onChange: (uid) => changed.push(uid) }, LIFE);
  return {
    ...host,
    fake,
    runtime,
    observed,
    changed,
    calls,
    async makePod(uid: string) {
      const metadata = { name: uid, namespace: 'default', uid, attempt: 0 };
      const config = PodSandboxConfig.fromPartial({ metadata, labels: labels(uid) });
      const { podSandboxId } = await runtime.runPodSandbox(RunPodSandboxRequest.fromPartial({ config }), LIFE);
      const container = ContainerConfig.fromPartial({
        metadata: { name: 'main', attempt: 0 },
        image: { image: 'busybox:1' },
        labels: labels(uid),
      });
      const request = CreateContainerRequest.fromPartial({ podSandboxId, config: container, sandboxConfig: config });
      const { containerId } = await runtime.createContainer(request, LIFE);
      await runtime.startContainer({ containerId }, LIFE);
      return { podSandboxId, containerId };
    },
    states: () => Object.fromEntries([...observed.all].map(([uid, pod]) => [uid, pod.containers[0]?.state])),
  };
}

test('a relist finds every pod and reports each once', async () => {
  const it = setUp();
  await it.makePod('a');
  await it.makePod('b');
  await it.observed.relist(LIFE);
  assert.deepEqual(it.states(), { a: 'running', b: 'running' });
  await it.observed.relist(LIFE);
  assert.deepEqual(new Set(it.changed), new Set(['a', 'b']));
  assert.equal(it.changed.length, 2);
});

test('a relist inspects only changed pods', async () => {
  const it = setUp();
  await it.makePod('a');
  await it.makePod('b');
  await it.observed.relist(LIFE);
  it.calls.length = 0;
  await it.observed.relist(LIFE);
  assert.deepEqual(it.calls, ['listContainers', 'listPodSandbox']);
});

test('an event reports the pod that it changed', async () => {
  const it = setUp();
  const { containerId } = await it.makePod('a');
  await it.makePod('b');
  await it.observed.relist(LIFE);
  it.changed.length = 0;
  it.fake.exitContainer(containerId, { exitCode: 1 });
  await it.observed.handleEvent({ kind: 'stopped', id: containerId }, LIFE);
  assert.deepEqual(it.states(), { a: 'exited', b: 'running' });
  assert.deepEqual(it.changed, ['a']);
});

test('an event without a change is not reported', async () => {
  const it = setUp();
  const { containerId } = await it.makePod('a');
  await it.observed.relist(LIFE);
  it.changed.length = 0;
  await it.observed.handleEvent({ kind: 'started', id: containerId }, LIFE);
  assert.deepEqual(it.changed, []);
});

test('a stop event before its container is observed is not missed', async () => {
  const it = setUp();
  const { containerId } = await it.makePod('a');
  await it.observed.handleEvent({ kind: 'stopped', id: containerId }, LIFE);
  let inspections = 0;
  it.fake.failures.everyCall((method) => {
    // The first inspection still sees it running; it has exited before the second one.
    if (method === 'listPodSandbox' && ++inspections === 2) it.fake.exitContainer(containerId, { exitCode: 0 });
    return undefined;
  });
  await it.observed.refresh('a', LIFE);
  assert.equal(inspections, 2);
  assert.deepEqual(it.states(), { a: 'exited' });
});

test('callers during an inspection share the next one, which begins after their calls', async () => {
  const it = setUp();
  const { containerId } = await it.makePod('a');
  it.fake.failures.next('listContainers', { kind: 'delay', ms: 100 });
  const first = it.observed.refresh('a', LIFE);
  await it.clock.advance(0);
  it.fake.exitContainer(containerId, { exitCode: 1 });
  const [second, third] = [it.observed.refresh('a', LIFE), it.observed.refresh('a', LIFE)];
  await it.clock.advance(100);
  await first;
  assert.equal((await second)?.containers[0]?.state, 'exited');
  assert.equal(await second, await third);
});

test('an aborted caller does not abort the inspection', async () => {
  const it = setUp();
  await it.makePod('a');
  it.fake.failures.next('listContainers', { kind: 'delay', ms: 100 });
  const impatient = new AbortController();
  const given = it.observed.refresh('a', impatient.signal);
  impatient.abort(new Error('enough'));
  await assert.rejects(given, /enough/);
  await it.clock.advance(100);
  assert.deepEqual(it.states(), { a: 'running' });
});

test('a failed inspection keeps the old value, and getCurrent() inspects again', async () => {
  const it = setUp();
  const { containerId } = await it.makePod('a');
  await it.observed.relist(LIFE);
  it.fake.exitContainer(containerId, { exitCode: 1 });
  it.fake.failures.next('listContainers', { kind: 'before', error: new CriError('Unavailable', 'away') });
  await assert.rejects(it.observed.refresh('a', LIFE), /away/);
  assert.deepEqual(it.states(), { a: 'running' });
  assert.equal((await it.observed.getCurrent('a', LIFE))?.containers[0]?.state, 'exited');
});

test('a pod that the runtime no longer has is forgotten', async () => {
  const it = setUp();
  const { podSandboxId } = await it.makePod('a');
  await it.observed.relist(LIFE);
  await it.runtime.removePodSandbox({ podSandboxId }, LIFE);
  await it.observed.handleEvent({ kind: 'deleted', id: podSandboxId }, LIFE);
  assert.deepEqual(it.states(), {});
  assert.deepEqual(it.changed, ['a', 'a']);
});

test('an exited container is not inspected again', async () => {
  const it = setUp();
  const { containerId } = await it.makePod('a');
  it.fake.exitContainer(containerId, { exitCode: 1 });
  await it.observed.refresh('a', LIFE);
  it.calls.length = 0;
  await it.observed.refresh('a', LIFE);
  assert.deepEqual(it.calls, ['listContainers', 'listPodSandbox', 'podSandboxStatus']);
});

test('beginRelist() does not wait for a pod whose inspection hangs', async () => {
  const it = setUp();
  await it.makePod('a');
  it.fake.failures.next('podSandboxStatus', { kind: 'hang' });
  await it.observed.beginRelist(LIFE);
  await it.makePod('b');
  await it.observed.beginRelist(LIFE);
  await it.clock.advance(0);
  assert.deepEqual(it.states(), { b: 'running' });
});

test('getCurrent() inspects a pod whose last inspection failed', async () => {
  const it = setUp();
  const { containerId } = await it.makePod('a');
  await it.observed.refresh('a', LIFE);
  it.fake.exitContainer(containerId, { exitCode: 1 });
  it.fake.failures.next('listContainers', { kind: 'before', error: new CriError('Unknown', 'simulated') });
  await assert.rejects(it.observed.refresh('a', LIFE));
  assert.deepEqual(it.states(), { a: 'running' });
  assert.equal((await it.observed.getCurrent('a', LIFE))?.containers[0]?.state, 'exited');
});
