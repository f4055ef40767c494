import assert from 'node:assert/strict';
import test from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import { Image } from '../../cri/generated/runtime-v1.ts';
import { ImageRuntime, sandboxConfig } from './fake/image-runtime.ts';

const pulledEvents = [
  'Normal Pulling Pulling image "busybox"',
  'Normal Pulled Successfully pulled image "busybox" in 1.2s (1.2s including waiting). Image size: 4096 bytes.',
];

test('ensureImage() uses a present image', async () => {
  const runtime = new ImageRuntime({ policy: { kind: 'NeverVerifyPreloadedImages' } });
  runtime.present.set('busybox:latest', Image.fromPartial({ id: 'sha256:1', size: 1n, username: 'web' }));
  assert.deepEqual(await runtime.ensure('busybox', 'IfNotPresent'), {
    ref: 'sha256:1',
    user: { uid: undefined, username: 'web' },
  });
  assert.deepEqual(runtime.events, [
    'Normal Pulled Container image "busybox" already present on machine and can be accessed by the pod',
  ]);
  assert.deepEqual(runtime.pulled, []);
});

test('ensureImage() pulls a missing image, with the default tag and the pod’s annotations', async () => {
  const runtime = new ImageRuntime();
  assert.deepEqual(await runtime.ensure('busybox', 'IfNotPresent'), {
    ref: 'id of busybox:latest',
    user: { uid: 7n, username: '' },
  });
  assert.deepEqual(runtime.events, pulledEvents);
  const [{ image, sandboxConfig: passedConfig, auth } = assert.fail()] = runtime.pulled;
  assert.deepEqual(
    [image?.image, image?.annotations, passedConfig, auth],
    ['busybox:latest', { a: 'b' }, sandboxConfig, undefined],
  );
});

test('ensureImage() pulls a present image if the policy is Always', async () => {
  const runtime = new ImageRuntime();
  runtime.present.set('busybox:latest', Image.fromPartial({ id: 'old', size: 1n }));
  await runtime.ensure('busybox', 'Always');
  assert.deepEqual(runtime.events, pulledEvents);
});

test('ensureImage() pulls once for two pods, and records the waiting time of each', async () => {
  const runtime = new ImageRuntime();
  const first = runtime.ask('busybox', 'Always', 'u1');
  await runtime.clock.advance(200);
  const second = runtime.ask('busybox', 'Always', 'u2');
  await runtime.clock.advance(5000);
  assert.deepEqual(await first, await second);
  assert.equal(runtime.pulled.length, 1);
  assert.deepEqual(runtime.events.slice(2), [
    pulledEvents[1],
    'Normal Pulled Successfully pulled image "busybox" in 1.2s (1s including waiting). Image size: 4096 bytes.',
  ]);
});

test('ensureImage() never pulls if the policy is Never', async () => {
  const runtime = new ImageRuntime();
  const message = 'Container image "localhost:1/none:1" is not present with pull policy of Never';
  assert.deepEqual(await runtime.ensure('localhost:1/none:1', 'Never'), {
    reason: 'ErrImageNeverPull',
    message,
    retryAfterMs: undefined,
    silent: false,
  });
  assert.deepEqual(runtime.events, [`Warning ErrImageNeverPull ${message}`, 'Warning Failed Error: ErrImageNeverPull']);
});

test('ensureImage() rejects an invalid name', async () => {
  const runtime = new ImageRuntime();
  const message =
    'Failed to apply default image tag "INVALID:::name": couldn\'t parse image name "INVALID:::name": ' +
    'invalid reference format: repository name (library/INVALID) must be lowercase';
  assert.deepEqual(await runtime.ensure('INVALID:::name', 'IfNotPresent'), {
    reason: 'InvalidImageName',
    message,
    retryAfterMs: undefined,
    silent: false,
  });
  assert.deepEqual(runtime.events, [`Warning InspectFailed ${message}`, 'Warning Failed Error: InvalidImageName']);
});

test('ensureImage() reports why an image could not be pulled, then backs off', async () => {
  const runtime = new ImageRuntime();
  runtime.broken = new CriError('Unknown', 'connection refused', { method: 'PullImage' });
  assert.deepEqual(await runtime.ensure('localhost:1/none:2', 'IfNotPresent'), {
    reason: 'ErrImagePull',
    message: 'connection refused',
    retryAfterMs: 10_000,
    silent: false,
  });
  assert.deepEqual(await runtime.ensure('localhost:1/none:2', 'IfNotPresent'), {
    reason: 'ImagePullBackOff',
    message: 'Back-off pulling image "localhost:1/none:2": ErrImagePull: connection refused',
    retryAfterMs: 6200,
    silent: false,
  });
  assert.deepEqual(runtime.events, [
    'Normal Pulling Pulling image "localhost:1/none:2"',
    'Warning Failed Failed to pull image "localhost:1/none:2": connection refused',
    'Warning Failed Error: ErrImagePull',
    'Normal BackOff Back-off pulling image "localhost:1/none:2"',
    'Warning Failed Error: ImagePullBackOff',
  ]);
});

test('ensureImage() recognizes an unavailable registry by the runtime’s prefix', async () => {
  const runtime = new ImageRuntime();
  runtime.broken = new CriError('Unavailable', 'x', { method: 'PullImage' });
  const { reason } = (await runtime.ensure('a', 'Always')) as { reason: string };
  assert.equal(reason, 'ErrImagePull');
  runtime.broken = new CriError('Unknown', 'RegistryUnavailable: down for good', { method: 'PullImage' });
  assert.deepEqual(await runtime.ensure('b', 'Always'), {
    reason: 'RegistryUnavailable',
    message: 'image pull failed for b because the registry is unavailable: down for good',
    retryAfterMs: 10_000,
    silent: false,
  });
});

test('ensureImage() reports an error of the image status', async () => {
  const runtime = new ImageRuntime();
  runtime.statusBroken = new CriError('Internal', 'boom', { method: 'ImageStatus' });
  assert.deepEqual(await runtime.ensure('busybox', 'IfNotPresent'), {
    reason: 'ImageInspectError',
    message: 'Failed to inspect image "": rpc error: code = Internal desc = boom',
    retryAfterMs: undefined,
    silent: false,
  });
});

test('ensureImage() does not mention access without verification', async () => {
  const runtime = new ImageRuntime();
  runtime.present.set('busybox:latest', Image.fromPartial({ id: 'sha256:1', size: 1n }));
  await runtime.ensure('busybox', 'IfNotPresent');
  assert.deepEqual(runtime.events, ['Normal Pulled Container image "busybox" already present on machine']);
});

test('ensureImage() rejects an image without an id or a size', async () => {
  const runtime = new ImageRuntime();
  runtime.present.set('busybox:latest', Image.fromPartial({ id: 'sha256:1' }));
  const { message } = (await runtime.ensure('busybox', 'Never')) as { message: string };
  assert.equal(message, 'Failed to inspect image "": Id or size of image "busybox:latest" is not set');
});

test('ensureImage() checks again when a pull has completed meanwhile', async () => {
  const runtime = new ImageRuntime();
  const first = runtime.ask('busybox', 'IfNotPresent', 'u1');
  await runtime.clock.advance(1000);
  runtime.statusTakesMs = 1000; // longer than the pull takes
  const second = runtime.ask('busybox', 'IfNotPresent', 'u2');
  await runtime.clock.advance(5000);
  assert.deepEqual(await first, await second);
  assert.equal(runtime.pulled.length, 1);
});

test('ensureImage() checks again when a pull has completed during the credential lookup', async () => {
  const runtime = new ImageRuntime();
  const first = runtime.ask('busybox', 'IfNotPresent', 'u1');
  await runtime.clock.advance(1000);
  runtime.credentialsTakeMs = 1000;
  const second = runtime.ask('busybox', 'IfNotPresent', 'u2');
  await runtime.clock.advance(5000);
  assert.deepEqual(await first, await second);
  assert.equal(runtime.pulled.length, 1);
});

test('ensureImage() does not pull if a pull has meanwhile made the image accessible to every pod', async () => {
  const runtime = new ImageRuntime({ policy: { kind: 'NeverVerifyPreloadedImages' } });
  const first = runtime.ask('busybox', 'IfNotPresent', 'u1');
  await runtime.clock.advance(1000);
  // Present and being pulled: whether this pod may use it is not known yet.
  runtime.present.set(
    'busybox:latest',
    Image.fromPartial({ id: 'id of busybox:latest', size: 1n, uid: { value: 7n } }),
  );
  runtime.credentialsTakeMs = 1000;
  const second = runtime.ask('busybox', 'IfNotPresent', 'u2');
  await runtime.clock.advance(5000);
  assert.deepEqual(await first, await second);
  assert.equal(runtime.pulled.length, 1);
});

test('ensureImage() starts no more pulls than the rate allows', async () => {
  const runtime = new ImageRuntime({ rate: { qps: 1, burst: 1 }, serializeImagePulls: false });
  const first = runtime.ask('a', 'IfNotPresent');
  const second = runtime.ask('b', 'IfNotPresent');
  await runtime.clock.advance(5000);
  assert.equal((await first) && runtime.pulled.length, 1);
  assert.deepEqual(await second, {
    reason: 'ErrImagePull',
    message: 'pull QPS exceeded',
    retryAfterMs: 10_000,
    silent: false,
  });
  assert.ok(runtime.events.includes('Warning Failed Failed to pull image "b": pull QPS exceeded'));
});
