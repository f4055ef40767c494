import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from './cri-error.ts';
import { withFallback } from './with-fallback.ts';
import type { RuntimeEvent, RuntimeEvents } from './runtime-events.ts';

const signal = new AbortController().signal;

/** Tells these, then fails. */
function source(
  events: readonly RuntimeEvent[],
  code: 'Unimplemented' | 'Unavailable',
): RuntimeEvents & { asked: number } {
  return {
    asked: 0,
    async *watch() {
      this.asked++;
      yield* events;
      throw new CriError(code, code);
    },
  };
}

async function told(events: RuntimeEvents, seen: RuntimeEvent[]): Promise<void> {
  for await (const event of events.watch(signal)) seen.push(event);
}

test('inOrder() goes on with the next source when the first turns out not to be served, and stays with it', async () => {
  const first = source([{ kind: 'subscribed' }], 'Unimplemented');
  const second = source([{ kind: 'subscribed' }, { kind: 'stopped', id: 'c' }], 'Unavailable');
  const events = withFallback([first, second]);
  const seen: RuntimeEvent[] = [];
  await assert.rejects(told(events, seen), { code: 'Unavailable' });
  assert.deepEqual(seen, [{ kind: 'subscribed' }, { kind: 'subscribed' }, { kind: 'stopped', id: 'c' }]);
  await assert.rejects(told(events, seen), { code: 'Unavailable' });
  assert.deepEqual([first.asked, second.asked], [1, 2]);
});

test('inOrder() tells that the last one is not served either', async () => {
  const events = withFallback([source([], 'Unimplemented'), source([], 'Unimplemented')]);
  await assert.rejects(told(events, []), { code: 'Unimplemented' });
});

test('inOrder() stays with a source whose stream breaks', async () => {
  const first = source([], 'Unavailable');
  const second = source([], 'Unavailable');
  await assert.rejects(told(withFallback([first, second]), []), { code: 'Unavailable' });
  assert.equal(second.asked, 0);
});
