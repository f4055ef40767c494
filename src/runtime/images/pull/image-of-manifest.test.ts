/** Manifests and images that registries may send, and those that are rejected. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NetworkError } from '../../../host/network.ts';
import { digestOf } from '../../storage/digest.ts';
import {
  CONFIG,
  describe,
  indexOf,
  json,
  LAYER,
  MANIFEST,
  manifestOf,
  pullScripted,
  registryWith,
  type ScriptedAnswer,
} from './fake/scripted-pull.ts';

const OCI = 'application/vnd.oci.image';
const MANIFEST_TYPE = `${OCI}.manifest.v1+json`;
const child = (manifest: Uint8Array, platform?: object): object =>
  describe(manifest, MANIFEST_TYPE, platform ? { platform: { os: 'linux', ...platform } } : {});
const nested = (depth: number): readonly Uint8Array[] =>
  Array.from({ length: depth }).reduce<readonly Uint8Array[]>(
    (below) => [...below, indexOf([child(below.at(-1) ?? MANIFEST, { architecture: 'amd64' })])],
    [MANIFEST],
  );
const tagged = (manifests: readonly Uint8Array[]): ScriptedAnswer =>
  registryWith(Object.fromEntries(manifests.map((data, index) => [`n${index}`, data])));

test('an index may lead to an index', async () => {
  const { image } = await pullScripted({ image: 'x.io/app:n3', answer: tagged(nested(3)) });
  assert.equal(image?.layers[0]?.digest, digestOf(LAYER));
});

test('attestations and other variants in an index are ignored', async () => {
  const index = indexOf([
    child(json({}), { architecture: 'unknown', os: 'unknown' }),
    child(json({ a: 1 }), { architecture: 'amd64', variant: 'v3' }),
    child(json({ a: 2 }), { architecture: '386' }),
    child(MANIFEST, { architecture: 'amd64' }),
  ]);
  const { urls } = await pullScripted({ image: 'x.io/app:i', answer: registryWith({ i: index }) });
  assert.ok(urls[1]?.endsWith(digestOf(MANIFEST)));
});

test('an image without a platform in the index is checked by its configuration', async () => {
  const index = indexOf([child(MANIFEST)]);
  const { image } = await pullScripted({ image: 'x.io/app:i', answer: registryWith({ i: index }) });
  assert.equal(image?.layers.length, 1);
});

test('a layer is fetched from the URLs of its descriptor, without credentials', async () => {
  const layer = describe(LAYER, `${OCI}.layer.nondistributable.v1.tar`, {
    urls: ['ftp://a', 'https://cdn/none', 'https://cdn/l'],
  });
  const plain = registryWith({ f: manifestOf([layer]) });
  const seen: string[] = [];
  const { layers } = await pullScripted({
    image: 'x.io/app:f',
    auth: { registryToken: 'R' },
    answer: (request) => {
      if (!('host' in request.target) || request.target.host !== 'cdn') return plain(request);
      seen.push(`${request.path} ${request.headers?.some(([name]) => name === 'Authorization')}`);
      return request.path === '/l' ? { data: LAYER } : { status: 404 };
    },
  });
  assert.deepEqual([layers, seen], [['the bytes of a layer'], ['/none false', '/l false']]);
});

const withLayer = (mediaType: string): ScriptedAnswer => registryWith({ t: manifestOf([describe(LAYER, mediaType)]) });

for (const type of [
  `${OCI}.layer.v1.tar+gzip`,
  `${OCI}.layer.v1.tar+zstd`,
  'application/vnd.docker.image.rootfs.diff.tar.gzip',
  'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip',
]) {
  test(`a layer may be ${type}`, async () => {
    assert.equal((await pullScripted({ image: 'x.io/app:t', answer: withLayer(type) })).layers.length, 1);
  });
}

/** Answers differently for the layer. */
const layerAs =
  (answer: ScriptedAnswer): ScriptedAnswer =>
  (request, until) =>
    request.path.endsWith(digestOf(LAYER)) ? answer(request, until) : registryWith()(request);
const LONG = new Uint8Array(1000);
const OTHER = json({ architecture: 's390x', os: 'linux', rootfs: { diff_ids: [] } });

const REJECTED: Record<string, { readonly tag?: string; readonly answer: ScriptedAnswer; readonly message: RegExp }> = {
  'an encrypted layer': {
    tag: 't',
    answer: withLayer(`${OCI}.layer.v1.tar+gzip+encrypted`),
    message: /layer sha256:\w+ is encrypted, which is not supported$/,
  },
  'a blob that is not a layer': {
    tag: 't',
    answer: withLayer('application/vnd.dev.cosign.simplesigning.v1+json'),
    message:
      /has the media type "application\/vnd\.dev\.cosign\.simplesigning\.v1\+json", which is not a layer of a file system$/,
  },
  'an artifact that is not a container image': {
    tag: 't',
    answer: registryWith({
      t: json({ schemaVersion: 2, config: describe(CONFIG, 'application/vnd.cncf.helm.config.v1+json'), layers: [] }),
    }),
    message: /not an image of a container: its configuration has the media type "application\/vnd\.cncf\.helm/,
  },
  'a manifest of schema 1': {
    tag: 't',
    answer: registryWith({ t: json({ schemaVersion: 1, fsLayers: [] }) }),
    message: /Docker schema 1 is not supported; the image has to be pushed again by a newer tool$/,
  },
  'a manifest that is both image and index': {
    tag: 't',
    answer: registryWith({ t: json({ schemaVersion: 2, layers: [], manifests: [] }) }),
    message: /manifest: is both an image and an index$/,
  },
  'a descriptor without a size': {
    tag: 't',
    answer: registryWith({ t: indexOf([{ digest: digestOf(MANIFEST), mediaType: MANIFEST_TYPE }]) }),
    message: /manifest: sha256:\w+ has no size$/,
  },
  'a manifest whose size does not match its descriptor': {
    tag: 't',
    answer: registryWith({ t: indexOf([{ digest: digestOf(MANIFEST), size: 5 }]) }),
    message: /sha256:\w+ has \d+ bytes, expected 5$/,
  },
  'an image for another platform in an index without platforms': {
    tag: 't',
    answer: (request) => {
      const other = manifestOf([], OTHER);
      if (request.path.endsWith(digestOf(OTHER))) return { data: OTHER };
      return registryWith({ t: indexOf([child(other)]), o: other })(request);
    },
    message: /no image for linux\/amd64, only for linux\/s390x$/,
  },
  'too many nested indexes': {
    tag: 'n9',
    answer: tagged(nested(9)),
    message: /more than 8 nested indexes$/,
  },
  'a layer with a larger content length': {
    answer: layerAs(() => ({ headers: { 'content-length': '1000' }, data: LONG })),
    message: /sha256:\w+: has 1000 bytes, expected 20$/,
  },
  'a layer that is longer': {
    answer: layerAs(() => ({ data: LONG })),
    message: /sha256:\w+ is longer than the 20 bytes of its descriptor$/,
  },
  'a layer that ends too early each time': {
    answer: layerAs(() => ({ data: new Uint8Array() })),
    message: /sha256:\w+: received only 0 of 20 bytes$/,
  },
  'a range that was not requested': {
    answer: layerAs((request) => {
      const range = request.headers?.some(([name]) => name === 'Range');
      if (range) return { status: 206, headers: { 'content-range': 'bytes 3-19/20' }, data: LAYER.subarray(3) };
      const body = (async function* () {
        yield LAYER.subarray(0, 9);
        throw new NetworkError('ECONNRESET', 'cut off');
      })();
      return { body };
    }),
    message: /response does not start at byte 9$/,
  },
  'a compressed response': {
    answer: layerAs(() => ({ headers: { 'content-encoding': 'gzip' }, data: LAYER })),
    message: /unsolicited content encoding gzip$/,
  },
};

for (const [what, { tag = '1', answer, message }] of Object.entries(REJECTED)) {
  test(`a pull rejects ${what}`, async () => {
    await assert.rejects(pullScripted({ image: `x.io/app:${tag}`, answer }), {
      name: 'CriError',
      code: 'Unknown',
      message,
    });
  });
}

test('a pull reports its progress', async () => {
  let isBroken = false;
  const { progress } = await pullScripted({
    image: 'x.io/app:1',
    answer: layerAs((request) => {
      if (isBroken) return registryWith()(request);
      isBroken = true;
      throw new NetworkError('ECONNRESET', 'cut off');
    }),
  });
  const digest = digestOf(LAYER);
  const layer = (state: object): object => ({ kind: 'layer', digest, state });
  const layers = [{ digest, sizeBytes: 20 }];
  assert.deepEqual(progress, [
    { kind: 'resolved', digest: digestOf(MANIFEST), source: 'https://x.io/v2', layers },
    layer({ phase: 'waiting' }),
    layer({ phase: 'coming', receivedBytes: 0 }),
    layer({ phase: 'retrying', receivedBytes: 0, reason: 'cut off' }),
    layer({ phase: 'coming', receivedBytes: 20 }),
    layer({ phase: 'done' }),
  ]);
});
