import type { TreeContent, TreeNode } from '../../../host/tree.ts';
import { digestOf } from '../../storage/digest.ts';
import { writeTar } from '../archive/write-tar.ts';

/** Files by path: a text, a directory (`null`), or any other node. */
export type FakeFiles = Readonly<Record<string, string | null | (TreeContent & Partial<TreeNode>)>>;

export interface FakeImage {
  readonly names?: readonly string[];
  /** Lowest first. */
  readonly layers: readonly Uint8Array[];
  /** The layers as stored in the archive, if they are compressed. */
  readonly blobs?: readonly Uint8Array[];
  readonly config?: Readonly<Record<string, unknown>>;
  readonly architecture?: string;
  /** Overrides the computed ones. */
  readonly diffIds?: readonly string[];
}

const encoder = new TextEncoder();

/** Returns the archive of a layer, with files in the given order. */
export async function buildLayer(files: FakeFiles): Promise<Uint8Array> {
  const members = Object.entries(files).map(([path, file]) => ({ path, node: nodeOf(file) }));
  return collected(
    writeTar(
      (async function* () {
        yield* members;
      })(),
    ),
  );
}

export function buildConfig({ layers, config = {}, architecture = 'amd64', diffIds }: FakeImage): Uint8Array {
  const rootfs = { type: 'layers', diff_ids: diffIds ?? layers.map(digestOf) };
  return encoder.encode(JSON.stringify({ architecture, os: 'linux', config, rootfs }));
}

/** Returns an archive in OCI's layout with the index at the end, which is allowed. */
export async function buildOciArchive(...images: readonly FakeImage[]): Promise<Uint8Array> {
  const blobs = new Map<string, Uint8Array>();
  const add = (data: Uint8Array) => {
    blobs.set(digestOf(data), data);
    return { digest: digestOf(data), size: data.byteLength, mediaType: 'application/octet-stream' };
  };
  const manifests = images.flatMap((image) => {
    const manifest = json({
      schemaVersion: 2,
      config: add(buildConfig(image)),
      layers: (image.blobs ?? image.layers).map(add),
    });
    const platform = { os: 'linux', architecture: image.architecture ?? 'amd64' };
    const descriptor = { ...add(manifest), platform };
    const named = (image.names ?? []).map((name) => ({
      ...descriptor,
      annotations: { 'io.containerd.image.name': name },
    }));
    return named.length > 0 ? named : [descriptor];
  });
  const files = [...blobs].map(([digest, data]) => [`blobs/${digest.replace(':', '/')}`, data] as const);
  return buildArchive([...files, ['index.json', json({ schemaVersion: 2, manifests })]]);
}

/** Returns an archive as Docker saved it before it used OCI's layout. */
export async function buildDockerArchive(...images: readonly FakeImage[]): Promise<Uint8Array> {
  const files: Array<readonly [string, Uint8Array]> = [];
  const list = images.map((image, index) => {
    const layers = image.layers.map((_, number) => `${index}-${number}/layer.tar`);
    for (const [number, layer] of image.layers.entries()) files.push([layers[number] ?? '', layer]);
    files.push([`${index}.json`, buildConfig(image)]);
    return { Config: `${index}.json`, RepoTags: image.names ?? null, Layers: layers };
  });
  return buildArchive([...files, ['manifest.json', json(list)]]);
}

export async function buildArchive(files: ReadonlyArray<readonly [string, Uint8Array]>): Promise<Uint8Array> {
  return buildLayer(Object.fromEntries(files.map(([path, data]) => [path, fileNode(data)])));
}

function nodeOf(file: FakeFiles[string]): TreeNode {
  const attributes = { mode: 0o644, uid: 0, gid: 0, modifiedMs: 1_000_000 };
  if (file === null) return { ...attributes, mode: 0o755, kind: 'directory' };
  if (typeof file === 'string') return { ...attributes, ...fileNode(encoder.encode(file)) };
  return { ...attributes, ...file };
}

function fileNode(data: Uint8Array): Extract<TreeContent, { kind: 'file' }> {
  const content = (async function* () {
    if (data.byteLength > 0) yield data;
  })();
  return { kind: 'file', size: data.byteLength, content };
}

function json(value: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

async function collected(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return new Uint8Array(Buffer.concat(parts));
}
