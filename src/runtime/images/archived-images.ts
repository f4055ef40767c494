import { verifyDigest } from '../storage/digest.ts';
import type { ImageArchive } from './archive/image-archive.ts';
import { TarError } from './archive/tar-header.ts';
import type { IncomingImage } from './image-ingest.ts';
import { asObject, stringField, stringList } from './json-fields.ts';
import { choosePlatform, type Descriptor, type Manifest, parseManifest, platformsText } from './manifest.ts';

/** containerd writes the full name here; OCI's own annotation is often a bare tag. */
const CONTAINERD_NAME = 'io.containerd.image.name';
const REF_NAME = 'org.opencontainers.image.ref.name';
/** Limit for nested indexes. */
const MAX_DEPTH = 4;

/** Returns the images of an archive for this architecture. Throws `TarError`, `DigestError` or `SyntaxError`. */
export async function readArchivedImages(
  archive: ImageArchive,
  architecture: string,
): Promise<readonly IncomingImage[]> {
  if (archive.has('index.json')) return ociImages(archive, architecture);
  if (archive.has('manifest.json')) return dockerImages(archive);
  throw new TarError('not an image archive: neither index.json nor manifest.json is in it');
}

/** https://github.com/opencontainers/image-spec/blob/main/image-layout.md */
async function ociImages(archive: ImageArchive, architecture: string): Promise<readonly IncomingImage[]> {
  const index = parseManifest(await archive.read('index.json'));
  if (index.kind !== 'index') throw new SyntaxError('index.json: not an index');
  const images = new Map<string, { readonly manifest: Descriptor; readonly names: Set<string> }>();
  const matching = index.manifests.filter(
    ({ platform }) => platform === undefined || platform.architecture === architecture,
  );
  for (const descriptor of matching) {
    const manifest = await imageManifest(archive, descriptor, architecture, MAX_DEPTH);
    const known = images.get(manifest.digest) ?? { manifest, names: new Set() };
    for (const name of imageNames(descriptor)) known.names.add(name);
    images.set(manifest.digest, known);
  }
  if (images.size === 0) {
    throw new SyntaxError(`no image for linux/${architecture} in the archive, only ${platformsText(index.manifests)}`);
  }
  return Promise.all([...images.values()].map(({ manifest, names }) => ociImage(archive, manifest, [...names])));
}

function imageNames({ annotations }: Descriptor): readonly string[] {
  const name = annotations[CONTAINERD_NAME];
  if (name) return [name];
  const reference = annotations[REF_NAME] ?? '';
  return /[:/]/.test(reference) ? [reference] : []; // a bare tag is not a name
}

/** Follows indexes to the manifest for this architecture. */
async function imageManifest(
  archive: ImageArchive,
  descriptor: Descriptor,
  architecture: string,
  depth: number,
): Promise<Descriptor> {
  const manifest = await readManifest(archive, descriptor);
  if (manifest.kind === 'image') return descriptor;
  const chosen = choosePlatform(manifest.manifests, architecture);
  if (chosen === undefined || depth === 0) {
    throw new SyntaxError(
      `no image for linux/${architecture} in the archive, only ${platformsText(manifest.manifests)}`,
    );
  }
  return imageManifest(archive, chosen, architecture, depth - 1);
}

async function readManifest(archive: ImageArchive, { digest }: Descriptor): Promise<Manifest> {
  const data = await archive.read(blobName(digest));
  verifyDigest(data, digest, 'manifest');
  return parseManifest(data);
}

async function ociImage(
  archive: ImageArchive,
  descriptor: Descriptor,
  references: readonly string[],
): Promise<IncomingImage> {
  const manifest = await readManifest(archive, descriptor);
  if (manifest.kind !== 'image') throw new SyntaxError('manifest: not of an image');
  const config = await archive.read(blobName(manifest.config.digest));
  verifyDigest(config, manifest.config.digest, 'image configuration');
  const parts = [descriptor, manifest.config, ...manifest.layers];
  return {
    references,
    config,
    layers: manifest.layers.map(({ digest }) => ({
      digest,
      open: (signal) => archive.stream(blobName(digest), signal),
    })),
    sizeBytes: parts.reduce((sum, { digest }) => sum + archive.size(blobName(digest)), 0),
  };
}

function blobName(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

/** Reads the format of `docker save` before it used OCI's layout. */
async function dockerImages(archive: ImageArchive): Promise<readonly IncomingImage[]> {
  const list: unknown = JSON.parse(new TextDecoder().decode(await archive.read('manifest.json')));
  if (!Array.isArray(list)) throw new SyntaxError('manifest.json: not a list of images');
  return Promise.all(
    list.map(async (each) => {
      const entry = asObject(each);
      const configName = stringField(entry, 'Config');
      const config = await archive.read(configName);
      const layers = stringList(entry, 'Layers');
      return {
        references: stringList(entry, 'RepoTags'),
        config,
        layers: layers.map((name) => ({ open: (signal: AbortSignal) => archive.stream(name, signal) })),
        sizeBytes: layers.reduce((sum, name) => sum + archive.size(name), config.byteLength),
      };
    }),
  );
}
