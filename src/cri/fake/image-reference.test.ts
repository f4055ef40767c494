import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normalizeReference, parseRepository } from './image-reference.ts';

const cases: Record<string, { given: string; whole: string; repository: string }> = {
  'a short name': {
    given: 'busybox',
    whole: 'docker.io/library/busybox:latest',
    repository: 'docker.io/library/busybox',
  },
  'a tag': { given: 'busybox:1', whole: 'docker.io/library/busybox:1', repository: 'docker.io/library/busybox' },
  'an owner': { given: 'me/app', whole: 'docker.io/me/app:latest', repository: 'docker.io/me/app' },
  'a registry': { given: 'k8s.io/pause:3', whole: 'k8s.io/pause:3', repository: 'k8s.io/pause' },
  'a port': { given: '127.0.0.1:5000/app', whole: '127.0.0.1:5000/app:latest', repository: '127.0.0.1:5000/app' },
  localhost: { given: 'localhost/app:1', whole: 'localhost/app:1', repository: 'localhost/app' },
  'a digest, which takes precedence over the tag': {
    given: 'me/app:1@sha256:00',
    whole: 'docker.io/me/app@sha256:00',
    repository: 'docker.io/me/app',
  },
};

for (const [name, { given, whole, repository }] of Object.entries(cases)) {
  test(`normalizeReference() of ${name}`, () => {
    assert.deepEqual([normalizeReference(given), parseRepository(normalizeReference(given))], [whole, repository]);
  });
}

for (const given of ['', 'UPPER', 'a//b']) {
  test(`normalizeReference() rejects ${JSON.stringify(given)}`, () => {
    assert.throws(() => normalizeReference(given), { code: 'Unknown', message: /invalid reference format/ });
  });
}
