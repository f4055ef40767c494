import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '../host/fake/seeded-random.ts';
import { VirtualClock } from '../host/fake/virtual-clock.ts';
import { chooseRuntimeEvents, withFallback } from './choose-runtime-events.ts';
import { CriError } from './cri-error.ts';
import { createFakeRuntime } from './fake/fake-runtime.ts';
import type { RuntimeEvent, RuntimeEvents } from './runtime-events.ts';

const signal = new AbortController().signal;

function fakeWith(containerEvents: boolean) {
  const ports = { clock: new VirtualClock(), random: new SeededRandom(1) };
  const fake = createFakeRuntime({ ...ports, containerEvents });
  return {
    fake,
    choose: () => chooseRuntimeEvents({ ...ports, runtime: fake.cri.runtime, endpoint: undefined }, signal),
  };
}

test('chooseRuntimeEvents() prefers the events of CRI', async () => {
  const { choose } = fakeWith(true);
  const events = await choose();
  assert.ok(events);
  for await (const event of events.watch(signal)) {
    assert.deepEqual(event, { kind: 'subscribed' });
    break;
  }
});

test('chooseRuntimeEvents() returns undefined without any events', async () => {
  assert.equal(await fakeWith(false).choose(), undefined);
});

test('chooseRuntimeEvents() rejects when the runtime cannot be reached', async () => {
  const { fake, choose } = fakeWith(true);
  fake.failures.everyCall(() => ({ kind: 'before', error: new CriError('Unavailable', 'down') }));
  await assert.rejects(choose(), { code: 'Unavailable', message: 'down' });
});

test('a watch throws when the stream fails', async () => {
  const { fake, choose } = fakeWith(true);
  const events = await choose();
  assert.ok(events);
  const reading = (async () => {
    for await (const event of events.watch(signal)) {
      if (event.kind === 'subscribed') fake.failEventStreams();
    }
  })();
  await assert.rejects(reading, { code: 'Unavailable' });
});

/** Yields these events, then fails. */
function source(
  events: readonly RuntimeEvent[],
  code: 'Unimplemented' | 'Unavailable',
): RuntimeEvents & { watches: number } {
  return {
    watches: 0,
    async *watch() {
      this.watches++;
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
  assert.deepEqual([first.watches, second.watches], [1, 2]);
});

test('withFallback() throws if the last source is not served either', async () => {
  const events = withFallback([source([], 'Unimplemented'), source([], 'Unimplemented')]);
  await assert.rejects(collect(events, []), { code: 'Unimplemented' });
});

test('withFallback() stays with a source whose stream fails', async () => {
  const first = source([], 'Unavailable');
  const second = source([], 'Unavailable');
  await assert.rejects(collect(withFallback([first, second]), []), { code: 'Unavailable' });
  assert.equal(second.watches, 0);
});
