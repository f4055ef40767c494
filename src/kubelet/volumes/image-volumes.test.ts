import assert from 'node:assert/strict';
import test from 'node:test';
import type { Container, ImageVolumeSource, VolumeMount } from '../../api/generated/core-v1.ts';
import { ImageSpec } from '../../cri/generated/runtime-v1.ts';
import { PodError } from '../pod/pod-error.ts';
import { exampleContainer, examplePod } from '../sync/config/pod.fixture.ts';
import { ensureImageVolumes, imageMounts } from './image-volumes.ts';

const pod = examplePod({
  metadata: { annotations: { team: 'a' } },
  spec: {
    volumes: [
      { name: 'model', image: { reference: 'model:1', pullPolicy: 'Always' } },
      { name: 'tools', image: { reference: 'tools:1' } },
      { name: 'unused', image: { reference: 'unused:1' } },
      { name: 'data', emptyDir: {} },
    ],
  },
});

function containerWith(...volumeMounts: readonly VolumeMount[]): Container {
  return { ...exampleContainer, volumeMounts };
}

function mount(name: string, given: Partial<VolumeMount> = {}): VolumeMount {
  return { name, mountPath: `/${name}`, ...given };
}

/** Ensures the image volumes of a container; `missing` images cannot be pulled. */
async function ensure(container: Container, { missing = [] as string[], runtimeVersion = 'v2.2.0' } = {}) {
  const asked: ImageVolumeSource[] = [];
  const recorded: string[] = [];
  const images = ensureImageVolumes(pod, container, {
    version: async () => ({ runtimeName: 'containerd', runtimeVersion }),
    ensureImage: async (image) => {
      asked.push(image);
      const { reference = '' } = image;
      if (!missing.includes(reference)) return `id of ${reference}`;
      const retryAfterMs = reference.length * 1000;
      throw new PodError('ErrImagePull', `no ${reference}`, { eventMessage: 'Error: ErrImagePull', retryAfterMs });
    },
    recordError: ({ eventMessage, podCause }) => recorded.push(`${eventMessage} ${JSON.stringify(podCause)}`),
    runtimeHandler: 'runc',
  });
  const outcome = await images.catch((error: unknown) => error);
  return { outcome, asked: asked.map(({ reference }) => reference), recorded };
}

test('ensureImageVolumes() ensures the images of the mounted volumes and no others', async () => {
  const { outcome, asked } = await ensure(containerWith(mount('model'), mount('data'), mount('tools')));
  const common = { runtimeHandler: 'runc', annotations: { team: 'a' } };
  assert.deepEqual(
    outcome,
    new Map([
      ['model', ImageSpec.fromPartial({ image: 'id of model:1', userSpecifiedImage: 'model:1', ...common })],
      ['tools', ImageSpec.fromPartial({ image: 'id of tools:1', userSpecifiedImage: 'tools:1', ...common })],
    ]),
  );
  assert.deepEqual(asked, ['model:1', 'tools:1']);
});

test('ensureImageVolumes() asks nothing for a container without image volumes', async () => {
  const { outcome, asked } = await ensure(containerWith(mount('data')), { runtimeVersion: 'v1.6.0' });
  assert.deepEqual([outcome, asked], [new Map(), []]);
});

test('ensureImageVolumes() fails with the last error and records those before it', async () => {
  const container = containerWith(mount('model'), mount('tools'), mount('model', { mountPath: '/again' }));
  const { outcome, recorded } = await ensure(container, { missing: ['model:1', 'tools:1'] });
  assert.ok(outcome instanceof PodError);
  const { reason, message, eventMessage, retryAfterMs, podCause } = outcome;
  assert.deepEqual(
    { reason, message, eventMessage, retryAfterMs, podCause },
    {
      reason: 'ErrImagePull',
      message: 'no model:1',
      eventMessage: 'Error: ErrImagePull',
      retryAfterMs: 7000,
      podCause: { kind: 'imageVolumeFailed', volume: 'model', image: 'model:1' },
    },
  );
  assert.deepEqual(recorded, [
    'Error: ErrImagePull {"kind":"imageVolumeFailed","volume":"model","image":"model:1"}',
    'Error: ErrImagePull {"kind":"imageVolumeFailed","volume":"tools","image":"tools:1"}',
  ]);
});

test('ensureImageVolumes() pulls nothing for a runtime that would not mount it', async () => {
  const { outcome, asked } = await ensure(containerWith(mount('model')), { runtimeVersion: '1.6.20~ds1' });
  assert.ok(outcome instanceof PodError);
  const message =
    'cannot mount image volume "model": image volumes need containerd 2.1 or newer, the runtime is containerd 1.6.20~ds1';
  assert.deepEqual(
    [outcome.reason, outcome.message, outcome.eventMessage, asked],
    ['CreateContainerConfigError', message, `Error: ${message}`, []],
  );
});

const images = new Map([['model', ImageSpec.fromPartial({ image: 'id of model:1' })]]);

test('imageMounts() resolves the paths within the images', () => {
  const container = containerWith(
    mount('data', { subPath: 'x' }),
    mount('model'),
    mount('model', { subPath: 'a/b' }),
    mount('model', { subPathExpr: '$(WHICH)/c' }),
  );
  const found = imageMounts(container, images, (name) => `${name} value`);
  assert.deepEqual(
    [...found].map(([index, { image, subPath }]) => [index, image.image, subPath]),
    [
      [1, 'id of model:1', ''],
      [2, 'id of model:1', 'a/b'],
      [3, 'id of model:1', 'WHICH value/c'],
    ],
  );
});

test('imageMounts() rejects a path that leads out of the image', () => {
  assert.throws(() => imageMounts(containerWith(mount('model', { subPath: '../x' })), images, () => undefined), {
    reason: 'CreateContainerConfigError',
    message: "unable to provision SubPath `../x`: must not contain '..'",
  });
});
