import assert from 'node:assert/strict';
import { fstatSync, openSync } from 'node:fs';
import { test } from 'node:test';
import { isJournalStream } from './journal-stream.ts';

test('isJournalStream() compares the descriptor with the stream that systemd names', () => {
  const fd = openSync('/dev/null', 'r');
  const { dev, ino } = fstatSync(fd);
  assert.equal(isJournalStream(fd, { JOURNAL_STREAM: `${dev}:${ino}` }), true);
  assert.equal(isJournalStream(fd, { JOURNAL_STREAM: `${dev}:${ino + 1}` }), false);
  assert.equal(isJournalStream(fd, {}), false);
});
