import assert from 'node:assert/strict';
import test from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { CriError } from '../../cri/cri-error.ts';
import { ImageStatusResponse, PodSandboxConfig, type PullImageRequest } from '../../cri/generated/runtime-v1.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { PodError, podErrorEvent } from '../pod/pod-error.ts';
import { ensureImage } from './ensure-image.ts';
import { PullBackoff } from './pull-backoff.ts';
import { PullRateLimiter } from './pull-rate.ts';
import { SharedPulls } from './shared-pulls.ts';

interface Recording {
  readonly pod: Pod;
  readonly events: readonly { readonly type: string; readonly reason: string; readonly message: string }[];
  readonly status: { readonly containerStatuses: readonly RecordedStatus[] };
}

interface RecordedStatus {
  readonly name: string;
  readonly state: { readonly waiting: { readonly reason: string; readonly message: string } };
}

const pullError =
  'failed to pull and unpack image "localhost:1/none:2": failed to resolve reference "localhost:1/none:2": ' +
  'failed to do request: Head "http://localhost:1/v2/none/manifests/2": dial tcp 127.0.0.1:1: connect: connection refused';

test('ensureImage() reports unavailable images as kubelet does', async () => {
  const path = '../../../test/data/golden/08-image-errors.json';
  const { default: recording }: { default: Recording } = await import(path, { with: { type: 'json' } });
  const { pod, events, status } = recording;
  const clock = new VirtualClock();
  const pulled: PullImageRequest[] = [];
  const deps = {
    clock,
    backoff: new PullBackoff(clock),
    pulls: new SharedPulls<never>({ serializeImagePulls: false, maxParallelImagePulls: undefined }),
    rate: new PullRateLimiter({ qps: 5, burst: 10 }, clock),
    credentials: async () => [],
    verification: undefined,
    images: {
      imageStatus: async () => ImageStatusResponse.fromPartial({}),
      pullImage: async (request: PullImageRequest) => {
        pulled.push(request);
        throw new CriError('Unknown', pullError, { method: 'PullImage' });
      },
    },
  };
  const recorded = new Set<string>();
  const record = (type: string, reason: string, message: string) => recorded.add(`${type} ${reason} ${message}`);
  const waiting = new Map<string, { reason: string; message: string }>();
  const sandboxConfig = PodSandboxConfig.fromPartial({});

  // Twice, as in kubelet’s recording; the first error is the recorded one.
  for (const container of [...pod.spec.containers, ...pod.spec.containers]) {
    const request = {
      pod,
      image: container.image ?? '',
      pullPolicy: container.imagePullPolicy ?? '',
      pullSecrets: [],
      sandboxConfig,
      record,
    };
    const error: unknown = await ensureImage(request, deps, new AbortController().signal).catch(
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof PodError);
    const event = podErrorEvent(error);
    record(event.type, event.reason, event.message);
    if (!waiting.has(container.name)) waiting.set(container.name, { reason: error.reason, message: error.message });
  }

  assert.deepEqual(recorded, new Set(events.map(({ type, reason, message }) => `${type} ${reason} ${message}`)));
  assert.deepEqual(waiting, new Map(pod.spec.containers.map(({ name }) => [name, recordedWaiting(status, name)])));
  assert.deepEqual(
    pulled.map(({ image }) => image?.image),
    ['localhost:1/none:2'],
  );
});

function recordedWaiting({ containerStatuses }: Recording['status'], name: string) {
  return containerStatuses.find((status) => status.name === name)?.state.waiting;
}
