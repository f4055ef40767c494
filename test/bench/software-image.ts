import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { goArchitecture } from '../../src/base/go/go-architecture.ts';
import type { TreeMember } from '../../src/host/tree.ts';
import { writeTar } from '../../src/runtime/images/archive/write-tar.ts';
import { descriptorOf, encodeDocument } from '../../src/runtime/images/image-documents.ts';
import { digestOf } from '../../src/runtime/storage/digest.ts';
import { type ImageContent, MANIFEST_TYPE } from '../integration/registry-fixture.ts';

const SOURCE = '/usr';
/** A large base, a small layer, a large framework, a few settings, the program, its documents. */
const SHARES = [0.35, 0.05, 0.3, 0.02, 0.2, 0.08];
const LARGEST_FILE = 32 * 2 ** 20;
/** The maximum taken from one directory: /usr/bin alone may have hundreds of megabytes. */
const MOST_OF_FOLDER = 16 * 2 ** 20;
const ATTRIBUTES = { uid: 0, gid: 0, modifiedMs: 1_700_000_000_000 };

export type LayerCompression = 'gzip' | 'zstd';

/** An image as a registry stores it. */
export interface SoftwareImage extends ImageContent {
  /** Compressed; they are among its blobs. */
  readonly layers: readonly Uint8Array[];
}

/** The archives of layers, and their content. */
export interface SoftwareLayers {
  readonly archives: readonly Uint8Array[];
  readonly files: number;
}

/**
 * Layers of this machine's own software: whole directories of /usr, in a pseudo-random but fixed order, with this many bytes
 * before compression.
 */
export async function softwareLayers(bytes: number): Promise<SoftwareLayers> {
  const folders = foldersOf(SOURCE);
  let files = 0;
  const archives: Uint8Array[] = [];
  for (const share of SHARES) {
    const members = taken(folders, bytes * share);
    files += members.length;
    archives.push(await archiveOf(members));
  }
  return { archives, files };
}

export async function softwareImage(
  archives: readonly Uint8Array[],
  compression: LayerCompression,
): Promise<SoftwareImage> {
  const [gzip, zstd] = [promisify<Uint8Array, Buffer>(zlib.gzip), promisify<Uint8Array, Buffer>(zlib.zstdCompress)];
  const layers = await Promise.all(archives.map(compression === 'gzip' ? (each) => gzip(each) : (each) => zstd(each)));
  const rootfs = { type: 'layers', diff_ids: archives.map(digestOf) };
  const config = encodeDocument({ architecture: goArchitecture(), os: 'linux', config: { Cmd: ['sh'] }, rootfs });
  const manifest = encodeDocument({
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    config: descriptorOf('application/vnd.oci.image.config.v1+json', config),
    layers: layers.map((layer) => descriptorOf(`application/vnd.oci.image.layer.v1.tar+${compression}`, layer)),
  });
  return { manifest, blobs: [config, ...layers], layers };
}

/** The directories below it, itself included, in the order of use. */
function foldersOf(root: string): string[] {
  const folders = [root];
  for (const folder of folders) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) folders.push(join(folder, entry.name));
    }
  }
  const order = new Map(folders.map((folder) => [folder, digestOf(Buffer.from(folder))]));
  return folders.sort((one, other) => ((order.get(one) ?? '') < (order.get(other) ?? '') ? -1 : 1));
}

/** Takes directories off the list until their files have this size. */
function taken(folders: string[], bytes: number): TreeMember[] {
  const members: TreeMember[] = [];
  const made = new Set<string>();
  for (let left = bytes; left > 0; ) {
    const folder = folders.pop();
    if (folder === undefined) throw new Error(`${SOURCE} contains too little software`);
    const inside = membersOf(folder);
    for (const path of waysTo(folder)) {
      if (!made.has(path)) members.push({ path, node: { ...ATTRIBUTES, mode: 0o755, kind: 'directory' } });
      made.add(path);
    }
    members.push(...inside);
    for (const { node } of inside) left -= node.kind === 'file' ? node.size : 0;
  }
  return members;
}

/** The files and links directly in it. */
function membersOf(folder: string): TreeMember[] {
  let left = MOST_OF_FOLDER;
  return readdirSync(folder)
    .sort()
    .flatMap((name): TreeMember[] => {
      const source = join(folder, name);
      const stats = lstatSync(source);
      const [path, mode] = [source.slice(1), stats.mode & 0o7777];
      if (stats.isSymbolicLink()) {
        return [{ path, node: { ...ATTRIBUTES, mode, kind: 'symlink', target: readlinkSync(source) } }];
      }
      if (!stats.isFile() || stats.size > LARGEST_FILE || left <= 0) return [];
      left -= stats.size;
      const content = inTurn(stats.size === 0 ? [] : [readFileSync(source)]);
      return [{ path, node: { ...ATTRIBUTES, mode, kind: 'file', size: stats.size, content } }];
    });
}

async function archiveOf(members: readonly TreeMember[]): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of writeTar(inTurn(members))) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* inTurn<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

/** `a`, `a/b`, `a/b/c` */
function waysTo(path: string): readonly string[] {
  const names = path.split('/').filter(Boolean);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}
