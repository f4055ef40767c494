import { isDeepStrictEqual } from 'node:util';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { FileKind } from '../../../src/host/file-system.ts';
import type { TreeMember, TreeNode, TreeWriter } from '../../../src/host/tree.ts';
import { ByteReader, UnexpectedEofError } from '../../../src/runtime/images/archive/byte-reader.ts';
import { decompress } from '../../../src/runtime/images/archive/decompress.ts';
import { ImageArchive } from '../../../src/runtime/images/archive/image-archive.ts';
import { parsePaxRecords } from '../../../src/runtime/images/archive/pax-records.ts';
import { readTar } from '../../../src/runtime/images/archive/read-tar.ts';
import { TarError } from '../../../src/runtime/images/archive/tar-header.ts';
import { writeTar } from '../../../src/runtime/images/archive/write-tar.ts';
import { readArchivedImages } from '../../../src/runtime/images/archived-images.ts';
import { DigestError } from '../../../src/runtime/storage/digest.ts';
import { unpackLayer } from '../../../src/runtime/storage/unpack-layer.ts';
import { asStream, binary, bytesOf, type FuzzTarget, randomChunks, requireProperty, texts } from '../fuzz-target.ts';

const BLOCK = 512;
const NEVER = new AbortController().signal;
const ATTRIBUTES = { mode: 0o755, uid: 0, gid: 1000, modifiedMs: 1_700_000_000_000 };
const TOKENS = [
  'ustar\0',
  'ustar  \0',
  '.wh.',
  '.wh..wh..opq',
  '../',
  '20 SCHILY.xattr.a=b\n',
  '11 size=99\n',
  '0000644\0',
  '00000001000\0',
];
/** A negative size, and one of 2⁵³ in base 256. */
const BINARY_TOKENS = ['\xff'.repeat(12), `\x80${'\0'.repeat(4)}\x20${'\0'.repeat(6)}`].map(binary);
const PAX = '30 GNU.sparse.major=1\n';

function member(path: string, content: TreeNode | { readonly kind: 'file'; readonly text: string }): TreeMember {
  if (!('text' in content)) return { path, node: content };
  const data = bytesOf(content.text);
  return { path, node: { ...ATTRIBUTES, kind: 'file', size: data.length, content: asStream([data]) } };
}

async function* membersOf(members: readonly TreeMember[]): AsyncGenerator<TreeMember, void, void> {
  yield* members;
}

async function tarOf(...members: readonly TreeMember[]): Promise<Uint8Array> {
  return collected(writeTar(membersOf(members)));
}

async function collected(chunks: AsyncIterable<Uint8Array>, limit = Number.POSITIVE_INFINITY): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    parts.push(new Uint8Array(chunk));
    length += chunk.length;
    if (length > limit) break;
  }
  return new Uint8Array(Buffer.concat(parts));
}

const LAYER = await tarOf(
  member('etc', { ...ATTRIBUTES, kind: 'directory' }),
  member('etc/passwd', { kind: 'file', text: 'root:x:0:0::/:\n' }),
  member('etc/link', { ...ATTRIBUTES, kind: 'symlink', target: '../x' }),
  member('etc/.wh.gone', { kind: 'file', text: '' }),
  member('b', { ...ATTRIBUTES, kind: 'hardLink', target: 'etc/passwd' }),
);
const LONG = await tarOf(
  member(`${'d/'.repeat(60)}f`, { kind: 'file', text: 'x'.repeat(600) }),
  member('dev', {
    ...ATTRIBUTES,
    kind: 'characterDevice',
    major: 1,
    minor: 3,
    xattrs: new Map([['user.a', Uint8Array.of(0, 255)]]),
  }),
  member('opaque/.wh..wh..opq', { kind: 'file', text: '' }),
);
/** Names that lead out of the archive. */
const HOSTILE = await tarOf(
  member('a/../../b', { kind: 'file', text: 'x' }),
  member('c', { ...ATTRIBUTES, kind: 'hardLink', target: '../../d' }),
);
const CLIMBING = await tarOf(
  member('a/../b', { kind: 'file', text: 'x' }),
  member('./c//d/.', { kind: 'file', text: '' }),
);

/** The size of the second member in base 256. */
function withSize(...size: readonly number[]): Uint8Array {
  const copy = LAYER.slice(0, 2048);
  copy.set(size, 512 + 124);
  return repairTar(copy);
}

const TARS = [
  LAYER,
  LONG,
  sparseTar(),
  HOSTILE,
  CLIMBING,
  withSize(0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15),
  withSize(...Array<number>(12).fill(255)),
];

/** A member of GNU's old sparse format. */
function sparseTar(): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  block.write('sparse', 0);
  for (const [at, length] of [
    [100, 7],
    [108, 7],
    [116, 7],
  ] as const)
    block.write('0'.repeat(length), at);
  block.write('00000000005', 124);
  block.write('S', 156);
  block.write('ustar  \0', 257);
  block.write('00000000010', 386);
  block.write('00000000005', 398);
  block.write('00000001000', 483);
  return repairTar(new Uint8Array(Buffer.concat([block, Buffer.alloc(BLOCK, 'hello'), Buffer.alloc(2 * BLOCK)])));
}

/** Corrects the checksum of each block that may be a header. */
function repairTar(input: Uint8Array): Uint8Array {
  const copy = Buffer.from(input);
  for (let at = 0; at + BLOCK <= copy.length; at += BLOCK) {
    const block = copy.subarray(at, at + BLOCK);
    if (!block.includes('ustar', 250) && block[156] !== 0x53) continue;
    block.write(' '.repeat(8), 148);
    const sum = block.reduce((total, byte) => total + byte, 0);
    block.write(`${sum.toString(8).padStart(6, '0')}\0`, 148);
  }
  return new Uint8Array(copy);
}

interface ReadMember {
  readonly name: string;
  readonly node: Readonly<Record<string, unknown>>;
  readonly data: Uint8Array;
}

async function membersIn(chunks: readonly Uint8Array[]): Promise<readonly ReadMember[]> {
  const members: ReadMember[] = [];
  for await (const { name, node } of readTar(new ByteReader(asStream(chunks)))) {
    const { content, ...plain } = { content: undefined, ...node };
    members.push({ name, node: plain, data: content === undefined ? new Uint8Array() : await collected(content) });
  }
  return members;
}

export const TAR: FuzzTarget = {
  name: 'tar',
  testInputs: 200,
  seeds: TARS,
  tokens: [...TOKENS, ...BINARY_TOKENS],
  errors: [TarError, UnexpectedEofError],
  repair: repairTar,
  async run(input, draw) {
    const members = await membersIn([input]);
    const again = await membersIn(randomChunks(input, draw));
    requireProperty(isDeepStrictEqual(members, again), 'the members depend on how the bytes are split');
    const isWhole = members.every(
      ({ node, data }) => node['kind'] !== 'file' || 'extents' in node || node['size'] === data.length,
    );
    requireProperty(isWhole, 'the content of a file is not of its size');
    const total = members.reduce((sum, { data }) => sum + data.length, 0);
    requireProperty(total <= input.length, 'more content than input');
    await requireRoundTrip(members);
    return members;
  },
};

/** Members that an archive can hold are read again as they were written. Holes are written as content: not these. */
async function requireRoundTrip(members: readonly ReadMember[]): Promise<void> {
  const kept = members.filter(({ name, node }) => isClean(name) && !('extents' in node));
  const tree = kept.map(({ name, node, data }): TreeMember => {
    const content = node['kind'] === 'file' ? { content: asStream([data]), size: data.length } : {};
    return { path: name, node: { ...node, ...content } as unknown as TreeNode }; // as `readTar` returned it
  });
  const again = await membersIn([await tarOf(...tree)]);
  const expected = kept.map((each) => [each.name, each.node['kind'], each.node['uid'], each.node['target'], each.data]);
  const found = again.map(({ name, node, data }) => [
    withoutSlash(name),
    node['kind'],
    node['uid'],
    node['target'],
    data,
  ]);
  requireProperty(isDeepStrictEqual(found, expected), 'a written archive is read differently');
}

function isClean(name: string): boolean {
  return name !== '' && !name.endsWith('/') && !name.includes('\0');
}

function withoutSlash(name: string): string {
  return name.replace(/\/$/, '');
}

export const PAX_RECORDS: FuzzTarget = {
  name: 'pax-records',
  seeds: texts(
    '12 path=abc\n',
    '17 size=12345678\n',
    '24 SCHILY.xattr.user.a=b\n',
    '22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n26 GNU.sparse.realsize=10\n',
    '20 GNU.sparse.size=9\n26 GNU.sparse.map=0,1,4,5\n',
  ),
  tokens: ['11 uid=1000\n', 'GNU.sparse.map=', 'SCHILY.xattr.', 'mtime=', PAX, '18 mtime=1.5000000\n'],
  errors: [TarError],
  run: (input) => parsePaxRecords(input),
};

/** Unpacks a layer: all paths stay below the root, and no name of a whiteout is written. */
export const LAYER_TAR: FuzzTarget = {
  name: 'layer',
  testInputs: 300,
  seeds: TARS,
  tokens: [...TOKENS, ...BINARY_TOKENS],
  errors: [TarError, UnexpectedEofError],
  repair: repairTar,
  async run(input) {
    const put = new Map<string, string>();
    const options = { format: { kind: 'overlay', opaqueXattr: 'trusted.overlay.opaque' } } as const;
    const layer = await unpackLayer(readTar(new ByteReader(asStream([input]))), recordingWriter(put), options, NEVER);
    return { layer, put };
  },
};

function recordingWriter(put: Map<string, string>): TreeWriter {
  return {
    async put(path, node) {
      requireClean(path);
      if (node.kind === 'hardLink') requireClean(node.target);
      const isOverlay = [...(node.xattrs?.keys() ?? [])].some((key) => key.includes('.overlay.'));
      requireProperty(!isOverlay, 'a layer sets an attribute of overlayfs');
      if (node.kind === 'file') await collected(node.content);
      put.set(path, node.kind);
    },
    remove: async (path) => void put.delete(path),
    kind: async (path) => put.get(path) as FileKind | undefined, // only `directory` is looked at
    setXattr: async (path) => requireClean(path),
    implied: new Set(),
    finish: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}

function requireClean(path: string): void {
  const isUnclean = path.split('/').some((part) => part === '..' || part === '.' || (part === '' && path !== ''));
  requireProperty(!isUnclean && !path.includes('\0'), `a path leads elsewhere: ${JSON.stringify(path)}`);
}

/** Output of a decompressor that is enough to check it. */
const MAX_OUTPUT = 4 * 1024 * 1024;

export const DECOMPRESS: FuzzTarget = {
  name: 'decompress',
  testInputs: 40,
  seeds: [gzipSync(LAYER), zstdCompressSync(LAYER), LAYER.subarray(0, 600), gzipSync(Buffer.alloc(70_000))].map(
    (each) => new Uint8Array(each),
  ),
  errors: [Error],
  // Compressed zeros are allowed to grow; the reader stops.
  weightPerByte: 2 ** 24,
  async run(input, draw) {
    const whole = await collected(decompress(asStream([input])), MAX_OUTPUT);
    const parts = await collected(decompress(asStream(randomChunks(input, draw))), MAX_OUTPUT);
    requireProperty(
      whole.length > MAX_OUTPUT || Buffer.compare(whole, parts) === 0,
      'depends on how the bytes are split',
    );
    return whole.length;
  },
};

const MANIFEST = JSON.stringify([{ Config: 'c.json', RepoTags: ['a:b'], Layers: ['l.tar'] }]);
const DOCKER_ARCHIVE = await tarOf(
  member('manifest.json', { kind: 'file', text: MANIFEST }),
  member('c.json', { kind: 'file', text: '{"rootfs":{"type":"layers","diff_ids":[]}}' }),
  member('l.tar', { kind: 'file', text: 'x' }),
);
const OCI_ARCHIVE = await tarOf(
  member('oci-layout', { kind: 'file', text: '{"imageLayoutVersion":"1.0.0"}' }),
  member('index.json', {
    kind: 'file',
    text: `{"schemaVersion":2,"manifests":[{"digest":"sha256:${'a'.repeat(64)}","size":2}]}`,
  }),
  member(`blobs/sha256/${'a'.repeat(64)}`, { kind: 'file', text: '{}' }),
);

export const IMAGE_ARCHIVE: FuzzTarget = {
  name: 'image-archive',
  testInputs: 300,
  seeds: [DOCKER_ARCHIVE, OCI_ARCHIVE],
  tokens: [...TOKENS, '"Config":', '"Layers":', '"manifests":', 'index.json', 'manifest.json', 'oci-layout'],
  errors: [TarError, UnexpectedEofError, SyntaxError, DigestError],
  repair: repairTar,
  async run(input) {
    const source = {
      size: input.length,
      read: async (offset: number, length: number) => input.slice(offset, offset + length),
    };
    const archive = await ImageArchive.open(source, NEVER);
    const images = await readArchivedImages(archive, 'amd64');
    return images.map(({ references, config, sizeBytes }) => ({ references, config, sizeBytes }));
  },
};
