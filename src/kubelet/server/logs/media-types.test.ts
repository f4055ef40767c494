import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import { createMemoryHost } from '../../../host/fake/memory-host.ts';
import { MediaTypes } from './media-types.ts';
import { sniffMediaType } from './sniff-media-type.ts';

async function typesWith(files: Readonly<Record<string, string>>): Promise<MediaTypes> {
  const { fs } = createMemoryHost();
  for (const [path, text] of Object.entries(files)) {
    await fs.makeDirectory(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, text);
  }
  return new MediaTypes(fs);
}

test("MediaTypes has Go's own types", async () => {
  const types = await typesWith({});
  assert.equal(await types.typeOf('a.HTML'), 'text/html; charset=utf-8');
  assert.equal(await types.typeOf('a.tar.gz'), 'application/gzip');
  assert.equal(await types.typeOf('a.log'), undefined);
  assert.equal(await types.typeOf('log'), undefined);
});

test('MediaTypes takes the first type of the shared database, but keeps its own', async () => {
  const globs = '# comment\n80:text/x-log:*.log\n50:text/other:*.log\n50:text/plain:*.json\n50:text/x-make:makefile\n';
  const types = await typesWith({ '/usr/share/mime/globs2': globs, '/etc/mime.types': 'text/wrong log' });
  assert.equal(await types.typeOf('a.log'), 'text/x-log; charset=utf-8');
  assert.equal(await types.typeOf('a.json'), 'application/json');
});

test('MediaTypes takes lists of types where there is no shared database', async () => {
  const types = await typesWith({ '/etc/mime.types': '# x\ntext/plain asc log # of programs\n\nimage/x-y xy\n' });
  assert.equal(await types.typeOf('a.log'), 'text/plain; charset=utf-8');
  assert.equal(await types.typeOf('a.xy'), 'image/x-y');
  assert.equal(await types.typeOf('a.of'), undefined);
});

const CONTENTS: readonly (readonly [content: string | Uint8Array, type: string])[] = [
  ['', 'text/plain; charset=utf-8'],
  ['one\n', 'text/plain; charset=utf-8'],
  ['\u001b[31mred', 'text/plain; charset=utf-8'],
  [' <HTML>', 'text/html; charset=utf-8'],
  ['<b>', 'text/html; charset=utf-8'],
  ['<br/>', 'text/plain; charset=utf-8'],
  ['<?xml?>', 'text/xml; charset=utf-8'],
  [Uint8Array.of(0, 1, 2), 'application/octet-stream'],
  [Uint8Array.of(0x1f, 0x8b, 8, 0), 'application/x-gzip'],
  [Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xd, 0xa, 0x1a, 0xa), 'image/png'],
];

for (const [content, type] of CONTENTS) {
  test(`sniffMediaType(): ${JSON.stringify(content)} is ${type}`, () => {
    assert.equal(sniffMediaType(Buffer.from(content)), type);
  });
}
