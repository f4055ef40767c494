import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LinkedFiles } from './linked-files.ts';

test('shareOf() counts a file with several names once', () => {
  const files = new LinkedFiles();
  assert.deepEqual([files.shareOf(1, 2), files.shareOf(2, 1), files.shareOf(1, 2), files.shareOf(2, 1)], [1, 1, 0, 1]);
});

test('shareOf() counts each name for its part when there are more files than it keeps', () => {
  const files = new LinkedFiles(1);
  const shares = [1, 2, 2, 2, 2, 1].map((inode) => files.shareOf(inode, inode * 2));
  assert.deepEqual(shares, [1, 0.25, 0.25, 0.25, 0.25, 0]);
});
