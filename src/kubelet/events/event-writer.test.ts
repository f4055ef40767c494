/** Events at the API server: counted, aggregated, rate-limited and retried as by client-go. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Event } from '../../api/generated/core-v1.ts';
import type { Log } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { ApiError } from '../api-client/api-server.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import type { EventReport } from './event-factory.ts';
import { EventWriter } from './event-writer.ts';
import { nodeReference, podReference } from './object-references.ts';

const LIFE = new AbortController().signal;
const UNAVAILABLE = new ApiError('Unavailable', 'connection refused');
const MINUTE_MS = 60_000;
const POD = {
  metadata: { name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: '7' },
  spec: { containers: [{ name: 'main' }] },
};

function recordedLog(): Log & { readonly lines: string[] } {
  const lines: string[] = [];
  const line = (message: string): void => void lines.push(message);
  return { lines, debug() {}, info: line, warn: line, error: line };
}

function setUp(rate = { qps: 0, burst: 0 }) {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const api = createMemoryApiServer({ clock, random });
  const sent: string[] = [];
  api.faults.everyCall((verb) => void sent.push(verb));
  const log = recordedLog();
  const writer = new EventWriter({ api, nodeName: 'box', rate, clock, random, log });
  const life = new AbortController();
  const record = (report: Partial<EventReport> = {}): void =>
    writer.record({
      involvedObject: podReference(POD, 'spec.containers{main}'),
      type: 'Normal',
      reason: 'Started',
      message: 'Container started',
      atMs: clock.now(),
      ...report,
    });
  const events = async (): Promise<readonly Event[]> => (await api.direct.list({ resource: 'events' }, LIFE)).items;
  return { clock, api, sent, log, writer, life, record, events };
}

type World = ReturnType<typeof setUp>;

function start(world: World = setUp()): World & { readonly done: Promise<void> } {
  return { ...world, done: world.writer.run(world.life.signal) };
}

async function shown({ events }: World): Promise<string[]> {
  return (await events()).map(({ count, message }) => `${count} ${message}`);
}

test('an event has the fields of the events of kubelet', async () => {
  const it = start();
  it.record();
  await it.clock.advance(0);
  const [event] = await it.events();
  const { creationTimestamp, uid, resourceVersion, ...metadata } = event?.metadata ?? { name: '' };
  const hex = (BigInt(it.clock.now()) * 1_000_000n).toString(16);
  assert.deepEqual(JSON.parse(JSON.stringify({ ...event, metadata })), {
    metadata: { name: `web.${hex}`, namespace: 'shop' },
    involvedObject: {
      kind: 'Pod',
      namespace: 'shop',
      name: 'web',
      uid: 'u1',
      apiVersion: 'v1',
      resourceVersion: '7',
      fieldPath: 'spec.containers{main}',
    },
    reason: 'Started',
    message: 'Container started',
    source: { component: 'kubelet', host: 'box' },
    firstTimestamp: creationTimestamp,
    lastTimestamp: creationTimestamp,
    count: 1,
    type: 'Normal',
    reportingComponent: 'kubelet',
    reportingInstance: 'box',
  });
});

test('an event about the node is in the default namespace', async () => {
  const it = start();
  it.record({ involvedObject: nodeReference('box'), reason: 'Starting', message: 'Starting kubelet.' });
  await it.clock.advance(0);
  const [event] = await it.events();
  assert.equal(event?.metadata.namespace, 'default');
  assert.deepEqual(event?.involvedObject, { kind: 'Node', name: 'box', apiVersion: 'v1' });
});

test('events of an object with an unsuitable name have random names', async () => {
  const it = start();
  it.record({ involvedObject: nodeReference('Box_1') });
  await it.clock.advance(0);
  const [event] = await it.events();
  assert.match(event?.metadata.name ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test('events of one time have different names', async () => {
  const it = start();
  for (const reason of ['Pulled', 'Created', 'Started']) it.record({ reason });
  await it.clock.advance(0);
  assert.equal((await it.events()).length, 3);
});

test('a repeated event is counted, and keeps its name and first time', async () => {
  const it = start();
  it.record();
  await it.clock.advance(MINUTE_MS);
  const [before] = await it.events();
  it.record();
  await it.clock.advance(0);
  const [after, ...more] = await it.events();
  assert.deepEqual(more, []);
  assert.deepEqual(
    { count: after?.count, name: after?.metadata.name, first: after?.firstTimestamp },
    { count: 2, name: before?.metadata.name, first: before?.firstTimestamp },
  );
  assert.notEqual(after?.lastTimestamp, before?.lastTimestamp);
  assert.deepEqual(it.sent, ['create', 'patch']);
});

const others: Record<string, Partial<EventReport>> = {
  'another message': { message: 'other' },
  'another reason': { reason: 'Killing' },
  'another type': { type: 'Warning' },
  'another container': { involvedObject: podReference(POD, 'spec.containers{side}') },
  'another pod of the name': {
    involvedObject: podReference({ ...POD, metadata: { ...POD.metadata, uid: 'u2' } }, 'spec.containers{main}'),
  },
};

for (const [name, other] of Object.entries(others)) {
  test(`${name} makes it a new event`, async () => {
    const it = start();
    it.record();
    it.record(other);
    await it.clock.advance(0);
    assert.deepEqual(
      (await it.events()).map(({ count }) => count),
      [1, 1],
    );
  });
}

test('a new version of the pod does not make it a new event', async () => {
  const it = start();
  it.record();
  const metadata = { ...POD.metadata, resourceVersion: '8' };
  it.record({ involvedObject: podReference({ ...POD, metadata }, 'spec.containers{main}') });
  await it.clock.advance(0);
  assert.deepEqual(await shown(it), ['2 Container started']);
});

test('an event that the server has deleted is created again, with its count', async () => {
  const it = start();
  it.record();
  await it.clock.advance(0);
  const [event] = await it.events();
  const name = event?.metadata.name ?? '';
  await it.api.direct.delete({ resource: 'events', namespace: 'shop', name }, {}, LIFE);
  it.record();
  await it.clock.advance(0);
  assert.deepEqual(
    (await it.events()).map(({ count, metadata }) => [count, metadata.name]),
    [[2, name]],
  );
});

test('the tenth of ten messages for one reason stands for all later ones', async () => {
  const it = start();
  for (let n = 1; n <= 12; n++) it.record({ message: `try ${n}` });
  await it.clock.advance(0);
  const nine = Array.from({ length: 9 }, (_, index) => `1 try ${index + 1}`);
  assert.deepEqual(new Set(await shown(it)), new Set([...nine, '3 (combined from similar events): try 12']));
  const combined = (await it.events()).find(({ count }) => count === 3);
  assert.equal(combined?.reportingComponent ?? '', '');
  assert.deepEqual(combined?.source, { component: 'kubelet', host: 'box' });
});

test('after ten minutes without an event the messages are no longer aggregated', async () => {
  const it = start();
  for (let n = 1; n <= 9; n++) it.record({ message: `try ${n}` });
  await it.clock.advance(10 * MINUTE_MS + 1);
  it.record({ message: 'try 10' });
  await it.clock.advance(0);
  assert.ok((await shown(it)).includes('1 try 10'));
});

test('within ten minutes messages are aggregated', async () => {
  const it = start();
  for (let n = 1; n <= 9; n++) it.record({ message: `try ${n}` });
  await it.clock.advance(10 * MINUTE_MS);
  it.record({ message: 'try 10' });
  await it.clock.advance(0);
  assert.ok((await shown(it)).includes('1 (combined from similar events): try 10'));
});

test('after 25 events of an object one more is written every five minutes, with the count of all', async () => {
  const it = start();
  for (let n = 0; n < 40; n++) it.record();
  await it.clock.advance(0);
  assert.deepEqual(await shown(it), ['25 Container started']);
  await it.clock.advance(5 * MINUTE_MS);
  for (let n = 0; n < 3; n++) it.record();
  await it.clock.advance(0);
  assert.deepEqual(await shown(it), ['41 Container started']);
});

test('warnings and other pods have separate limits', async () => {
  const it = start();
  for (let n = 0; n < 30; n++) it.record();
  it.record({ type: 'Warning', message: 'warned' });
  const metadata = { ...POD.metadata, uid: 'u2' };
  it.record({ involvedObject: podReference({ ...POD, metadata }, undefined), message: 'recorded' });
  await it.clock.advance(0);
  assert.deepEqual(await shown(it), ['25 Container started', '1 warned', '1 recorded']);
});

test('while the server is unavailable events are queued, in order', async () => {
  const it = start();
  it.api.faults.setOutage(true);
  it.record();
  it.record({ reason: 'Killing', message: 'Stopping container main' });
  await it.clock.advance(MINUTE_MS);
  assert.deepEqual(it.sent, []);
  it.api.faults.setOutage(false);
  await it.clock.advance(10_000);
  assert.deepEqual(await shown(it), ['1 Container started', '1 Stopping container main']);
});

test('an event is sent at most twelve times, and the first delay is random', async () => {
  const it = start();
  const times: number[] = [];
  it.api.faults.everyCall(() => {
    times.push(it.clock.monotonic());
    return { kind: 'before', error: UNAVAILABLE };
  });
  it.record();
  await it.clock.advance(10 * MINUTE_MS);
  const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  assert.deepEqual(pauses.slice(1), Array(10).fill(10_000));
  assert.ok((pauses[0] ?? 0) < 10_000);
  assert.ok(it.log.lines.includes('cannot write event, dropped it'));
});

test('the Retry-After of a busy server is respected', async () => {
  const it = start();
  it.api.faults.next('create', {
    kind: 'before',
    error: new ApiError('TooManyRequests', 'slow down', { retryAfterMs: MINUTE_MS }),
  });
  it.record();
  await it.clock.advance(MINUTE_MS - 1);
  assert.deepEqual(await shown(it), []);
  await it.clock.advance(1);
  assert.deepEqual(await shown(it), ['1 Container started']);
});

for (const reason of ['Forbidden', 'Invalid', 'NotFound'] as const) {
  test(`an event that is rejected as ${reason} is dropped, and does not block the next one`, async () => {
    const it = start();
    it.api.faults.next('create', { kind: 'before', error: new ApiError(reason, 'no') });
    it.record();
    it.record({ message: 'next' });
    await it.clock.advance(0);
    assert.deepEqual(await shown(it), ['1 next']);
    assert.deepEqual(it.log.lines, ['the API server rejected event']);
  });
}

test('an event whose response was lost exists once, and is counted on', async () => {
  const it = start();
  it.api.faults.next('create', { kind: 'after', error: UNAVAILABLE });
  it.record();
  await it.clock.advance(10_000);
  it.record();
  await it.clock.advance(0);
  assert.deepEqual(await shown(it), ['2 Container started']);
});

test('at most a thousand events are queued, and record() never waits', async () => {
  const world = setUp();
  for (let n = 0; n < 1010; n++) {
    const metadata = { ...POD.metadata, name: `web-${n}`, uid: `u${n}` };
    world.record({ involvedObject: podReference({ ...POD, metadata }, undefined) });
  }
  const it = start(world);
  await it.clock.advance(0);
  assert.equal((await it.events()).length, 1000);
  assert.deepEqual(it.log.lines, ['the event queue is full, further events are dropped']);
});

test('events are written at the configured rate', async () => {
  const it = start(setUp({ qps: 2, burst: 3 }));
  for (const message of ['a', 'b', 'c', 'd', 'e']) it.record({ message });
  await it.clock.advance(0);
  assert.equal((await it.events()).length, 3);
  await it.clock.advance(500);
  assert.equal((await it.events()).length, 4);
  await it.clock.advance(500);
  assert.equal((await it.events()).length, 5);
});

test('queued events are written before the end', async () => {
  const it = start();
  it.record();
  it.record({ message: 'last' });
  it.life.abort();
  await it.done;
  assert.deepEqual(await shown(it), ['1 Container started', '1 last']);
});

test('events queued while the server is unavailable are sent once at the end, and counted once', async () => {
  const it = start();
  it.api.faults.next('create', { kind: 'before', error: UNAVAILABLE });
  it.record();
  await it.clock.advance(0);
  it.life.abort();
  await it.done;
  assert.deepEqual(await shown(it), ['1 Container started']);
});

test('the end does not wait for an unavailable server', async () => {
  const it = start();
  it.api.faults.setOutage(true);
  it.record();
  it.record({ message: 'last' });
  await it.clock.advance(0);
  const before = it.clock.monotonic();
  it.life.abort();
  await it.done;
  assert.equal(it.clock.monotonic(), before);
  assert.equal(it.log.lines.at(-1), 'events were not written before the agent ended');
});

test('the end waits two seconds for a server that does not respond', async () => {
  const it = start();
  it.api.faults.everyCall(() => ({ kind: 'hang' }));
  it.record();
  await it.clock.advance(0);
  const before = it.clock.monotonic();
  it.life.abort();
  await it.clock.runUntil(it.done);
  assert.equal(it.clock.monotonic() - before, 2000);
});
