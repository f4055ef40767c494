import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busyboxImage } from './local-images.ts';

test('busyboxImage() has a link for each applet but the program itself', () => {
  const { files } = busyboxImage('amd64', new Uint8Array(), ['[', 'ash', 'busybox', 'sh']);
  assert.deepEqual(
    files.map((file) => (file.kind === 'link' ? `${file.path} -> ${file.target}` : `${file.kind} ${file.path}`)),
    [
      'file bin/busybox',
      'bin/[ -> busybox',
      'bin/ash -> busybox',
      'bin/sh -> busybox',
      'file etc/passwd',
      'file etc/group',
      'directory root',
      'directory tmp',
    ],
  );
});
