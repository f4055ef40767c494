/** Image volumes of pods: the whole agent on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod, VolumeMount } from '../../src/api/generated/core-v1.ts';
import { CriError } from '../../src/cri/cri-error.ts';
import { createPod, FOREVER, type MemoryAgent, newWorld, podOf, startAgent } from './memory-agent.ts';
import { newPrivateWorld, PRIVATE_IMAGE } from './private-image.ts';

const MODEL = 'registry.io/model:1';

function container(name: string, ...mounts: readonly Partial<VolumeMount>[]): Container {
  const volumeMounts = mounts.map((mount) => ({ name: 'model', mountPath: '/model', ...mount }));
  return { name, image: 'busybox:1', volumeMounts };
}

function modelPod(containers: readonly Container[], pullPolicy = 'IfNotPresent'): Pod {
  const volumes = [{ name: 'model', image: { reference: MODEL, pullPolicy } }];
  return podOf('web', { dnsPolicy: 'Default', containers, volumes });
}

/** `type reason message (field path)` of all events, in order. */
function eventsOf({ agent }: MemoryAgent): string[] {
  const events = agent.pods()[0]?.events ?? [];
  return events.map(({ type, reason, message, fieldPath = 'pod' }) => `${type} ${reason} ${message} (${fieldPath})`);
}

function waitingOf({ agent }: MemoryAgent) {
  return agent.pods()[0]?.status.containerStatuses?.map(({ state }) => state?.waiting);
}

test('an image volume is pulled before the container is created, and mounted from the pulled image', async () => {
  const world = newWorld();
  world.runtime.registry.set(MODEL, { pullMs: 100, sizeBytes: 5 });
  await using it = await startAgent(world);
  it.source.set(modelPod([container('main', {}, { mountPath: '/part', subPath: 'weights', readOnly: true })]));
  await it.host.clock.advance(1000);
  assert.equal(it.agent.pods()[0]?.status.phase, 'Running');
  const [created] = it.runtime.containers.values();
  const mounts = created?.config.mounts.filter(({ image }) => image) ?? [];
  const { images } = await it.runtime.cri.images.listImages({ filter: undefined }, new AbortController().signal);
  const id = images.find(({ repoTags }) => repoTags.includes(MODEL))?.id;
  assert.deepEqual(
    mounts.map(({ image, hostPath, containerPath, imageSubPath, readonly }) => [
      [image?.image, image?.userSpecifiedImage],
      { hostPath, containerPath, imageSubPath, readonly },
    ]),
    [
      [[id, MODEL], { hostPath: '', containerPath: '/model', imageSubPath: '', readonly: true }],
      [[id, MODEL], { hostPath: '', containerPath: '/part', imageSubPath: 'weights', readonly: true }],
    ],
  );
  const [pulling, pulled, own] = eventsOf(it);
  assert.equal(pulling, `Normal Pulling Pulling image "${MODEL}" (pod)`);
  assert.match(pulled ?? '', /^Normal Pulled Successfully pulled image .* \(pod\)$/);
  assert.match(own ?? '', /^Normal Pulled Container image "busybox:1" already present .* \(spec.containers\{main\}\)$/);
  // As in kubelet without ImageVolumeWithDigest: the mount is listed without the digest of its image.
  assert.deepEqual(it.agent.pods()[0]?.status.containerStatuses?.[0]?.volumeMounts, [
    { name: 'model', mountPath: '/model' },
    { name: 'model', mountPath: '/part', readOnly: true, recursiveReadOnly: 'Disabled' },
  ]);
});

test('containers wait for the image of their volume; others run; all start once it can be pulled', async () => {
  const world = newWorld();
  world.runtime.registry.set(MODEL, { error: new CriError('Unknown', 'no space left on device') });
  await using it = await startAgent(world);
  it.source.set(modelPod([container('a', {}), container('b', {}), { name: 'c', image: 'busybox:1' }]));
  await it.host.clock.advance(2000);
  const error = 'rpc error: code = Unknown desc = no space left on device';
  const backOff = `Back-off pulling image "${MODEL}"`;
  assert.deepEqual(
    [...new Set(eventsOf(it).filter((event) => /^Warning| (Pulling|BackOff) /.test(event)))],
    [
      `Normal Pulling Pulling image "${MODEL}" (pod)`,
      `Warning Failed Failed to pull image "${MODEL}": ${error} (pod)`,
      'Warning Failed Error: ErrImagePull (spec.containers{a})',
      'Warning Failed Error: ErrImagePull (spec.containers{b})',
      `Normal BackOff ${backOff} (pod)`,
      'Warning Failed Error: ImagePullBackOff (spec.containers{a})',
      'Warning Failed Error: ImagePullBackOff (spec.containers{b})',
    ],
  );
  const waiting = { reason: 'ImagePullBackOff', message: `${backOff}: ErrImagePull: ${error}` };
  assert.deepEqual(waitingOf(it), [waiting, waiting, undefined]);

  world.runtime.registry.set(MODEL, {});
  await it.host.clock.advance(15_000);
  assert.deepEqual(waitingOf(it), [undefined, undefined, undefined]);
});

test('an image volume is pulled with the pull secrets of the pod', async () => {
  const world = await newPrivateWorld();
  await using it = await startAgent(world);
  it.source.set();
  const config = JSON.stringify({ auths: { 'registry.io': { username: 'u', password: 'p' } } });
  const data = { '.dockerconfigjson': Buffer.from(config).toString('base64') };
  const key = { resource: 'secrets', namespace: 'default', name: 'login' } as const;
  const metadata = { name: 'login', namespace: 'default' };
  await world.apiServer.direct.create(key, { metadata, type: 'kubernetes.io/dockerconfigjson', data }, FOREVER);
  const volumes = [{ name: 'model', image: { reference: PRIVATE_IMAGE } }];
  const spec = { dnsPolicy: 'Default', containers: [container('main', {})], volumes };
  await createPod(world, podOf('stranger', spec));
  await createPod(world, podOf('owner', { ...spec, imagePullSecrets: [{ name: 'login' }] }));
  await it.host.clock.advance(5000);
  const states = it.agent.pods().map(({ pod, status }) => {
    const [main] = status.containerStatuses ?? [];
    return [pod.metadata.name, main?.state?.waiting?.reason ?? status.phase] as const;
  });
  assert.deepEqual(Object.fromEntries(states), { stranger: 'ImagePullBackOff', owner: 'Running' });
});

test('containers of a pod that mount images are created one after the other, others at once', async () => {
  const { host, runtime } = newWorld();
  runtime.registry.set(MODEL, {});
  const created: string[] = [];
  const creates = runtime.cri.runtime.createContainer;
  const createContainer: typeof creates = async (request, signal) => {
    const name = request.config?.metadata?.name;
    created.push(`${name} begins`);
    await host.clock.sleep(100, signal);
    created.push(`${name} ends`);
    return creates(request, signal);
  };
  const cri = { ...runtime.cri, runtime: { ...runtime.cri.runtime, createContainer } };
  await using it = await startAgent({ host, runtime: { ...runtime, cri } });
  it.source.set(modelPod([container('a', {}), container('b', {}), { name: 'c', image: 'busybox:1' }]));
  await host.clock.advance(1000);
  assert.equal(it.agent.pods()[0]?.status.phase, 'Running');
  const ofImages = created.filter((step) => !step.startsWith('c '));
  assert.deepEqual(ofImages, ['a begins', 'a ends', 'b begins', 'b ends']);
  assert.ok(created.indexOf('c begins') < created.indexOf('a ends'));
});

test('one sync pulls an image once, also with the policy Always', async () => {
  const world = newWorld();
  world.runtime.registry.set(MODEL, {});
  let pulls = 0;
  world.runtime.failures.everyCall((method) => {
    if (method === 'pullImage') pulls++;
    return undefined;
  });
  await using it = await startAgent(world);
  it.source.set(modelPod([container('a', {}), container('b', {}, { mountPath: '/again' })], 'Always'));
  await it.host.clock.advance(1000);
  assert.deepEqual([it.agent.pods()[0]?.status.phase, pulls], ['Running', 1]);
});

test('an image that is not present is not pulled with the policy Never', async () => {
  await using it = await startAgent();
  it.source.set(modelPod([container('main', {})], 'Never'));
  await it.host.clock.advance(50);
  const message = `Container image "${MODEL}" is not present with pull policy of Never`;
  assert.deepEqual(waitingOf(it), [{ reason: 'ErrImageNeverPull', message }]);
  assert.deepEqual(eventsOf(it).slice(-2), [
    `Warning ErrImageNeverPull ${message} (pod)`,
    'Warning Failed Error: ErrImageNeverPull (spec.containers{main})',
  ]);
});
