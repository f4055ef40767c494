import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Inbox } from './inbox.ts';

const item = (name: string) => ({ name });

async function names(inbox: Inbox<{ name: string }>): Promise<readonly string[]> {
  return Array.fromAsync(inbox, ({ name }) => name);
}

test('Inbox gives what came before the end, in order, and nothing after it', async () => {
  const inbox = new Inbox<{ name: string }>();
  for (const name of ['a', 'b']) inbox.put(item(name));
  inbox.end();
  inbox.put(item('c'));
  assert.deepEqual(await names(inbox), ['a', 'b']);
});

test('Inbox keeps only the newest where that is all that counts', async () => {
  const inbox = new Inbox<{ name: string }>({ keep: 'newest' });
  for (const name of ['a', 'b', 'c']) inbox.put(item(name));
  inbox.end();
  assert.deepEqual(await names(inbox), ['c']);
});

test('Inbox drops what comes after its reader has left', async () => {
  const inbox = new Inbox<{ name: string }>();
  for (const name of ['a', 'b']) inbox.put(item(name));
  for await (const _ of inbox) break;
  inbox.put(item('c'));
  assert.deepEqual([inbox.size, inbox.isOpen], [0, false]);
});
