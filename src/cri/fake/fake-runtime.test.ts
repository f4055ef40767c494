import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { CriError } from '../cri-error.ts';
import {
  ContainerConfig,
  ContainerEventType,
  ContainerState,
  type ContainerStatus,
  ImageSpec,
  PodSandboxConfig,
} from '../generated/runtime-v1.ts';
import type { ContainerBehaviour } from './behaviour.ts';
import { createFakeRuntime } from './fake-runtime.ts';

const signal = new AbortController().signal;
const START_MS = 1_000_000;

function world(seed = 1) {
  const clock = new VirtualClock({ startMs: START_MS });
  const fake = createFakeRuntime({ clock, random: new SeededRandom(seed) });
  const { runtime, images } = fake.cri;
  fake.addImage('localhost/demo:1');
  const run = async (name: string) => {
    const config = PodSandboxConfig.fromPartial({ metadata: { name, uid: name, namespace: 'default' } });
    return (await runtime.runPodSandbox({ config, runtimeHandler: '' }, signal)).podSandboxId;
  };
  const start = async (podSandboxId: string, name: string, behaviour: ContainerBehaviour = {}) => {
    fake.behaviours.set(name, behaviour);
    const config = ContainerConfig.fromPartial({ metadata: { name }, image: { image: 'localhost/demo:1' } });
    const request = { podSandboxId, config, sandboxConfig: undefined };
    const { containerId } = await runtime.createContainer(request, signal);
    await runtime.startContainer({ containerId }, signal);
    return containerId;
  };
  const status = async (containerId: string): Promise<ContainerStatus> => {
    const answer = await runtime.containerStatus({ containerId, verbose: false }, signal);
    assert.ok(answer.status);
    return answer.status;
  };
  const pull = (image: string) =>
    images.pullImage({ image: ImageSpec.fromPartial({ image }), auth: undefined, sandboxConfig: undefined }, signal);
  return { clock, fake, runtime, images, run, start, status, pull };
}

const atMs = (nanoseconds: bigint) => Number(nanoseconds / 1_000_000n) - START_MS;

test('a program exits after its configured time', async () => {
  const { clock, run, start, status } = world();
  const id = await start(await run('pod'), 'job', { exits: { afterMs: 5000, code: 2 } });
  await clock.advance(4999);
  assert.equal((await status(id)).state, ContainerState.CONTAINER_RUNNING);
  await clock.advance(1);
  const { state, exitCode, startedAt, finishedAt } = await status(id);
  assert.deepEqual([state, exitCode, atMs(startedAt), atMs(finishedAt)], [ContainerState.CONTAINER_EXITED, 2, 0, 5000]);
});

test('a program killed for its memory has the reason OOMKilled', async () => {
  const { clock, run, start, status } = world();
  const id = await start(await run('pod'), 'hog', { exits: { afterMs: 1, code: 137, reason: 'OOMKilled' } });
  await clock.advance(1);
  assert.deepEqual([(await status(id)).exitCode, (await status(id)).reason], [137, 'OOMKilled']);
});

test('a program still exits after the caller of StopContainer aborts', async () => {
  const { clock, runtime, run, start, status } = world();
  const id = await start(await run('pod'), 'slow', { onTerminate: { afterMs: 3000, code: 9 } });
  const controller = new AbortController();
  const reason = new Error('no patience');
  const stopping = assert.rejects(runtime.stopContainer({ containerId: id, timeout: 10n }, controller.signal), reason);
  await clock.advance(1000);
  controller.abort(reason);
  await stopping;
  await clock.advance(2000);
  assert.deepEqual([(await status(id)).exitCode, atMs((await status(id)).finishedAt)], [9, 3000]);
});

test('a second stop with a shorter grace period shortens the first', async () => {
  const { clock, runtime, run, start, status } = world();
  const containerId = await start(await run('pod'), 'stubborn', { onTerminate: 'ignore' });
  const first = runtime.stopContainer({ containerId, timeout: 30n }, signal);
  await clock.advance(1000);
  await clock.runUntil(runtime.stopContainer({ containerId, timeout: 2n }, signal));
  await first;
  assert.deepEqual([(await status(containerId)).exitCode, atMs((await status(containerId)).finishedAt)], [137, 3000]);
});

test('a command exits with its container', async () => {
  const { clock, runtime, run, start } = world();
  const containerId = await start(await run('pod'), 'c', { exec: () => ({ afterMs: 60_000, stdout: 'never' }) });
  const running = runtime.execSync({ containerId, cmd: ['x'], timeout: 0n }, signal);
  await clock.advance(1000);
  await runtime.stopContainer({ containerId, timeout: 0n }, signal);
  assert.deepEqual(await running, { stdout: new Uint8Array(), stderr: new Uint8Array(), exitCode: 137 });
});

test('a lost sandbox keeps its containers until it is stopped', async () => {
  const { fake, runtime, run, start, status } = world();
  const pod = await run('pod');
  const id = await start(pod, 'c');
  fake.loseSandbox(pod);
  assert.equal(fake.sandboxes.get(pod)?.state, 'notReady');
  assert.equal((await status(id)).state, ContainerState.CONTAINER_RUNNING);
  await runtime.stopPodSandbox({ podSandboxId: pod }, signal);
  assert.equal((await status(id)).exitCode, 137);
});

test('an address is free again once its sandbox is stopped', async () => {
  const { fake, runtime, run } = world();
  const [first, second] = [await run('a'), await run('b')];
  assert.deepEqual(
    [first, second].map((id) => fake.sandboxes.get(id)?.ip),
    ['10.244.0.2', '10.244.0.3'],
  );
  await runtime.stopPodSandbox({ podSandboxId: first }, signal);
  assert.equal(fake.sandboxes.get(await run('c'))?.ip, '10.244.0.2');
});

test('a pull takes pullMs, and adds the image under its full name', async () => {
  const { clock, fake, images, pull } = world();
  fake.registry.set('busybox:1', { pullMs: 2000, sizeBytes: 5, uid: 7 });
  const begun = clock.monotonic();
  const { imageRef } = await clock.runUntil(pull('busybox:1'));
  assert.equal(clock.monotonic() - begun, 2000);
  const { image } = await images.imageStatus(
    { image: ImageSpec.fromPartial({ image: imageRef }), verbose: false },
    signal,
  );
  assert.deepEqual(
    { tags: image?.repoTags, size: image?.size, uid: image?.uid },
    { tags: ['docker.io/library/busybox:1'], size: 5n, uid: { value: 7n } },
  );
});

test('a pull fails with the error of the registry', async () => {
  const { fake, pull } = world();
  fake.registry.set('localhost/broken:1', { error: new CriError('Unknown', 'no space left on device') });
  fake.registry.set('localhost/secret:1', { allows: (auth) => auth?.username === 'me' });
  await assert.rejects(pull('localhost/broken:1'), { code: 'Unknown', message: 'no space left on device' });
  await assert.rejects(pull('localhost/secret:1'), { message: /pull access denied/ });
  await assert.rejects(pull('localhost/absent:1'), { code: 'NotFound' });
});

test('a moved tag names only the new image', async () => {
  const { fake, images } = world();
  const before = fake.addImage('localhost/app:1', { content: 'one' });
  const after = fake.addImage('localhost/app:1', { content: 'two' });
  const all = (await images.listImages({ filter: undefined }, signal)).images;
  assert.deepEqual(all.find(({ id }) => id === before)?.repoTags, []);
  assert.deepEqual(all.find(({ id }) => id === after)?.repoTags, ['localhost/app:1']);
});

test('injected failures happen before the effect, after it, late, or instead of a response', async () => {
  const { clock, fake, runtime, run } = world();
  const lost = new CriError('Unavailable', 'connection lost');
  fake.failures.next('runPodSandbox', { kind: 'before', error: lost });
  fake.failures.next('runPodSandbox', { kind: 'after', error: lost });
  await assert.rejects(run('a'), lost);
  assert.equal(fake.sandboxes.size, 0);
  await assert.rejects(run('a'), lost);
  assert.equal(fake.sandboxes.size, 1);
  await assert.rejects(run('a'), /is reserved for/);

  fake.failures.next('stopPodSandbox', { kind: 'after', error: lost, delayMs: 300 });
  const [podSandboxId = ''] = fake.sandboxes.keys();
  await assert.rejects(clock.runUntil(runtime.stopPodSandbox({ podSandboxId }, signal)), lost);
  assert.deepEqual([clock.monotonic(), fake.sandboxes.get(podSandboxId)?.state], [300, 'notReady']);

  fake.failures.next('version', { kind: 'delay', ms: 700 });
  await clock.runUntil(runtime.version({ version: '' }, signal));
  assert.equal(clock.monotonic(), 1000);

  fake.failures.next('version', { kind: 'hang' });
  const controller = new AbortController();
  const hanging = assert.rejects(runtime.version({ version: '' }, controller.signal), /enough/);
  await clock.advance(1000);
  controller.abort(new Error('enough'));
  await hanging;
});

test('everyCall() decides for each call without a queued failure', async () => {
  const { fake, runtime } = world();
  const down = new CriError('Unavailable', 'down');
  fake.failures.everyCall((method) => (method === 'version' ? undefined : { kind: 'before', error: down }));
  await runtime.version({ version: '' }, signal);
  await assert.rejects(runtime.listContainers({ filter: undefined }, signal), down);
});

test('Status returns the conditions that were set', async () => {
  const { fake, runtime } = world();
  fake.setCondition('NetworkReady', { status: false, reason: 'NetworkPluginNotReady', message: 'no CNI' });
  const { status } = await runtime.status({ verbose: false }, signal);
  assert.deepEqual(status?.conditions, [
    { type: 'RuntimeReady', status: true, reason: '', message: '' },
    { type: 'NetworkReady', status: false, reason: 'NetworkPluginNotReady', message: 'no CNI' },
  ]);
});

test('requests and responses are copies of the stored objects', async () => {
  const { fake, runtime } = world();
  const config = PodSandboxConfig.fromPartial({
    metadata: { name: 'p', uid: 'u', namespace: 'n' },
    labels: { a: '1' },
  });
  const { podSandboxId } = await runtime.runPodSandbox({ config, runtimeHandler: '' }, signal);
  config.labels['a'] = '2';
  const { items } = await runtime.listPodSandbox({ filter: undefined }, signal);
  for (const { labels } of items) labels['a'] = '3';
  assert.equal(fake.sandboxes.get(podSandboxId)?.config.labels['a'], '1');
});

test('the same seed reproduces a run', async () => {
  const record = async (seed: number) => {
    const { clock, fake, runtime, run, start } = world(seed);
    const events: string[] = [];
    const controller = new AbortController();
    const watching = (async () => {
      for await (const event of runtime.getContainerEvents({}, controller.signal)) {
        events.push(`${event.createdAt} ${event.containerId} ${event.containerEventType}`);
      }
    })();
    const pod = await run('pod');
    await start(pod, 'a', { exits: { afterMs: 10, code: 1 } });
    await start(pod, 'b', { exits: { afterMs: 10, code: 1 } });
    await clock.advance(100);
    await runtime.removePodSandbox({ podSandboxId: pod }, signal);
    await clock.advance(1);
    controller.abort(new Error('done'));
    await assert.rejects(watching, /done/);
    assert.equal(fake.containers.size, 0);
    return events;
  };
  const first = await record(7);
  assert.equal(first.filter((line) => line.endsWith(` ${ContainerEventType.CONTAINER_DELETED_EVENT}`)).length, 3);
  assert.deepEqual(await record(7), first);
  assert.notDeepEqual(await record(8), first);
});
