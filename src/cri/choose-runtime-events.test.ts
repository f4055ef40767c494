import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '../host/fake/seeded-random.ts';
import { VirtualClock } from '../host/fake/virtual-clock.ts';
import { chooseRuntimeEvents } from './choose-runtime-events.ts';
import { CriError } from './cri-error.ts';
import { createFakeRuntime } from './fake/fake-runtime.ts';

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
