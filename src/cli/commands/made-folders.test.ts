import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { findMissingFolders, removeEmptyFolders } from './made-folders.ts';

test('what has to be made for a path is its uppermost missing folder', async () => {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/var/lib');
  assert.deepEqual(await findMissingFolders(['/var/lib/a', '/run/b/c', '/run/b/d', '/var/lib'], fs), [
    '/var/lib/a',
    '/run',
  ]);
});

test('folders with nothing but folders in them are removed', async () => {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/a/b/c');
  await fs.makeDirectory('/a/d');
  await removeEmptyFolders(['/none', '/a'], fs);
  assert.equal(await fs.stat('/a'), undefined);
});

test('a file keeps all folders of its tree, and so does what lies deep', async () => {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/a/layer/empty');
  await fs.makeDirectory('/a/images');
  await fs.writeFile('/a/images/1.json', '{}');
  await fs.makeDirectory('/b/1/2/3/4/5/6/7/8');
  await removeEmptyFolders(['/a', '/b'], fs);
  assert.ok(await fs.stat('/a/layer/empty'));
  assert.ok(await fs.stat('/b/1/2/3/4/5/6/7/8'));
});
