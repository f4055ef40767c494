import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../api/generated/core-v1.ts';
import { NodeCache } from './node-cache.ts';

function nodeOf(uid: string, resourceVersion: string): Node {
  return { metadata: { name: 'box', uid, resourceVersion }, spec: {} };
}

test('NodeCache notifies listeners of newer versions and of the deletion', () => {
  const own = new NodeCache('box');
  const seen: (string | undefined)[] = [];
  const unsubscribe = own.subscribe(() => seen.push(own.current?.metadata.resourceVersion));
  own.onObserved(nodeOf('a', '10'));
  own.onObserved(nodeOf('a', '9'));
  own.onObserved(nodeOf('b', '2'));
  own.onDeleted('a');
  own.onDeleted('b');
  assert.deepEqual(seen, ['10', '2', undefined]);
  unsubscribe();
  own.onObserved(nodeOf('c', '3'));
  assert.equal(seen.length, 3);
});
