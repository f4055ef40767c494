import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tarArchive } from './tar.ts';

const text = (content: string): Uint8Array => new TextEncoder().encode(content);
const field = (archive: Uint8Array, offset: number, length: number): string =>
  Buffer.from(archive.subarray(offset, offset + length))
    .toString('latin1')
    .replace(/\0+$/, '');

test('tarArchive() writes the header fields of POSIX', () => {
  const archive = tarArchive([{ kind: 'file', path: 'etc/motd', mode: 0o1644, data: text('hi\n') }]);
  assert.deepEqual(
    {
      bytes: archive.byteLength,
      name: field(archive, 0, 100),
      mode: field(archive, 100, 8),
      uid: field(archive, 108, 8),
      gid: field(archive, 116, 8),
      size: field(archive, 124, 12),
      modified: field(archive, 136, 12),
      type: field(archive, 156, 1),
      magic: field(archive, 257, 8),
      data: field(archive, 512, 512),
    },
    {
      bytes: 4 * 512,
      name: 'etc/motd',
      mode: '0001644',
      uid: '0000000',
      gid: '0000000',
      size: '00000000003',
      modified: '00000000000',
      type: '0',
      magic: 'ustar\u000000',
      data: 'hi\n',
    },
  );
});

test('tarArchive() sums the header up with its own field as spaces', () => {
  const header = tarArchive([{ kind: 'directory', path: 'tmp', mode: 0o1777 }]).subarray(0, 512);
  const stored = Number.parseInt(field(header, 148, 6), 8);
  const blanked = Uint8Array.from(header, (byte, index) => (index >= 148 && index < 156 ? 0x20 : byte));
  assert.equal(
    stored,
    blanked.reduce((sum, byte) => sum + byte, 0),
  );
});
