import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Inbox } from '../inbox.ts';
import { MAX_UNREAD_BYTES, UnreadLimit } from './unread-limit.ts';

test('UnreadLimit blocks the connection until half of the limit is read, in any stream', async () => {
  const limit = new UnreadLimit();
  const [slow, quick] = [new Inbox({ observer: limit }), new Inbox({ observer: limit })];
  slow.put(new Uint8Array(MAX_UNREAD_BYTES / 2 - 1000));
  quick.put(new Uint8Array(MAX_UNREAD_BYTES / 2));
  assert.equal(limit.untilBelowLimit(), undefined);
  quick.put(new Uint8Array(1000));
  const room = limit.untilBelowLimit();
  assert.ok(room);
  quick.discard();
  await room;
  assert.equal(limit.untilBelowLimit(), undefined);
});

test('UnreadLimit counts the overhead of small chunks', () => {
  const limit = new UnreadLimit();
  const inbox = new Inbox({ observer: limit });
  for (let count = 0; count < 5000; count++) inbox.put(new Uint8Array(1));
  assert.ok(limit.untilBelowLimit());
});

test('UnreadLimit does not count dropped chunks', () => {
  const limit = new UnreadLimit();
  const inbox = new Inbox({ observer: limit });
  inbox.discard();
  inbox.put(new Uint8Array(2 * MAX_UNREAD_BYTES));
  assert.equal(limit.untilBelowLimit(), undefined);
});

test('UnreadLimit unblocks when it is lifted', async () => {
  const limit = new UnreadLimit();
  new Inbox({ observer: limit }).put(new Uint8Array(2 * MAX_UNREAD_BYTES));
  const room = limit.untilBelowLimit();
  limit.lift();
  await room;
  assert.equal(limit.untilBelowLimit(), undefined);
});
