import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import test from 'node:test';
import type { DownwardAPIVolumeFile } from '../../api/generated/core-v1.ts';
import { exampleContainer, examplePod } from '../sync/config/pod.fixture.ts';
import { downwardContent } from './downward-content.ts';

const pod = examplePod({
  metadata: { labels: { app: 'web', 'a.b/c': 'x "y"' }, annotations: { note: 'hi' } },
  spec: {
    initContainers: [{ ...exampleContainer, name: 'first' }],
    resources: { limits: { memory: '1Gi' } },
  },
  container: { resources: { requests: { cpu: '250m' }, limits: { cpu: '1500m' } } },
});
const context = { pod, allocatable: { cpu: '4', memory: '8Gi' } };

function text(source: Partial<DownwardAPIVolumeFile>): string {
  const file = downwardContent([{ path: 'x', ...source }], 0o644, context).get('x');
  return Buffer.from(file?.data ?? []).toString();
}

const fields: Record<string, string> = {
  'metadata.name': 'hello',
  'metadata.namespace': 'default',
  'metadata.uid': 'u1',
  'metadata.labels': 'a.b/c="x \\"y\\""\napp="web"',
  "metadata.labels['app']": 'web',
  "metadata.annotations['note']": 'hi',
  "metadata.annotations['none']": '',
};

for (const [fieldPath, expected] of Object.entries(fields)) {
  test(`downwardContent() shows ${fieldPath}`, () => {
    assert.equal(text({ fieldRef: { fieldPath } }), expected);
  });
}

for (const fieldPath of ['status.podIP', 'spec.nodeName', 'metadata.generation', "spec['x']"]) {
  test(`downwardContent() does not show ${fieldPath}`, () => {
    assert.throws(() => text({ fieldRef: { fieldPath } }), { message: `unsupported fieldPath: ${fieldPath}` });
  });
}

const resources: Record<string, { containerName: string; resource: string; divisor?: string; expected: string }> = {
  'a limit': { containerName: 'web', resource: 'limits.cpu', divisor: '1m', expected: '1500' },
  'a request, rounded up': { containerName: 'web', resource: 'requests.cpu', expected: '1' },
  'the node’s allocatable, not the pod-level limit, for a limit that is not set': {
    containerName: 'web',
    resource: 'limits.memory',
    divisor: '1Gi',
    expected: '8',
  },
  'the same for an init container': { containerName: 'first', resource: 'limits.cpu', expected: '4' },
};

for (const [what, { expected, ...resourceFieldRef }] of Object.entries(resources)) {
  test(`downwardContent() shows ${what}`, () => {
    assert.equal(text({ resourceFieldRef }), expected);
  });
}

test('downwardContent() rejects a container that does not exist', () => {
  const resourceFieldRef = { containerName: 'nope', resource: 'limits.cpu' };
  assert.throws(() => text({ resourceFieldRef }), { message: 'container nope not found' });
});

test('downwardContent() reports all invalid files, not only the first', () => {
  const items = [
    { path: 'a', fieldRef: { fieldPath: 'spec.nodeName' } },
    { path: 'b', fieldRef: { fieldPath: 'metadata.name' } },
    { path: 'c', resourceFieldRef: { containerName: 'nope', resource: 'limits.cpu' } },
  ];
  assert.throws(
    () => downwardContent(items, 0o644, context),
    (error) => {
      assert.ok(error instanceof AggregateError);
      assert.deepEqual(
        error.errors.map(({ message }) => message),
        ['unsupported fieldPath: spec.nodeName', 'container nope not found'],
      );
      return true;
    },
  );
});

test('downwardContent() applies the mode of each file', () => {
  const fieldRef = { fieldPath: 'metadata.name' };
  const content = downwardContent(
    [
      { path: 'a/b', fieldRef, mode: 0o400 },
      { path: 'c', fieldRef },
    ],
    0o640,
    context,
  );
  assert.deepEqual(
    [...content].map(([path, { mode }]) => [path, mode]),
    [
      ['a/b', 0o400],
      ['c', 0o640],
    ],
  );
});
