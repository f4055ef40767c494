import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LruMap } from './lru-map.ts';

test('LruMap drops the least recently used entry', () => {
  const map = new LruMap<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  map.get('a');
  map.set('c', 3);
  assert.deepEqual(
    ['a', 'b', 'c'].map((key) => map.get(key)),
    [1, undefined, 3],
  );
});

test('LruMap holds one entry per key', () => {
  const map = new LruMap<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  map.set('b', 3);
  assert.deepEqual([map.get('a'), map.get('b')], [1, 3]);
});
