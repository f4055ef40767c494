import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TokenBucket } from './token-bucket.ts';

test('TokenBucket starts full, refills with time and never above the burst', () => {
  const bucket = new TokenBucket({ qps: 2, burst: 3 }, 1000);
  assert.equal(bucket.left(1000), 3);
  bucket.take();
  bucket.take();
  assert.equal(bucket.left(1000), 1);
  assert.equal(bucket.left(1250), 1.5);
  assert.equal(bucket.left(10_000), 3);
});

test('TokenBucket can be taken from in advance, and gets tokens back', () => {
  const bucket = new TokenBucket({ qps: 2, burst: 1 }, 0);
  bucket.take();
  bucket.take();
  assert.equal(bucket.left(0), -1);
  assert.equal(bucket.left(250), -0.5);
  bucket.giveBack();
  assert.equal(bucket.left(250), 0.5);
});
