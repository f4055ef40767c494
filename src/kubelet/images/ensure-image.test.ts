import assert from 'node:assert/strict';
import test from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import {
  Image,
  ImageStatusResponse,
  PodSandboxConfig,
  type PullImageRequest,
  PullImageResponse,
} from '../../cri/generated/runtime-v1.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { PodError } from '../sync/pod-error.ts';
import { ensureImage, type ImageDeps } from './ensure-image.ts';
import { PullBackoff } from './pull-backoff.ts';
import { SharedPulls } from './shared-pulls.ts';

const never = new AbortController().signal;
const sandboxConfig = PodSandboxConfig.fromPartial({ metadata: { name: 'hello' } });

/** A runtime that has `present`, and pulls anything else in 1.2 s unless `broken` says why not. */
class Runtime {
  readonly clock = new VirtualClock();
  readonly present = new Map<string, Image>();
  readonly pulled: PullImageRequest[] = [];
  readonly events: string[] = [];
  broken: Error | undefined;
  statusBroken: Error | undefined;
  readonly deps: ImageDeps = {
    clock: this.clock,
    backoff: new PullBackoff(this.clock),
    pulls: new SharedPulls({ serializeImagePulls: true, maxParallelImagePulls: undefined }),
    images: {
      imageStatus: async ({ image }) => {
        if (this.statusBroken) throw this.statusBroken;
        return ImageStatusResponse.fromPartial({ image: this.present.get(image?.image ?? '') });
      },
      pullImage: async (request, signal) => {
        this.pulled.push(request);
        await this.clock.sleep(1200, signal);
        if (this.broken) throw this.broken;
        const name = request.image?.image ?? '';
        this.present.set(name, Image.fromPartial({ id: `id of ${name}`, size: 4096n, uid: { value: 7n } }));
        return PullImageResponse.fromPartial({ imageRef: `id of ${name}` });
      },
    },
  };

  ask(image: string, pullPolicy: string, uid = 'u1') {
    const pod = examplePod({ metadata: { uid, annotations: { a: 'b' } } });
    const record = (type: string, reason: string, message: string) => this.events.push(`${type} ${reason} ${message}`);
    return ensureImage({ pod, image, pullPolicy, sandboxConfig, record }, this.deps, never).catch((error: unknown) => {
      assert.ok(error instanceof PodError);
      const { reason, message, retryAfterMs, silent } = error;
      return { reason, message, retryAfterMs, silent };
    });
  }

  async ensure(image: string, pullPolicy: string) {
    const outcome = this.ask(image, pullPolicy);
    await this.clock.advance(5000);
    return outcome;
  }
}

const pulledEvents = [
  'Normal Pulling Pulling image "busybox"',
  'Normal Pulled Successfully pulled image "busybox" in 1.2s (1.2s including waiting). Image size: 4096 bytes.',
];

test('ensureImage() takes an image that is there', async () => {
  const runtime = new Runtime();
  runtime.present.set('busybox:latest', Image.fromPartial({ id: 'sha256:1', username: 'web' }));
  assert.deepEqual(await runtime.ensure('busybox', 'IfNotPresent'), {
    ref: 'sha256:1',
    user: { uid: undefined, username: 'web' },
  });
  assert.deepEqual(runtime.events, [
    'Normal Pulled Container image "busybox" already present on machine and can be accessed by the pod',
  ]);
  assert.deepEqual(runtime.pulled, []);
});

test('ensureImage() pulls what is missing, with the default tag and the pod’s annotations', async () => {
  const runtime = new Runtime();
  assert.deepEqual(await runtime.ensure('busybox', 'IfNotPresent'), {
    ref: 'id of busybox:latest',
    user: { uid: 7n, username: '' },
  });
  assert.deepEqual(runtime.events, pulledEvents);
  const [{ image, sandboxConfig: told, auth } = assert.fail()] = runtime.pulled;
  assert.deepEqual(
    [image?.image, image?.annotations, told, auth],
    ['busybox:latest', { a: 'b' }, sandboxConfig, undefined],
  );
});

test('ensureImage() pulls what is there when the policy is Always', async () => {
  const runtime = new Runtime();
  runtime.present.set('busybox:latest', Image.fromPartial({ id: 'old' }));
  await runtime.ensure('busybox', 'Always');
  assert.deepEqual(runtime.events, pulledEvents);
});

test('ensureImage() pulls once for two pods, and tells each how long it waited', async () => {
  const runtime = new Runtime();
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

test('ensureImage() never pulls when the policy is Never', async () => {
  const runtime = new Runtime();
  const message = 'Container image "localhost:1/none:1" is not present with pull policy of Never';
  assert.deepEqual(await runtime.ensure('localhost:1/none:1', 'Never'), {
    reason: 'ErrImageNeverPull',
    message,
    retryAfterMs: undefined,
    silent: true,
  });
  assert.deepEqual(runtime.events, [`Warning ErrImageNeverPull ${message}`, 'Warning Failed Error: ErrImageNeverPull']);
});

test('ensureImage() refuses a name that is none', async () => {
  const runtime = new Runtime();
  const message =
    'Failed to apply default image tag "INVALID:::name": couldn\'t parse image name "INVALID:::name": ' +
    'invalid reference format: repository name (library/INVALID) must be lowercase';
  assert.deepEqual(await runtime.ensure('INVALID:::name', 'IfNotPresent'), {
    reason: 'InvalidImageName',
    message,
    retryAfterMs: undefined,
    silent: true,
  });
  assert.deepEqual(runtime.events, [`Warning InspectFailed ${message}`, 'Warning Failed Error: InvalidImageName']);
});

test('ensureImage() tells why an image could not be pulled, then waits', async () => {
  const runtime = new Runtime();
  runtime.broken = new CriError('Unknown', 'connection refused', { method: 'PullImage' });
  assert.deepEqual(await runtime.ensure('localhost:1/none:2', 'IfNotPresent'), {
    reason: 'ErrImagePull',
    message: 'connection refused',
    retryAfterMs: 10_000,
    silent: true,
  });
  assert.deepEqual(await runtime.ensure('localhost:1/none:2', 'IfNotPresent'), {
    reason: 'ImagePullBackOff',
    message: 'Back-off pulling image "localhost:1/none:2": ErrImagePull: connection refused',
    retryAfterMs: 6200,
    silent: true,
  });
  assert.deepEqual(runtime.events, [
    'Normal Pulling Pulling image "localhost:1/none:2"',
    'Warning Failed Failed to pull image "localhost:1/none:2": connection refused',
    'Warning Failed Error: ErrImagePull',
    'Normal BackOff Back-off pulling image "localhost:1/none:2"',
    'Warning Failed Error: ImagePullBackOff',
  ]);
});

test('ensureImage() knows a registry that is down by the runtime’s mark', async () => {
  const runtime = new Runtime();
  runtime.broken = new CriError('Unavailable', 'x', { method: 'PullImage' });
  const { reason } = (await runtime.ensure('a', 'Always')) as { reason: string };
  assert.equal(reason, 'ErrImagePull');
  runtime.broken = new CriError('Unknown', 'RegistryUnavailable: down for good', { method: 'PullImage' });
  assert.deepEqual(await runtime.ensure('b', 'Always'), {
    reason: 'RegistryUnavailable',
    message: 'image pull failed for b because the registry is unavailable: down for good',
    retryAfterMs: 10_000,
    silent: true,
  });
});

test('ensureImage() says so when the runtime cannot be asked', async () => {
  const runtime = new Runtime();
  runtime.statusBroken = new CriError('Internal', 'boom', { method: 'ImageStatus' });
  assert.deepEqual(await runtime.ensure('busybox', 'IfNotPresent'), {
    reason: 'ImageInspectError',
    message: 'Failed to inspect image "": rpc error: code = Internal desc = boom',
    retryAfterMs: undefined,
    silent: true,
  });
});
