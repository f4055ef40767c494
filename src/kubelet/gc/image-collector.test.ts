import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '../../base/log.ts';
import { CriError } from '../../cri/cri-error.ts';
import { createFakeRuntime } from '../../cri/fake/fake-runtime.ts';
import {
  ContainerConfig,
  CreateContainerRequest,
  type DeepPartial,
  type Mount,
  PodSandboxConfig,
  RunPodSandboxRequest,
} from '../../cri/generated/runtime-v1.ts';
import type { Cri } from '../../cri/services.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { ImageCollector } from './image-collector.ts';
import type { ImagePolicy } from './image-policy.ts';

const LIFE = new AbortController().signal;
const MOUNTPOINT = '/var/lib/fake-runtime';
const GIB = 2 ** 30;
const POLICY: ImagePolicy = { highPercent: 85, lowPercent: 80, minimumAgeMs: 120_000, maximumAgeMs: 0 };

interface SetUp {
  readonly policy?: Partial<ImagePolicy>;
  readonly kept?: readonly string[];
  readonly cri?: (cri: Cri) => Cri;
}

/** A disk of 10 GiB, and images of 1 GiB each, first seen long ago. */
async function setUp({ policy, kept = [], cri = (same) => same }: SetUp = {}) {
  const host = createMemoryHost();
  const { clock, fs } = host;
  const fake = createFakeRuntime(host);
  await fs.makeDirectory(MOUNTPOINT);
  const reported: string[] = [];
  const line = (message: string): void => void reported.push(message);
  const log: Log = { debug() {}, info: line, warn: line, error: line };
  const hooked: string[][] = [];
  const collector = new ImageCollector({
    cri: cri(fake.cri),
    fs,
    clock,
    log,
    policy: { ...POLICY, ...policy },
    keptImages: kept,
    recordNodeEvent: (type, reason, message) => line(`${type} ${reason}: ${message}`),
    onCollected: async (ids) => void hooked.push([...ids]),
  });
  const began = clock.monotonic();
  return {
    clock,
    fs,
    fake,
    collector,
    reported,
    hooked,
    add: (name: string) => fake.addImage(name, { sizeBytes: GIB }),
    fill: (availableBytes: number) =>
      fs.setUsage(MOUNTPOINT, { capacityBytes: 10 * GIB, availableBytes, inodes: 1, inodesFree: 1 }),
    collect: () => collector.collect(began, LIFE),
    /** Collects once, so that images are known, and again when they are old enough. */
    async collectLater() {
      await collector.collect(began, LIFE).catch(() => undefined);
      await clock.advance(300_000);
      reported.length = 0;
      return collector.collect(began, LIFE);
    },
    async names() {
      const { images } = await fake.cri.images.listImages({ filter: undefined }, LIFE);
      return images.flatMap(({ repoTags }) => repoTags.map((tag) => tag.replace('docker.io/library/', '')));
    },
    async use(image: string, mounts: DeepPartial<Mount>[] = []) {
      const metadata = { name: 'p', namespace: 'default', uid: `of ${image}`, attempt: 0 };
      const config = PodSandboxConfig.fromPartial({ metadata });
      const { podSandboxId } = await fake.cri.runtime.runPodSandbox(RunPodSandboxRequest.fromPartial({ config }), LIFE);
      const container = ContainerConfig.fromPartial({ metadata: { name: 'main' }, image: { image }, mounts });
      const request = CreateContainerRequest.fromPartial({ podSandboxId, config: container, sandboxConfig: config });
      return (await fake.cri.runtime.createContainer(request, LIFE)).containerId;
    },
  };
}

test('a disk with enough space keeps all of its images', async () => {
  const it = await setUp();
  it.add('a:1');
  it.fill(1.625 * GIB);
  await it.collectLater();
  assert.deepEqual(await it.names(), ['a:1']);
});

test('unused images are removed from a full disk until the low threshold is reached', async () => {
  const it = await setUp();
  for (const name of ['a:1', 'b:1', 'c:1']) it.add(name);
  it.fill(0.5 * GIB); // 1.5 GiB have to go
  await it.collectLater();
  assert.deepEqual(await it.names(), ['c:1']);
  assert.equal(it.hooked.at(-1)?.length, 1);
});

test('the least recently used image is removed first', async () => {
  const it = await setUp({ policy: { lowPercent: 84 } });
  for (const name of ['a:1', 'b:1']) it.add(name);
  const container = await it.use('a:1');
  it.fill(1.5 * GIB);
  await it.collect().catch(() => undefined);
  await it.fake.cri.runtime.removeContainer({ containerId: container }, LIFE);
  await it.clock.advance(300_000);
  await it.collect();
  assert.deepEqual(await it.names(), ['a:1']);
});

test('the image of a volume stays as long as a container mounts it', async () => {
  const statuses: string[] = [];
  const it = await setUp({
    cri: ({ runtime, images }) => {
      const containerStatus: Cri['runtime']['containerStatus'] = (request, signal) => {
        statuses.push(request.containerId);
        return runtime.containerStatus(request, signal);
      };
      return { images, runtime: { ...runtime, containerStatus } };
    },
  });
  for (const name of ['a:1', 'model:1']) it.add(name);
  const image = (await it.fake.cri.images.listImages({ filter: undefined }, LIFE)).images.at(-1)?.id ?? '';
  const containerId = await it.use('a:1', [{ containerPath: '/model', image: { image }, readonly: true }]);
  it.fill(0);
  await assert.rejects(it.collectLater());
  assert.deepEqual(await it.names(), ['a:1', 'model:1']);
  assert.deepEqual(statuses, [containerId], 'its status is read once');

  await it.fake.cri.runtime.removeContainer({ containerId }, LIFE);
  await assert.rejects(it.collectLater());
  assert.deepEqual(await it.names(), []);
});

test('a container that is removed meanwhile mounts no image', async () => {
  const it = await setUp({
    cri: ({ runtime, images }) => {
      const containerStatus = async () => {
        throw new CriError('NotFound', 'gone');
      };
      return { images, runtime: { ...runtime, containerStatus } };
    },
  });
  for (const name of ['a:1', 'b:1']) it.add(name);
  await it.use('a:1');
  it.fill(0);
  await assert.rejects(it.collectLater());
  assert.deepEqual(await it.names(), ['a:1']);
});

test('images that are used, pinned, kept, or the sandbox image stay', async () => {
  const config = JSON.stringify({ sandboxImage: 'docker.io/library/pause:3' });
  const status: Cri['runtime']['status'] = async ({ verbose }) => ({
    status: undefined,
    info: verbose ? { config } : {},
    runtimeHandlers: [],
    features: undefined,
  });
  const it = await setUp({
    kept: ['kept:1', 'absent:1'],
    cri: (cri) => ({ ...cri, runtime: { ...cri.runtime, status } }),
  });
  for (const name of ['used:1', 'pause:3', 'kept:1', 'unused:1']) it.add(name);
  it.fake.addImage('pinned:1', { sizeBytes: GIB, pinned: true });
  await it.use('used:1');
  it.fill(0);
  await assert.rejects(it.collectLater());
  assert.deepEqual(await it.names(), ['used:1', 'pause:3', 'kept:1', 'pinned:1']);
});

test('a young image stays', async () => {
  const it = await setUp();
  it.add('a:1');
  it.fill(0);
  await it.collect().catch(() => undefined);
  await it.clock.advance(119_999);
  await assert.rejects(it.collect());
  assert.deepEqual(await it.names(), ['a:1']);
});

test('a disk that stays too full is reported', async () => {
  const it = await setUp();
  it.add('a:1');
  it.fill(0.5 * GIB);
  const message =
    "Insufficient free disk space on the node's image filesystem (95% of 10.0 GiB used). Failed to free sufficient space by deleting unused images (freed 1073741824 bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.";
  await assert.rejects(it.collectLater(), { message });
  assert.equal(it.reported.at(-1), `Warning FreeDiskSpaceFailed: ${message}`);
  assert.equal(it.collector.diskError, message);
  it.fill(5 * GIB);
  await it.collect();
  assert.equal(it.collector.diskError, undefined);
});

test('a disk without capacity is reported', async () => {
  const it = await setUp();
  it.fs.setUsage(MOUNTPOINT, { capacityBytes: 0, availableBytes: 0, inodes: 0, inodesFree: 0 });
  await assert.rejects(it.collect(), { message: 'invalid capacity 0 on image filesystem' });
  assert.deepEqual(it.reported, ['Warning InvalidDiskCapacity: invalid capacity 0 on image filesystem']);
});

test('a runtime without image file system is reported', async () => {
  const it = await setUp({
    cri: (cri) => ({
      ...cri,
      images: { ...cri.images, imageFsInfo: async () => ({ imageFilesystems: [], containerFilesystems: [] }) },
    }),
  });
  await assert.rejects(it.collect(), { message: 'imageFs information is unavailable' });
});

test('an image that cannot be removed does not prevent the removal of others', async () => {
  const it = await setUp();
  for (const name of ['a:1', 'b:1', 'c:1']) it.add(name);
  it.fill(0.5 * GIB);
  it.fake.failures.next('removeImage', { kind: 'before', error: new CriError('Unknown', 'read-only file system') });
  await assert.rejects(it.collectLater(), {
    message:
      'wanted to free 1610612736 bytes, but freed 2147483648 bytes space with errors in image deletion: rpc error: code = Unknown desc = read-only file system',
  });
  assert.deepEqual(await it.names(), ['a:1']);
});

test('an image beyond the maximum age is removed although there is space', async () => {
  const it = await setUp({ policy: { maximumAgeMs: 3_600_000 } });
  for (const name of ['used:1', 'unused:1']) it.add(name);
  await it.use('used:1');
  it.fill(10 * GIB);
  await it.collect();
  await it.clock.advance(3_600_000);
  await it.collect();
  assert.deepEqual(await it.names(), ['used:1', 'unused:1']);
  await it.clock.advance(1);
  await it.collect();
  assert.deepEqual(await it.names(), ['used:1']);
});

test('an old image that cannot be removed is reported', async () => {
  const it = await setUp({ policy: { maximumAgeMs: 60_000 } });
  it.add('a:1');
  it.fake.failures.everyCall((method) =>
    method === 'removeImage' ? { kind: 'before', error: new CriError('Unavailable', 'no connection') } : undefined,
  );
  await assert.rejects(it.collectLater(), {
    message:
      'wanted to free images older than 1m0s, encountered errors in image deletion: rpc error: code = Unavailable desc = no connection',
  });
});

test('repeated errors are recorded as an event, and the recovery is logged', async () => {
  const it = await setUp();
  it.fake.failures.everyCall((method) =>
    method === 'imageFsInfo' ? { kind: 'before', error: new CriError('Unavailable', 'no connection') } : undefined,
  );
  const life = new AbortController();
  const done = it.collector.run(life.signal);
  await it.clock.advance(300_000);
  it.fake.failures.everyCall(() => undefined);
  await it.clock.advance(300_000);
  assert.deepEqual(it.reported, [
    'Image garbage collection failed once. Stats initialization may not have completed yet',
    'Image garbage collection failed multiple times in a row',
    'Warning ImageGCFailed: rpc error: code = Unavailable desc = no connection',
    'Image garbage collection succeeded',
  ]);
  life.abort(new Error('over'));
  await it.clock.runUntil(done);
});

test('nothing is collected with a threshold of 100 and no maximum age', async () => {
  const it = await setUp({ policy: { highPercent: 100 } });
  const calls: string[] = [];
  it.fake.failures.everyCall((method) => void calls.push(method));
  await it.collector.run(LIFE);
  assert.deepEqual(calls, []);
});
