import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesOfFileName } from '../../../host/file-name.ts';
import type { FileExtent, TreeMember } from '../../../host/tree.ts';
import { ByteReader } from './byte-reader.ts';
import { readTar } from './read-tar.ts';
import { writeTar } from './write-tar.ts';

interface RawHeader {
  readonly name?: string;
  readonly type?: string;
  readonly size?: number | Uint8Array;
  readonly uid?: Uint8Array;
  readonly link?: string;
  readonly magic?: string;
  readonly prefix?: string;
  readonly data?: string;
  readonly checksum?: string;
  readonly device?: readonly [number, number];
  /** The pairs in the header itself, and those in a block after it. */
  readonly sparse?: { readonly size: number; readonly pairs: Pairs; readonly more: Pairs };
}

type Pairs = ReadonlyArray<readonly [number, number]>;

function extent(offset: number, length: number): FileExtent {
  return { offset, length };
}

/** Writes a member in any historical format. */
function raw(header: RawHeader): Uint8Array {
  const { name = 'file', type = '0', data = '', magic = 'ustar\u000000', prefix = '', link = '' } = header;
  const block = Buffer.alloc(512);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0');
  block.set(Buffer.from(bytesOfFileName(name)), 0);
  block.write(octal(0o644, 7), 100);
  if (header.uid) block.set(header.uid, 108);
  else block.write(octal(1, 7), 108);
  block.write(octal(2, 7), 116);
  const { size = Buffer.byteLength(data) } = header;
  if (typeof size === 'number') block.write(octal(size, 11), 124);
  else block.set(size, 124);
  block.write(octal(5, 11), 136);
  block.write(' '.repeat(8), 148);
  block.write(type, 156);
  block.set(Buffer.from(bytesOfFileName(link)), 157);
  block.write(magic, 257);
  const [major, minor] = header.device ?? [0, 0];
  block.write(octal(major, 7), 329);
  block.write(octal(minor, 7), 337);
  block.write(prefix, 345, 155);
  const more = Buffer.alloc(header.sparse ? 512 : 0);
  const writePair =
    (to: Buffer, at: number) =>
    ([offset, length]: readonly [number, number], index: number) =>
      to.write(`${octal(offset, 11)} ${octal(length, 11)} `, at + 24 * index);
  if (header.sparse) {
    header.sparse.pairs.forEach(writePair(block, 386));
    header.sparse.more.forEach(writePair(more, 0));
    block[482] = 1;
    block.write(octal(header.sparse.size, 11), 483);
  }
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(header.checksum ?? `${octal(sum, 6)}\u0000`, 148);
  const padding = (512 - (Buffer.byteLength(data) % 512)) % 512;
  return Buffer.concat([block, more, Buffer.from(data), Buffer.alloc(padding)]);
}

const END = new Uint8Array(1024);
const LONG = 'd/'.repeat(90) + 'x'.repeat(60);

function pax(records: Record<string, string>): Uint8Array {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = Buffer.byteLength(` ${key}=${value}\n`);
    const length = rest + String(rest + String(rest).length).length;
    return `${length} ${key}=${value}\n`;
  });
  return raw({ name: 'PaxHeader', type: 'x', data: lines.join('') });
}

async function read(bytes: Uint8Array, chunkBytes = 700): Promise<unknown[]> {
  const chunks = (async function* () {
    for (let start = 0; start < bytes.byteLength; start += chunkBytes) yield bytes.subarray(start, start + chunkBytes);
  })();
  const found: unknown[] = [];
  for await (const { name, node } of readTar(new ByteReader(chunks))) {
    const { kind, ...rest } = node;
    const parts: Uint8Array[] = [];
    if ('content' in node) for await (const part of node.content) parts.push(part);
    const { content: _, size: __, ...shown } = rest as Record<string, unknown>;
    const xattrs = node.xattrs && [...node.xattrs].map(([key, value]) => [key, Buffer.from(value).toString()]);
    found.push({
      name,
      kind,
      ...shown,
      ...(kind === 'file' ? { text: Buffer.concat(parts).toString() } : {}),
      ...(xattrs ? { xattrs } : {}),
    });
  }
  return found;
}

const plain = { mode: 0o644, uid: 1, gid: 2, modifiedMs: 5000 };

const cases: Record<string, { blocks: readonly Uint8Array[]; members: unknown[] }> = {
  'a file': { blocks: [raw({ data: 'text' }), END], members: [{ name: 'file', kind: 'file', ...plain, text: 'text' }] },
  'a file in the format of 1979': {
    blocks: [raw({ magic: '', type: '\0', data: 'old' }), END],
    members: [{ name: 'file', kind: 'file', ...plain, text: 'old' }],
  },
  'a directory in the format of 1979': {
    blocks: [raw({ magic: '', type: '0', name: 'folder/' }), END],
    members: [{ name: 'folder/', kind: 'directory', ...plain }],
  },
  'every other member type': {
    blocks: [
      raw({ type: '5', name: 'd/' }),
      raw({ type: '2', name: 's', link: '../to' }),
      raw({ type: '1', name: 'h', link: 'file' }),
      raw({ type: '3', name: 'c', device: [1, 3] }),
      raw({ type: '4', name: 'b', device: [8, 0] }),
      raw({ type: '6', name: 'p' }),
      END,
    ],
    members: [
      { name: 'd/', kind: 'directory', ...plain },
      { name: 's', kind: 'symlink', ...plain, target: '../to' },
      { name: 'h', kind: 'hardLink', ...plain, target: 'file' },
      { name: 'c', kind: 'characterDevice', ...plain, major: 1, minor: 3 },
      { name: 'b', kind: 'blockDevice', ...plain, major: 8, minor: 0 },
      { name: 'p', kind: 'fifo', ...plain },
    ],
  },
  'a name with a prefix': {
    blocks: [raw({ prefix: 'a/long/way', name: 'file' }), END],
    members: [{ name: 'a/long/way/file', kind: 'file', ...plain, text: '' }],
  },
  'a GNU name, which has no prefix': {
    blocks: [raw({ magic: 'ustar  \0', prefix: 'times of GNU', name: 'file' }), END],
    members: [{ name: 'file', kind: 'file', ...plain, text: '' }],
  },
  'long names of GNU': {
    blocks: [
      raw({ type: 'L', name: '././@LongLink', data: `${LONG}\0` }),
      raw({ type: 'K', name: '././@LongLink', data: `${LONG}/to\0` }),
      raw({ type: '2', name: 'cut', link: 'cut' }),
      raw({ name: 'next' }),
      END,
    ],
    members: [
      { name: LONG, kind: 'symlink', ...plain, target: `${LONG}/to` },
      { name: 'next', kind: 'file', ...plain, text: '' },
    ],
  },
  'pax records, for one member only': {
    blocks: [
      pax({
        path: LONG,
        uid: '3000000000',
        gid: '7',
        mtime: '1.5',
        size: '4',
        'SCHILY.xattr.user.note': 'a=b\nc',
        comment: 'nothing',
      }),
      raw({ data: 'text', size: 0 }),
      raw({ name: 'next' }),
      END,
    ],
    members: [
      {
        name: LONG,
        kind: 'file',
        mode: 0o644,
        uid: 3000000000,
        gid: 7,
        modifiedMs: 1500,
        text: 'text',
        xattrs: [['user.note', 'a=b\nc']],
      },
      { name: 'next', kind: 'file', ...plain, text: '' },
    ],
  },
  'an archive with a global pax header': {
    blocks: [raw({ type: 'g', data: '20 comment=nothing!\n' }), raw({}), END],
    members: [{ name: 'file', kind: 'file', ...plain, text: '' }],
  },
  'a pax size that does not apply to another header before the member': {
    blocks: [pax({ size: '4' }), raw({ type: 'L', data: `${LONG}\0` }), raw({ data: 'text', size: 0 }), END],
    members: [{ name: LONG, kind: 'file', ...plain, text: 'text' }],
  },
  'names that are not UTF-8': {
    blocks: [raw({ type: '2', link: 'a\udce9', name: '\udcff' }), END],
    members: [{ name: '\udcff', kind: 'symlink', ...plain, target: 'a\udce9' }],
  },
  'a time beyond the limit': {
    blocks: [pax({ mtime: '9007199254740991' }), raw({}), END],
    members: [{ name: 'file', kind: 'file', ...plain, modifiedMs: 253_402_300_799_000, text: '' }],
  },
  'a sparse file of GNU': {
    blocks: [
      raw({ type: 'S', data: 'abcde', sparse: { size: 9000, pairs: [[512, 2]], more: [[4096, 3]] } }),
      raw({ name: 'next' }),
      END,
    ],
    members: [
      { name: 'file', kind: 'file', ...plain, extents: [extent(512, 2), extent(4096, 3)], text: 'abcde' },
      { name: 'next', kind: 'file', ...plain, text: '' },
    ],
  },
  'a sparse file of pax 0.1': {
    blocks: [
      pax({ 'GNU.sparse.map': '0,2,4096,3,9000,0', 'GNU.sparse.size': '9000', 'GNU.sparse.name': 'true' }),
      raw({ data: 'abcde' }),
      END,
    ],
    members: [{ name: 'true', kind: 'file', ...plain, extents: [extent(0, 2), extent(4096, 3)], text: 'abcde' }],
  },
  'a sparse file of pax 1.0': {
    blocks: [
      pax({ 'GNU.sparse.major': '1', 'GNU.sparse.minor': '0', 'GNU.sparse.realsize': '9000' }),
      raw({ data: `${'2\n0\n2\n4096\n3\n'.padEnd(512, '\0')}abcde` }),
      raw({ name: 'next' }),
      END,
    ],
    members: [
      { name: 'file', kind: 'file', ...plain, extents: [extent(0, 2), extent(4096, 3)], text: 'abcde' },
      { name: 'next', kind: 'file', ...plain, text: '' },
    ],
  },
  'base-256 numbers': {
    blocks: [raw({ uid: new Uint8Array([0x80, 0, 0, 0, 0xb2, 0xd0, 0x5e, 0]) }), END],
    members: [{ name: 'file', kind: 'file', ...plain, uid: 3_000_000_000, text: '' }],
  },
  'an archive without an end marker': {
    blocks: [raw({})],
    members: [{ name: 'file', kind: 'file', ...plain, text: '' }],
  },
  'nothing after the end marker': { blocks: [END, raw({})], members: [] },
  nothing: { blocks: [], members: [] },
};
for (const [name, { blocks, members }] of Object.entries(cases)) {
  test(`readTar() reads ${name}`, async () => {
    assert.deepEqual(await read(Buffer.concat(blocks)), members);
  });
}

const invalid: Record<string, { blocks: readonly Uint8Array[]; message: RegExp }> = {
  'a wrong checksum': { blocks: [raw({ checksum: '0000000\0' })], message: /wrong checksum/ },
  'data that is not an archive': { blocks: [Buffer.from('#!/bin/sh\n'.repeat(60))], message: /checksum|number/ },
  'a sparse file of another version': {
    blocks: [pax({ 'GNU.sparse.major': '2', 'GNU.sparse.realsize': '1' }), raw({})],
    message: /unsupported version 2\.0/,
  },
  'a sparse map that does not match its content': {
    blocks: [pax({ 'GNU.sparse.map': '0,3', 'GNU.sparse.size': '9' }), raw({ data: 'ab' })],
    message: /not of this content/,
  },
  'a sparse map that goes back': {
    blocks: [pax({ 'GNU.sparse.map': '4,1,0,1', 'GNU.sparse.size': '9' }), raw({ data: 'ab' })],
    message: /out of order/,
  },
  'a sparse map without an end': {
    blocks: [
      pax({ 'GNU.sparse.major': '1', 'GNU.sparse.minor': '0', 'GNU.sparse.realsize': '9' }),
      raw({ data: '9\n'.padEnd(512, '\0') }),
    ],
    message: /no end/,
  },
  'headers without a member': { blocks: Array.from({ length: 40 }, () => raw({ type: 'g' })), message: /too many/ },
  'an invalid owner': { blocks: [pax({ uid: '-1' }), raw({})], message: /no owner has the number -1/ },
  'an invalid device': {
    blocks: [raw({ type: '3', device: [4096, 0] })],
    message: /no device has the number 4096/,
  },
  'an unknown member type': { blocks: [raw({ type: 'Z' })], message: /file: unknown kind "Z"/ },
  'a truncated header': { blocks: [raw({}).subarray(0, 300)], message: /unexpected end of data/ },
  'a truncated file': { blocks: [raw({ data: 'x'.repeat(900) }).subarray(0, 1000)], message: /unexpected end/ },
  'a pax record without an end': { blocks: [raw({ type: 'x', data: '99 path=a\n' })], message: /invalid pax record/ },
  'a pax record without a length': { blocks: [raw({ type: 'x', data: 'path=a\n' })], message: /invalid pax record/ },
  'a pax size that is not a number': { blocks: [pax({ size: '1e3' }), raw({})], message: /size is "1e3"/ },
  'a negative size': { blocks: [pax({ size: '-1' }), raw({})], message: /size -1/ },
  'a size beyond the limit': {
    blocks: [raw({ size: new Uint8Array([0x80, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]) })],
    message: /too large/,
  },
  'a name of a gigabyte': { blocks: [raw({ type: 'L', size: 2 ** 30 })], message: /bytes of metadata/ },
};
for (const [name, { blocks, message }] of Object.entries(invalid)) {
  test(`readTar() rejects ${name}`, async () => {
    await assert.rejects(read(Buffer.concat(blocks)), { message });
  });
}

test('readTar() skips unread content for any chunk size', async () => {
  const archive = Buffer.concat([raw({ name: 'a', data: 'x'.repeat(1500) }), raw({ name: 'b', data: 'y' }), END]);
  for (const chunk of [1, 511, 512, 513, 4096]) {
    const names: string[] = [];
    const bytes = (async function* () {
      for (let start = 0; start < archive.byteLength; start += chunk) yield archive.subarray(start, start + chunk);
    })();
    for await (const { name } of readTar(new ByteReader(bytes))) names.push(name);
    assert.deepEqual(names, ['a', 'b']);
  }
});

test('writeTar() writes what readTar() reads', async () => {
  const content = (async function* () {
    yield Buffer.from('text');
  })();
  const attributes = { mode: 0o4755, uid: 3_000_000, gid: 9, modifiedMs: 7000 };
  const xattrs = new Map([['security.capability', new Uint8Array([0, 0x0a, 0xff])]]);
  const members: TreeMember[] = [
    { path: '', node: { ...attributes, kind: 'directory' } },
    { path: LONG, node: { ...attributes, kind: 'file', size: 4, content, xattrs } },
    { path: 'same', node: { ...attributes, kind: 'hardLink', target: LONG } },
    { path: 'tty', node: { ...attributes, kind: 'characterDevice', major: 4, minor: 64 } },
  ];
  const parts: Uint8Array[] = [];
  for await (const part of writeTar(
    (async function* () {
      yield* members;
    })(),
  ))
    parts.push(part);
  assert.deepEqual(await read(Buffer.concat(parts)), [
    { name: './', kind: 'directory', ...attributes },
    {
      name: LONG,
      kind: 'file',
      ...attributes,
      text: 'text',
      xattrs: [['security.capability', Buffer.from([0, 0x0a, 0xff]).toString()]],
    },
    { name: 'same', kind: 'hardLink', ...attributes, target: LONG },
    { name: 'tty', kind: 'characterDevice', ...attributes, major: 4, minor: 64 },
  ]);
});
