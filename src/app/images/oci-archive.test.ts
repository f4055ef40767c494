import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ImageContent, ociArchive } from './oci-archive.ts';

const text = (content: string): Uint8Array => new TextEncoder().encode(content);

const content: ImageContent = {
  reference: 'localhost/test:1',
  architecture: 'amd64',
  files: [{ kind: 'file', path: 'usr/bin/true', mode: 0o755, data: text('#!') }],
  config: { Cmd: ['/usr/bin/true'] },
};

test('ociArchive() gives the same bytes for the same content, on every machine', () => {
  assert.deepEqual(ociArchive(content), ociArchive(structuredClone(content)));
  assert.equal(ociArchive(content).id, 'sha256:d2b898722cd7aa105abbff52bf63a19034cb82009b8d49192e213c407e825341');
});

const changes: Record<string, Partial<ImageContent>> = {
  files: { files: [{ kind: 'file', path: 'usr/bin/true', mode: 0o755, data: text('#?') }] },
  config: { config: { Cmd: ['/usr/bin/false'] } },
  architecture: { architecture: 'arm64' },
};

for (const [name, change] of Object.entries(changes)) {
  test(`ociArchive() gives a different id for different ${name}`, () => {
    assert.notEqual(ociArchive({ ...content, ...change }).id, ociArchive(content).id);
  });
}
