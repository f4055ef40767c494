import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Inbox } from '../inbox.ts';
import { MOST_UNREAD_BYTES, UnreadLimit } from './unread-limit.ts';

test('UnreadLimit lets the connection wait until half of it is read, whichever stream it is in', async () => {
  const limit = new UnreadLimit();
  const [slow, quick] = [new Inbox({ tally: limit }), new Inbox({ tally: limit })];
  slow.put(new Uint8Array(MOST_UNREAD_BYTES / 2 - 1000));
  quick.put(new Uint8Array(MOST_UNREAD_BYTES / 2));
  assert.equal(limit.room(), undefined);
  quick.put(new Uint8Array(1000));
  const room = limit.room();
  assert.ok(room);
  quick.discard();
  await room;
  assert.equal(limit.room(), undefined);
});

test('UnreadLimit counts single bytes for more than they are', () => {
  const limit = new UnreadLimit();
  const inbox = new Inbox({ tally: limit });
  for (let count = 0; count < 5000; count++) inbox.put(new Uint8Array(1));
  assert.ok(limit.room());
});

test('UnreadLimit does not count what nobody will read', () => {
  const limit = new UnreadLimit();
  const inbox = new Inbox({ tally: limit });
  inbox.discard();
  inbox.put(new Uint8Array(2 * MOST_UNREAD_BYTES));
  assert.equal(limit.room(), undefined);
});

test('UnreadLimit lets everybody go when it is lifted', async () => {
  const limit = new UnreadLimit();
  new Inbox({ tally: limit }).put(new Uint8Array(2 * MOST_UNREAD_BYTES));
  const room = limit.room();
  limit.lift();
  await room;
  assert.equal(limit.room(), undefined);
});
