import { descriptorOf, encodeDocument } from '../../runtime/images/image-documents.ts';
import { digestOf } from '../../runtime/storage/digest.ts';
import { type TarMember, tarArchive } from './tar.ts';

/** A file of an image. Paths are relative to its root; missing parent folders are created with mode 755. */
export type ImageFile = TarMember;

export interface ImageContent {
  /** The image name: `localhost/nodelet/pause:1`. */
  readonly reference: string;
  /** Go's name: `amd64`, `arm64`. */
  readonly architecture: string;
  readonly files: readonly ImageFile[];
  readonly config: ImageConfig;
}

/** The fields of an OCI image configuration that are used here. */
export interface ImageConfig {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly WorkingDir?: string;
  readonly User?: string;
  readonly Volumes?: Readonly<Record<string, object>>;
}

export interface OciArchive {
  /** The image ID: `sha256:…` of the configuration. */
  readonly id: string;
  /** A tar archive in the OCI image layout, as read by `ctr images import`. */
  readonly bytes: Uint8Array;
}

/** Packs an image of one layer. The same content gives the same bytes. */
export function ociArchive({ reference, architecture, files, config }: ImageContent): OciArchive {
  const layer = tarArchive(withParents(files));
  const imageConfig = encodeDocument({
    architecture,
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
  });
  const manifest = encodeDocument({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptorOf('application/vnd.oci.image.config.v1+json', imageConfig),
    layers: [descriptorOf('application/vnd.oci.image.layer.v1.tar', layer)],
  });
  const index = encodeDocument({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [
      {
        ...descriptorOf('application/vnd.oci.image.manifest.v1+json', manifest),
        platform: { architecture, os: 'linux' },
        annotations: { 'io.containerd.image.name': reference },
      },
    ],
  });
  const bytes = tarArchive([
    file('oci-layout', encodeDocument({ imageLayoutVersion: '1.0.0' })),
    file('index.json', index),
    ...[imageConfig, manifest, layer].map((blob) => file(`blobs/${digestOf(blob).replace(':', '/')}`, blob)),
  ]);
  return { id: digestOf(imageConfig), bytes };
}

/** Adds missing parent folders, each before its content. */
function withParents(files: readonly ImageFile[]): readonly ImageFile[] {
  const known = new Set(files.map(({ path }) => path));
  return files.flatMap((member) => {
    const missing = parentsOf(member.path).filter((parent) => !known.has(parent));
    for (const parent of missing) known.add(parent);
    return [...missing.map((path) => ({ kind: 'directory', path, mode: 0o755 }) as const), member];
  });
}

function parentsOf(path: string): readonly string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function file(path: string, data: Uint8Array): TarMember {
  return { kind: 'file', path, mode: 0o644, data };
}
