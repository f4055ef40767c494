import type { TreeContent, TreeNode } from '../../../host/tree.ts';
import { digestOf } from '../../storage/digest.ts';
import { writeTar } from '../archive/write-tar.ts';

/** Files by their paths: a text, a folder (`null`), or any other node. */
export type FakeFiles = Readonly<Record<string, string | null | (TreeContent & Partial<TreeNode>)>>;

export interface FakeImage {
  readonly names?: readonly string[];
  /** The lowest first. */
  readonly layers: readonly Uint8Array[];
  /** Layers as they are in the archive, when they are compressed. */
  readonly blobs?: readonly Uint8Array[];
  readonly config?: Readonly<Record<string, unknown>>;
  readonly architecture?: string;
  /** Instead of the true ones. */
  readonly diffIds?: readonly string[];
}

const encoder = new TextEncoder();

/** A layer's archive, in the order of the files. */
export async function layerOf(files: FakeFiles): Promise<Uint8Array> {
  const members = Object.entries(files).map(([path, file]) => ({ path, node: nodeOf(file) }));
  return collected(
    writeTar(
      (async function* () {
        yield* members;
      })(),
    ),
  );
}

export function configOf({ layers, config = {}, architecture = 'amd64', diffIds }: FakeImage): Uint8Array {
  const rootfs = { type: 'layers', diff_ids: diffIds ?? layers.map(digestOf) };
  return encoder.encode(JSON.stringify({ architecture, os: 'linux', config, rootfs }));
}

/** An archive in OCI's layout; the index comes last, as it may. */
export async function ociArchiveOf(...images: readonly FakeImage[]): Promise<Uint8Array> {
  const blobs = new Map<string, Uint8Array>();
  const add = (data: Uint8Array) => {
    blobs.set(digestOf(data), data);
    return { digest: digestOf(data), size: data.byteLength, mediaType: 'application/octet-stream' };
  };
  const manifests = images.flatMap((image) => {
    const manifest = json({
      schemaVersion: 2,
      config: add(configOf(image)),
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
  return archiveOf([...files, ['index.json', json({ schemaVersion: 2, manifests })]]);
}

/** An archive as Docker saved it before it knew OCI's layout. */
export async function dockerArchiveOf(...images: readonly FakeImage[]): Promise<Uint8Array> {
  const files: Array<readonly [string, Uint8Array]> = [];
  const list = images.map((image, index) => {
    const layers = image.layers.map((_, number) => `${index}-${number}/layer.tar`);
    for (const [number, layer] of image.layers.entries()) files.push([layers[number] ?? '', layer]);
    files.push([`${index}.json`, configOf(image)]);
    return { Config: `${index}.json`, RepoTags: image.names ?? null, Layers: layers };
  });
  return archiveOf([...files, ['manifest.json', json(list)]]);
}

export async function archiveOf(files: ReadonlyArray<readonly [string, Uint8Array]>): Promise<Uint8Array> {
  return layerOf(Object.fromEntries(files.map(([path, data]) => [path, fileNode(data)])));
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
