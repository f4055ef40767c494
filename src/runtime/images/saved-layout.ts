import { digestOf, hexOf } from '../storage/digest.ts';
import { encodeDocument } from './image-documents.ts';

/** An image to be written into an archive. */
export interface SavedImage {
  readonly id: string;
  /** Full names with a tag: `docker.io/library/busybox:1.36`. */
  readonly names: readonly string[];
  readonly config: Uint8Array;
  /** Lowest first. */
  readonly layers: ReadonlyArray<{ readonly digest: string; readonly size: number }>;
}

export interface SavedFile {
  readonly path: string;
  readonly size: number;
  readonly open: () => AsyncIterable<Uint8Array>;
}

const TYPES = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
} as const;

export function blobPath(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

/**
 * Returns all files but the layers: OCI's layout and Docker's list of images, which refer to the same blobs.
 * https://github.com/opencontainers/image-spec/blob/main/image-layout.md
 */
export function layoutFiles(images: readonly SavedImage[]): readonly SavedFile[] {
  const blobs = new Map<string, Uint8Array>();
  const add = (mediaType: string, data: Uint8Array) => {
    const digest = digestOf(data);
    blobs.set(digest, data);
    return { mediaType, digest, size: data.byteLength };
  };
  const manifests = images.flatMap((image) => {
    const config = add(TYPES.config, image.config);
    const layers = image.layers.map((layer) => ({ mediaType: TYPES.layer, ...layer }));
    const manifest = encodeDocument({ schemaVersion: 2, mediaType: TYPES.manifest, config, layers });
    const descriptor = add(TYPES.manifest, manifest);
    const named = image.names.map((name) => ({ ...descriptor, annotations: annotationsOf(name) }));
    return named.length > 0 ? named : [descriptor];
  });
  return [
    file('oci-layout', encodeDocument({ imageLayoutVersion: '1.0.0' })),
    file('index.json', encodeDocument({ schemaVersion: 2, mediaType: TYPES.index, manifests })),
    file('manifest.json', encodeDocument(images.map(dockerEntry))),
    ...[...blobs].map(([digest, data]) => file(blobPath(digest), data)),
  ];
}

/** containerd reads the full name, other tools at least the tag. */
function annotationsOf(name: string): Readonly<Record<string, string>> {
  const tag = name.slice(name.lastIndexOf(':') + 1);
  return { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': tag };
}

function dockerEntry({ id, names, layers }: SavedImage) {
  return {
    Config: `blobs/sha256/${hexOf(id)}`,
    RepoTags: names.map((name) => name.replace(/^docker\.io\/(library\/)?/, '')),
    Layers: layers.map(({ digest }) => blobPath(digest)),
  };
}

function file(path: string, data: Uint8Array): SavedFile {
  const open = async function* () {
    yield data;
  };
  return { path, size: data.byteLength, open };
}
