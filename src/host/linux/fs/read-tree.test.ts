import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HardLinkCounter } from './read-tree.ts';

test('countedShare() counts a file with several links once', () => {
  const files = new HardLinkCounter();
  assert.deepEqual(
    [files.countedShare(1, 2), files.countedShare(2, 1), files.countedShare(1, 2), files.countedShare(2, 1)],
    [1, 1, 0, 1],
  );
});

test('countedShare() counts a fraction per link when there are more files than it keeps', () => {
  const files = new HardLinkCounter(1);
  const shares = [1, 2, 2, 2, 2, 1].map((inode) => files.countedShare(inode, inode * 2));
  assert.deepEqual(shares, [1, 0.25, 0.25, 0.25, 0.25, 0]);
});
