import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ImageName,
  ImageNameError,
  parseImageName,
  referenceError,
  repositoryOf,
  withDefaultTag,
  withoutTagAndDigest,
} from './image-name.ts';

const SHA = `sha256:${'a'.repeat(64)}`;

const parsed: Record<string, ImageName> = {
  busybox: { domain: 'docker.io', path: 'library/busybox', tag: 'latest', digest: undefined },
  'busybox:1.36': { domain: 'docker.io', path: 'library/busybox', tag: '1.36', digest: undefined },
  'me/app': { domain: 'docker.io', path: 'me/app', tag: 'latest', digest: undefined },
  'localhost/app:v1': { domain: 'localhost', path: 'app', tag: 'v1', digest: undefined },
  'localhost:5000/app': { domain: 'localhost:5000', path: 'app', tag: 'latest', digest: undefined },
  '[::1]:5000/app:v1': { domain: '[::1]:5000', path: 'app', tag: 'v1', digest: undefined },
  'Host/app': { domain: 'Host', path: 'app', tag: 'latest', digest: undefined },
  'index.docker.io/busybox': { domain: 'docker.io', path: 'library/busybox', tag: 'latest', digest: undefined },
  [`quay.io/a/b@${SHA}`]: { domain: 'quay.io', path: 'a/b', tag: undefined, digest: SHA },
  [`quay.io/a/b:v1@${SHA}`]: { domain: 'quay.io', path: 'a/b', tag: 'v1', digest: SHA },
};

for (const [text, expected] of Object.entries(parsed)) {
  test(`parseImageName() reads ${text}`, () => {
    assert.deepEqual(parseImageName(text), expected);
  });
}

const refused: Record<string, string> = {
  '': 'invalid reference format',
  ' busybox': 'invalid reference format',
  'busybox:': 'invalid reference format',
  'a//b': 'invalid reference format',
  'a__ _b': 'invalid reference format',
  BusyBox: 'invalid reference format: repository name (library/BusyBox) must be lowercase',
  ['f'.repeat(64)]: `invalid repository name (${'f'.repeat(64)}), cannot specify 64-byte hexadecimal strings`,
  [`a@sha256:${'a'.repeat(63)}`]: 'invalid checksum digest length',
  [`a@md5:${'a'.repeat(32)}`]: 'unsupported digest algorithm',
};

for (const [text, why] of Object.entries(refused)) {
  test(`parseImageName() refuses ${JSON.stringify(text)}`, () => {
    assert.throws(() => parseImageName(text), new ImageNameError(`couldn't parse image name "${text}": ${why}`));
  });
}

const tagged: Record<string, string> = {
  busybox: 'busybox:latest',
  'busybox:1': 'busybox:1',
  'busybox:latest': 'busybox:latest',
  'localhost:5000/busybox': 'localhost:5000/busybox:latest',
  [`busybox@sha256:${'a'.repeat(64)}`]: `busybox@sha256:${'a'.repeat(64)}`,
  [`busybox:1@sha256:${'a'.repeat(64)}`]: `busybox:1@sha256:${'a'.repeat(64)}`,
};

for (const [image, expected] of Object.entries(tagged)) {
  test(`withDefaultTag() makes ${image} ${expected}`, () => assert.equal(withDefaultTag(image), expected));
}

const references: Record<string, string | undefined> = {
  app: undefined,
  'localhost:5000/team/app:1': undefined,
  'Registry.example/app': undefined,
  'registry.example/App': 'repository name must be lowercase',
  'a b': 'invalid reference format',
  'a//b': 'invalid reference format',
  '': 'repository name must have at least one component',
  ['a'.repeat(256)]: 'repository name must not be more than 255 characters',
};

for (const [text, message] of Object.entries(references)) {
  test(`referenceFault() says of ${JSON.stringify(text.slice(0, 30))}: ${message}`, () => {
    assert.equal(referenceError(text), message);
  });
}

const parts: Record<string, { repository: string; name: string }> = {
  busybox: { repository: 'docker.io/library/busybox', name: 'busybox' },
  'busybox:1': { repository: 'docker.io/library/busybox', name: 'busybox' },
  'me/app': { repository: 'docker.io/me/app', name: 'me/app' },
  'localhost:5000/app': { repository: 'localhost:5000/app', name: 'localhost:5000/app' },
  'localhost:5000/app:1': { repository: 'localhost:5000/app', name: 'localhost:5000/app' },
  [`app:1@sha256:${'a'.repeat(64)}`]: { repository: 'docker.io/library/app', name: 'app' },
};

for (const [image, { repository, name }] of Object.entries(parts)) {
  test(`repositoryOf() and withoutTagAndDigest() of ${image}`, () => {
    assert.deepEqual([repositoryOf(image), withoutTagAndDigest(image)], [repository, name]);
  });
}
