import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { CriError } from '../../cri/cri-error.ts';
import { ImageSpec, ListImagesRequest, PullImageRequest } from '../../cri/generated/runtime-v1.ts';
import type { ImageService } from '../../cri/services.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { buildConfig, buildLayer, buildOciArchive, type FakeImage } from '../images/fake/image-archives.ts';
import type { ImagePuller } from '../images/image-puller.ts';
import { openStorage, type Storage } from '../open-storage.ts';
import { chainIds, digestOf, hexOf } from '../storage/digest.ts';

const signal = new AbortController().signal;
const MANIFEST = `sha256:${'d'.repeat(64)}`;

async function world(
  puller?: ImagePuller,
): Promise<{ service: ImageService; storage: Storage; ids: readonly string[] }> {
  const host = createMemoryHost({ startMs: 5000 });
  const storage = await openStorage({
    ...host,
    log: silentLog,
    paths: { storage: '/storage' },
    settings: { pinnedImages: ['pause:1'] },
    architecture: 'amd64',
  });
  const images = await fakeImages();
  await storage.loader.loadArchive(await buildOciArchive(...images), {}, signal);
  return { service: storage.imageService(puller), storage, ids: images.map((image) => digestOf(buildConfig(image))) };
}

async function fakeImages(): Promise<readonly FakeImage[]> {
  const layer = await buildLayer({ file: 'x' });
  return [
    {
      names: ['app:1', `app@${MANIFEST}`],
      layers: [layer, await buildLayer({ more: 'y' })],
      config: { User: '1000:10' },
    },
    { names: ['pause:1'], layers: [layer], config: { User: 'nobody' } }, // words: quoted
  ];
}

function spec(image: string): ImageSpec {
  return ImageSpec.create({ image });
}

test('listImages() lists all images, or the one with the requested name', async () => {
  const { service, ids } = await world();
  const { images } = await service.listImages(ListImagesRequest.create({}), signal);
  assert.deepEqual(
    images.map(({ id, repoTags, repoDigests, uid, username, pinned }) => ({
      id,
      repoTags,
      repoDigests,
      uid,
      username,
      pinned,
    })),
    [
      {
        id: ids[0],
        repoTags: ['docker.io/library/app:1'],
        repoDigests: [`docker.io/library/app@${MANIFEST}`],
        uid: { value: 1000n },
        username: '',
        pinned: false,
      },
      {
        id: ids[1],
        repoTags: ['docker.io/library/pause:1'],
        repoDigests: [],
        uid: undefined,
        username: 'nobody', // words: quoted
        pinned: true,
      },
    ],
  );
  assert.ok(images.every(({ size }) => size > 0n));
  for (const [name, found] of [
    ['pause:1', 1],
    ['none:1', 0],
  ] as const) {
    const filter = { image: spec(name) };
    assert.equal((await service.listImages({ filter }, signal)).images.length, found);
    const streamed = await Array.fromAsync(service.streamImages({ filter }, signal));
    assert.equal(streamed.flatMap((each) => each.images).length, found);
  }
});

test('imageStatus() finds an image by each of its names', async () => {
  const { service, ids } = await world();
  const hex = hexOf(ids[0] ?? '');
  const names: Record<string, boolean> = {
    'app:1': true,
    'docker.io/library/app:1': true,
    'index.docker.io/library/app:1': true,
    [`app@${MANIFEST}`]: true,
    [`app:ignored@${MANIFEST}`]: true,
    [`sha256:${hex}`]: true,
    [hex]: true,
    [hex.slice(0, 12)]: true,
    [`sha256:${hex.slice(0, 12)}`]: true,
    app: false,
    'app:2': false,
    'other.io/library/app:1': false,
    'NOT A NAME': false,
    '': false,
  };
  const found: Record<string, boolean> = {};
  for (const name of Object.keys(names)) {
    found[name] = (await service.imageStatus({ image: spec(name), verbose: false }, signal)).image?.id === ids[0];
  }
  assert.deepEqual(found, names);
  const none = await service.imageStatus({ image: spec('app'), verbose: true }, signal);
  assert.deepEqual(none, { image: undefined, info: {} });
});

test('imageStatus() returns the configuration if verbose', async () => {
  const { service } = await world();
  const { info } = await service.imageStatus({ image: spec('app:1'), verbose: true }, signal);
  const layers = [await buildLayer({ file: 'x' }), await buildLayer({ more: 'y' })].map(digestOf);
  const verboseInfo: unknown = JSON.parse(info['info'] ?? '');
  assert.deepEqual(verboseInfo, {
    chainID: chainIds(layers).at(-1),
    imageSpec: {
      architecture: 'amd64',
      os: 'linux',
      config: { User: '1000:10' },
      rootfs: { type: 'layers', diff_ids: layers },
    },
  });
});

test('removeImage() removes the whole image by any of its names, and is idempotent', async () => {
  for (const name of ['app:1', `app@${MANIFEST}`, 'ID']) {
    const { service, storage, ids } = await world();
    const image = spec(name === 'ID' ? (ids[0] ?? '') : name);
    await service.removeImage({ image }, signal);
    await service.removeImage({ image }, signal);
    assert.deepEqual(
      storage.images.list().map(({ id }) => id),
      [ids[1]],
      name,
    );
  }
});

test('imageFsInfo() counts a shared layer once, and writable layers separately', async () => {
  const { service, storage, ids } = await world();
  const used = async () => {
    const { imageFilesystems, containerFilesystems } = await service.imageFsInfo({}, signal);
    return [...imageFilesystems, ...containerFilesystems].map(({ inodesUsed }) => inodesUsed?.value);
  };
  await storage.snapshots.mount({ containerId: 'c', imageId: ids[0] ?? '', target: '/c' }, signal);
  const { imageFilesystems } = await service.imageFsInfo({}, signal);
  const [usage] = imageFilesystems;
  assert.deepEqual([usage?.timestamp, usage?.fsId], [5_000_000_000n, { mountpoint: '/storage' }]);
  // Two layers with a directory, a file and a frame each; the directory of the container.
  assert.deepEqual(await used(), [6n, 1n]);
  await service.removeImage({ image: spec('app:1') }, signal);
  assert.deepEqual(await used(), [6n, 1n], 'the container still uses them');
});

test('pullImage() passes the normalized name on, and returns the id', async () => {
  const asked: string[] = [];
  const puller: ImagePuller = {
    async pull(reference) {
      asked.push(reference);
      const image = storage.images.list()[0];
      if (image === undefined) throw new CriError('NotFound', 'no image');
      return image;
    },
  };
  const { service, storage, ids } = await world(puller);
  const { imageRef } = await service.pullImage(PullImageRequest.create({ image: spec('app') }), signal);
  assert.deepEqual([asked, imageRef], [['docker.io/library/app:latest'], ids[0]]);
});

test('pullImage() reports invalid references and a missing puller', async () => {
  const { service } = await world();
  const pull = (image: string) => service.pullImage(PullImageRequest.create({ image: spec(image) }), signal);
  await assert.rejects(pull('app:1'), {
    code: 'Unimplemented',
    message: /docker\.io\/library\/app:1.*nodelet image load/,
  });
  await assert.rejects(pull('NOT A NAME'), {
    code: 'InvalidArgument',
    message: /^image\.image: .*invalid reference format/,
  });
  await assert.rejects(pull(''), { code: 'InvalidArgument' });
});

test('an image with invalid volumes is rejected, and leaves nothing', async () => {
  const { storage, ids } = await world();
  const tooMany = Object.fromEntries(Array.from({ length: 129 }, (_, index) => [`/v${index}`, {}]));
  for (const Volumes of [{ '/': {} }, { '/proc': {} }, { '/data': {}, '/sys/': {} }, { '/dev': {} }, tooMany]) {
    const archive = await buildOciArchive({
      names: ['bad:1'],
      layers: [await buildLayer({ bad: 'x' })],
      config: { Volumes },
    });
    await assert.rejects(storage.loader.loadArchive(archive, {}, signal), { message: /image declares / });
  }
  assert.deepEqual(
    storage.images.list().map(({ id }) => id),
    ids,
  );
});
