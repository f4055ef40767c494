import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { ociArchive } from './oci-archive.ts';

test('ociArchive() names the image and finds every blob by its digest', () => {
  const { bytes, id } = ociArchive({
    reference: 'localhost/test:1',
    architecture: 'amd64',
    files: [{ kind: 'file', path: 'usr/bin/true', mode: 0o755, data: new Uint8Array(3) }],
    config: { Cmd: ['/usr/bin/true'] },
  });
  const member = (path: string): Buffer => execFileSync('tar', ['--extract', '--to-stdout', path], { input: bytes });
  const blob = (digest: string): Buffer => member(`blobs/${digest.replace(':', '/')}`);

  const index = JSON.parse(member('index.json').toString());
  assert.deepEqual(index.manifests[0].annotations, { 'io.containerd.image.name': 'localhost/test:1' });
  const manifest = JSON.parse(blob(index.manifests[0].digest).toString());
  assert.equal(manifest.config.digest, id);
  const config = JSON.parse(blob(id).toString());
  assert.deepEqual(config, {
    architecture: 'amd64',
    os: 'linux',
    config: { Cmd: ['/usr/bin/true'] },
    rootfs: { type: 'layers', diff_ids: [manifest.layers[0].digest] },
  });
  const layer = blob(manifest.layers[0].digest);
  assert.equal(layer.byteLength, manifest.layers[0].size);
  assert.equal(execFileSync('tar', ['--list'], { input: layer }).toString(), 'usr/\nusr/bin/\nusr/bin/true\n');
});
