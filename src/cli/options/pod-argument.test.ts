import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podArgument } from './pod-argument.ts';

const understood: Record<string, { namespace?: string; name: string; in: string | undefined }> = {
  hello: { name: 'hello', in: undefined },
  'pod/hello': { name: 'hello', in: undefined },
  'po/hello': { name: 'hello', in: undefined },
  'pods/hello': { namespace: 'web', name: 'hello', in: 'web' },
  'web/hello': { name: 'hello', in: 'web' },
  'pod/web/hello': { namespace: 'web', name: 'hello', in: 'web' },
};

for (const [text, { namespace, name, in: expected }] of Object.entries(understood)) {
  test(`podArgument() reads ${text}`, () => {
    assert.deepEqual(podArgument(text, namespace), { name, namespace: expected });
  });
}

for (const text of ['', 'pod/', '/hello', 'a/b/c', 'other/hello']) {
  test(`podArgument() refuses ${JSON.stringify(text)}`, () => {
    assert.throws(() => podArgument(text, 'web'), { exitCode: 2 });
  });
}
