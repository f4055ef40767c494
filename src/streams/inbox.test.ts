import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Inbox } from './inbox.ts';

const item = (name: string) => ({ name });

async function names(inbox: Inbox<{ name: string }>): Promise<readonly string[]> {
  return Array.fromAsync(inbox, ({ name }) => name);
}

test('Inbox yields items from before the end, in order, and none after it', async () => {
  const inbox = new Inbox<{ name: string }>();
  for (const name of ['a', 'b']) inbox.put(item(name));
  inbox.end();
  inbox.put(item('c'));
  assert.deepEqual(await names(inbox), ['a', 'b']);
});

test('Inbox with `keep: newest` drops older unread items', async () => {
  const inbox = new Inbox<{ name: string }>({ keep: 'newest' });
  for (const name of ['a', 'b', 'c']) inbox.put(item(name));
  inbox.end();
  assert.deepEqual(await names(inbox), ['c']);
});

test('Inbox drops items after its reader has left', async () => {
  const inbox = new Inbox<{ name: string }>();
  for (const name of ['a', 'b']) inbox.put(item(name));
  for await (const _ of inbox) break;
  inbox.put(item('c'));
  assert.deepEqual([inbox.size, inbox.isOpen], [0, false]);
});
