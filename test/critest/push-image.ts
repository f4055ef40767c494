import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ImageFile } from '../../src/app/images/oci-archive.ts';
import { tarArchive } from '../../src/app/images/tar.ts';
import { goArchitecture } from '../../src/base/go/go-architecture.ts';
import { descriptorOf, encodeDocument } from '../../src/runtime/images/image-documents.ts';
import { digestOf } from '../../src/runtime/storage/digest.ts';
import type { TestImage } from './image-files.ts';

const DOCKER = 'application/vnd.docker';
const TYPES = {
  list: `${DOCKER}.distribution.manifest.list.v2+json`,
  manifest: `${DOCKER}.distribution.manifest.v2+json`,
  config: `${DOCKER}.container.image.v1+json`,
  layer: `${DOCKER}.image.rootfs.diff.tar.gzip`,
} as const;

const compress = promisify(gzip);

/** An image as a registry stores it. */
export interface PackedImage {
  /** Its layers and its configuration. */
  readonly blobs: readonly Uint8Array[];
  readonly manifest: Uint8Array;
  /** The manifest list, to which tags refer. */
  readonly list: Uint8Array;
}

interface Layer {
  readonly diffId: string;
  readonly data: Uint8Array;
}

/** Pushes images to a registry, each as a manifest list, like the published ones. */
export class ImagePusher {
  readonly #registry: string;
  /** Packed layers by their files, which images share. */
  readonly #layers = new Map<readonly ImageFile[], Promise<Layer>>();
  /** The repository from which a blob can be mounted. */
  readonly #repositories = new Map<string, string>();

  constructor(address: string) {
    this.#registry = `http://${address}`;
  }

  async push(image: TestImage): Promise<void> {
    const { repository, tags } = image;
    const { blobs, manifest, list } = await packImage(image, (tree) => this.#layer(tree));
    for (const data of blobs) await this.#pushBlob(repository, data);
    await this.#pushManifest(repository, digestOf(manifest), TYPES.manifest, manifest);
    for (const tag of tags) await this.#pushManifest(repository, tag, TYPES.list, list);
  }

  #layer(tree: readonly ImageFile[]): Promise<Layer> {
    const known = this.#layers.get(tree) ?? packLayer(tree);
    this.#layers.set(tree, known);
    return known;
  }

  async #pushBlob(repository: string, data: Uint8Array): Promise<void> {
    const digest = digestOf(data);
    const uploads = `${this.#registry}/v2/${repository}/blobs/uploads/`;
    const source = this.#repositories.get(digest);
    const started = await fetch(source ? `${uploads}?mount=${digest}&from=${source}` : uploads, { method: 'POST' });
    if (started.status === 201) return; // mounted from another repository
    const location = new URL(started.headers.get('location') ?? '', this.#registry);
    location.searchParams.set('digest', digest);
    await expectCreated(fetch(location, { method: 'PUT', body: Uint8Array.from(data) }));
    this.#repositories.set(digest, repository);
  }

  async #pushManifest(repository: string, reference: string, type: string, data: Uint8Array): Promise<void> {
    const url = `${this.#registry}/v2/${repository}/manifests/${reference}`;
    const headers = { 'content-type': type };
    await expectCreated(fetch(url, { method: 'PUT', headers, body: Uint8Array.from(data) }));
  }
}

export async function packImage(
  { layers: trees, config }: TestImage,
  pack: (tree: readonly ImageFile[]) => Promise<Layer> = packLayer,
): Promise<PackedImage> {
  const layers: Layer[] = [];
  for (const tree of trees) layers.push(await pack(tree));
  const platform = { architecture: goArchitecture(), os: 'linux' } as const;
  const imageConfig = encodeDocument({
    ...platform,
    config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
  });
  const manifest = encodeDocument({
    schemaVersion: 2,
    mediaType: TYPES.manifest,
    config: descriptorOf(TYPES.config, imageConfig),
    layers: layers.map(({ data }) => descriptorOf(TYPES.layer, data)),
  });
  const manifests = [{ ...descriptorOf(TYPES.manifest, manifest), platform }];
  const list = encodeDocument({ schemaVersion: 2, mediaType: TYPES.list, manifests });
  return { blobs: [...layers.map(({ data }) => data), imageConfig], manifest, list };
}

async function packLayer(tree: readonly ImageFile[]): Promise<Layer> {
  const tar = tarArchive(tree);
  return { diffId: digestOf(tar), data: await compress(tar, { level: 1 }) };
}

async function expectCreated(answer: Promise<Response>): Promise<void> {
  const response = await answer;
  if (response.status !== 201) throw new Error(`registry rejected push: ${response.status} ${await response.text()}`);
}
