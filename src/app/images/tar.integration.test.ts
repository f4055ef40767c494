import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { tarArchive } from './tar.ts';

test('tarArchive() is read by tar(1), long names included', () => {
  const long = `${'folder/'.repeat(20)}${'ü'.repeat(60)}`;
  const archive = tarArchive([
    { kind: 'directory', path: 'tmp', mode: 0o1777 },
    { kind: 'file', path: long, mode: 0o755, data: new Uint8Array(512) },
    { kind: 'link', path: 'bin/sh', target: long },
  ]);
  const listing = execFileSync('tar', ['--list', '--verbose', '--utc', '--quoting-style=literal'], { input: archive });
  assert.deepEqual(
    listing
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/ +/g, ' ')),
    [
      'drwxrwxrwt 0/0 0 1970-01-01 00:00 tmp/',
      `-rwxr-xr-x 0/0 512 1970-01-01 00:00 ${long}`,
      `lrwxrwxrwx 0/0 0 1970-01-01 00:00 bin/sh -> ${long}`,
    ],
  );
});
