import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from './cri-error.ts';
import type { RuntimeEvent, RuntimeEvents } from './runtime-events.ts';
import { withFallback } from './with-fallback.ts';

const signal = new AbortController().signal;

/** Yields these events, then fails. */
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

async function collect(events: RuntimeEvents, received: RuntimeEvent[]): Promise<void> {
  for await (const event of events.watch(signal)) received.push(event);
}

test('withFallback() switches to the next source if the first is not served, and stays with it', async () => {
  const first = source([{ kind: 'subscribed' }], 'Unimplemented');
  const second = source([{ kind: 'subscribed' }, { kind: 'stopped', id: 'c' }], 'Unavailable');
  const events = withFallback([first, second]);
  const received: RuntimeEvent[] = [];
  await assert.rejects(collect(events, received), { code: 'Unavailable' });
  assert.deepEqual(received, [{ kind: 'subscribed' }, { kind: 'subscribed' }, { kind: 'stopped', id: 'c' }]);
  await assert.rejects(collect(events, received), { code: 'Unavailable' });
  assert.deepEqual([first.asked, second.asked], [1, 2]);
});

test('withFallback() throws if the last source is not served either', async () => {
  const events = withFallback([source([], 'Unimplemented'), source([], 'Unimplemented')]);
  await assert.rejects(collect(events, []), { code: 'Unimplemented' });
});

test('withFallback() stays with a source whose stream fails', async () => {
  const first = source([], 'Unavailable');
  const second = source([], 'Unavailable');
  await assert.rejects(collect(withFallback([first, second]), []), { code: 'Unavailable' });
  assert.equal(second.asked, 0);
});
