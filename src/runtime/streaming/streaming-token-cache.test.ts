import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { StreamingTokenCache } from './streaming-token-cache.ts';

test('StreamingTokenCache returns a session once', () => {
  const tokens = new StreamingTokenCache<string>(createMemoryHost());
  const [first, second] = [tokens.issue('a'), tokens.issue('b')];
  assert.deepEqual(
    [first, second, 'none'].map((token) => tokens.take(token)),
    ['a', 'b', undefined],
  );
  assert.equal(tokens.take(first), undefined);
});

test('StreamingTokenCache keeps a session for a minute', async () => {
  const host = createMemoryHost();
  const tokens = new StreamingTokenCache<string>(host);
  const old = tokens.issue('old');
  await host.clock.advance(59_999);
  const young = tokens.issue('young');
  await host.clock.advance(1);
  assert.deepEqual([tokens.take(old), tokens.take(young)], [undefined, 'young']);
});

test('StreamingTokenCache rejects more than a thousand sessions until they expire', async () => {
  const host = createMemoryHost();
  const tokens = new StreamingTokenCache<number>(host);
  for (let index = 0; index < 1000; index++) tokens.issue(index);
  assert.throws(() => tokens.issue(1000), { name: 'CriError', code: 'ResourceExhausted' });
  await host.clock.advance(60_000);
  assert.equal(tokens.take(tokens.issue(1000)), 1000);
});
