import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { ByteReader } from '../images/archive/byte-reader.ts';
import { readTar } from '../images/archive/read-tar.ts';
import { buildLayer, type FakeFiles } from '../images/fake/image-archives.ts';
import { type UnpackedLayer, unpackLayer, type WhiteoutFormat } from './unpack-layer.ts';

const OPAQUE = 'trusted.overlay.opaque';
const overlay: WhiteoutFormat = { kind: 'overlay', opaqueXattr: OPAQUE };
const signal = new AbortController().signal;

interface Unpacked extends UnpackedLayer {
  /** Texts of files, kinds of everything else; opaque directories are marked. */
  readonly files: Record<string, string>;
  /** A file beside the layer's directory. */
  readonly outside: string;
}

async function unpack(files: FakeFiles, format: WhiteoutFormat = overlay): Promise<Unpacked> {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/data/layer');
  await fs.writeFile('/data/outside', 'untouched');
  const archive = await buildLayer(files);
  const bytes = (async function* () {
    yield archive;
  })();
  await using writer = await fs.writeTree('/data/layer');
  const result = await unpackLayer(readTar(new ByteReader(bytes)), writer, { format }, signal);
  const shown: Record<string, string> = {};
  for await (const { path, node } of fs.readTree('/data/layer', signal)) {
    const parts: Uint8Array[] = [];
    if (node.kind === 'file') for await (const part of node.content) parts.push(part);
    const what = node.kind === 'file' ? Buffer.concat(parts).toString() : node.kind;
    if (path !== '' || node.xattrs) shown[path] = node.xattrs?.has(OPAQUE) ? `${what}, opaque` : what;
  }
  return { ...result, files: shown, outside: await fs.readText('/data/outside') };
}

const none = { implied: [''], removed: [], opaque: [], outside: 'untouched' };
const cases: Record<string, { given: FakeFiles; format?: WhiteoutFormat; want: Partial<Unpacked> }> = {
  'files and directories': { given: { a: null, 'a/b': 'text' }, want: { files: { a: 'directory', 'a/b': 'text' } } },
  'names with dots': {
    given: { './a': null, './a/./b': 'x', 'a/../c': 'y' },
    want: { files: { a: 'directory', 'a/b': 'x', c: 'y' } },
  },
  'absolute names': {
    given: { '/etc/passwd': 'x' },
    want: { implied: ['', 'etc'], files: { etc: 'directory', 'etc/passwd': 'x' } },
  },
  'an explicit root': { given: { './': null, a: 'x' }, want: { implied: [], files: { a: 'x' } } },
  'a whiteout of a file': {
    given: { a: null, 'a/.wh.b': '' },
    want: { removed: ['a/b'], files: { a: 'directory', 'a/b': 'characterDevice' } },
  },
  'an opaque directory': {
    given: { 'a/.wh..wh..opq': '', a: null, 'a/b': 'x' },
    want: { opaque: ['a'], files: { a: 'directory, opaque', 'a/b': 'x' } },
  },
  'an opaque directory without a member': {
    given: { 'a/.wh..wh..opq': '' },
    want: { opaque: ['a'], files: { a: 'directory, opaque' } },
  },
  'an opaque root': {
    given: { '.wh..wh..opq': '' },
    want: { opaque: [''], files: { '': 'directory, opaque' } },
  },
  'a file that replaces a whiteout': { given: { '.wh.a': '', a: 'new' }, want: { files: { a: 'new' } } },
  'the same the other way round': { given: { a: 'new', '.wh.a': '' }, want: { files: { a: 'new' } } },
  'a directory that replaces a whiteout': {
    given: { '.wh.a': '', a: null, 'a/b': 'x' },
    want: { opaque: ['a'], files: { a: 'directory, opaque', 'a/b': 'x' } },
  },
  'a whiteout below a removed directory': {
    given: { '.wh.a': '', 'a/.wh.b': '', 'a/c/.wh..wh..opq': '' },
    want: { removed: ['a', 'a/b'], opaque: ['a/c'], files: { a: 'characterDevice' } },
  },
  'names of aufs': { given: { '.wh..wh.plnk': null, '.wh..wh.aufs': '', a: '' }, want: { files: { a: '' } } },
  'whiteouts as a list': {
    given: { 'a/.wh..wh..opq': '', a: null, '.wh.b': '' },
    format: { kind: 'list' },
    want: { opaque: ['a'], removed: ['b'], files: { a: 'directory' } },
  },
  'a directory without its overlayfs attributes': {
    given: {
      a: {
        kind: 'directory',
        xattrs: new Map([
          [OPAQUE, Buffer.from('y')],
          ['trusted.overlay.redirect', Buffer.from('/etc')],
          ['user.overlay.redirect', Buffer.from('/etc')],
        ]),
      },
    },
    want: { files: { a: 'directory' } },
  },
  'a link to the outside as a link': {
    given: { a: { kind: 'symlink', target: '../outside' } },
    want: { files: { a: 'symlink' } },
  },
  'a file through a link within the root': {
    given: { up: { kind: 'symlink', target: '..' }, 'up/outside': 'changed' },
    want: { files: { up: 'symlink', outside: 'changed' } },
  },
  'a file that replaces a link to the outside': {
    given: { a: { kind: 'symlink', target: '/data/outside' }, './a': 'mine' },
    want: { files: { a: 'mine' } },
  },
  'a whiteout through a link within the root': {
    given: { up: { kind: 'symlink', target: '../..' }, 'up/.wh.data': '' },
    want: { removed: ['up/data'], files: { data: 'characterDevice', up: 'symlink' } },
  },
};
for (const [name, { given, format, want }] of Object.entries(cases)) {
  test(`unpackLayer() unpacks ${name}`, async () => {
    assert.deepEqual(await unpack(given, format), { ...none, ...want });
  });
}

const rejected: Record<string, { given: FakeFiles; message: RegExp }> = {
  'a name that leads out': { given: { '../outside': 'x' }, message: /\.\.\/outside: leads out of the archive/ },
  'a name that leads out later': { given: { 'a/../../outside': 'x' }, message: /leads out/ },
  'a hard link that leads out': { given: { a: { kind: 'hardLink', target: '../outside' } }, message: /leads out/ },
  'a hard link to a missing file': { given: { a: { kind: 'hardLink', target: 'data/outside' } }, message: /ENOENT/ },
  'a hard link through a link': {
    given: { up: { kind: 'symlink', target: '/..' }, a: { kind: 'hardLink', target: 'up/data/outside' } },
    message: /ENOENT/,
  },
  'a whiteout of the parent': { given: { 'a/.wh...': '' }, message: /invalid whiteout/ },
  'a whiteout without a name': { given: { '.wh.': '' }, message: /invalid whiteout/ },
  'a name beyond the limit': { given: { ['é'.repeat(128)]: '' }, message: /a name of 256 bytes/ },
  'a path beyond the limit': { given: { [`${'d/'.repeat(2047)}xx`]: '' }, message: /a path of 4096 bytes/ },
  'a link beyond the limit': {
    given: { a: { kind: 'symlink', target: 'x'.repeat(4096) } },
    message: /^a: a link to "x/,
  },
  'an empty link': { given: { a: { kind: 'symlink', target: '' } }, message: /a: a link to ""/ },
  'a file where the root is': { given: { '.': 'x' }, message: /EISDIR/ },
  'a loop of links': {
    given: { a: { kind: 'symlink', target: 'b' }, b: { kind: 'symlink', target: 'a' }, 'a/c': 'x' },
    message: /ELOOP/,
  },
};
for (const [name, { given, message }] of Object.entries(rejected)) {
  test(`unpackLayer() rejects ${name}`, async () => {
    await assert.rejects(unpack(given), { message });
  });
}

test('unpackLayer() rejects too many members, including whiteouts', async () => {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/data');
  await using writer = await fs.writeTree('/data');
  const node = { kind: 'directory', mode: 0o755, uid: 0, gid: 0, modifiedMs: 0 } as const;
  const members = (async function* () {
    for (;;) yield { name: '.wh..wh.none', node, offset: 0, stored: 0 };
  })();
  const unpacked = unpackLayer(members, writer, { format: overlay, maxMembers: 1000 }, signal);
  await assert.rejects(unpacked, { name: 'TarError', message: 'the layer has more than 1000 files' });
});

for (const [what, name] of Object.entries({
  whiteouts: '.wh.file',
  directories: 'folder/',
  'implied directories': 'a/b/c/file',
})) {
  test(`unpackLayer() rejects too many ${what}`, async () => {
    const { fs } = createMemoryHost();
    await fs.makeDirectory('/data');
    await using writer = await fs.writeTree('/data');
    const kind = what === 'directories' ? 'directory' : 'fifo';
    const members = (async function* () {
      for (let number = 0; ; number++) {
        const node = { kind, mode: 0o755, uid: 0, gid: 0, modifiedMs: 0 } as const;
        const numbered = what === 'whiteouts' ? `${name}${number}` : `${number}/${name}`;
        yield { name: numbered, node, offset: 0, stored: 0 };
      }
    })();
    const unpacked = unpackLayer(members, writer, { format: overlay, maxPathBytes: 10_000 }, signal);
    await assert.rejects(unpacked, { name: 'TarError', message: /too many directories and whiteouts/ });
  });
}
