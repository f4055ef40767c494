/** What arrives at the API server of what is told: counted, combined, held back and tried again as by client-go. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Event } from '../../api/generated/core-v1.ts';
import type { Log } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { ApiError } from '../api-client/api-server.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { nodeReference, podReference } from './event-objects.ts';
import { EventWriter } from './event-writer.ts';
import type { EventReport } from './new-event.ts';

const LIFE = new AbortController().signal;
const AWAY = new ApiError('Unavailable', 'connection refused');
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
  const tell = (report: Partial<EventReport> = {}): void =>
    writer.record({
      involvedObject: podReference(POD, 'spec.containers{main}'),
      type: 'Normal',
      reason: 'Started',
      message: 'Container started',
      atMs: clock.now(),
      ...report,
    });
  const events = async (): Promise<readonly Event[]> => (await api.direct.list({ resource: 'events' }, LIFE)).items;
  return { clock, api, sent, log, writer, life, tell, events };
}

type World = ReturnType<typeof setUp>;

function start(world: World = setUp()): World & { readonly done: Promise<void> } {
  return { ...world, done: world.writer.run(world.life.signal) };
}

async function shown({ events }: World): Promise<string[]> {
  return (await events()).map(({ count, message }) => `${count} ${message}`);
}

test('an event says who tells what about which object, as those of kubelet do', async () => {
  const it = start();
  it.tell();
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
  it.tell({ involvedObject: nodeReference('box'), reason: 'Starting', message: 'Starting kubelet.' });
  await it.clock.advance(0);
  const [event] = await it.events();
  assert.equal(event?.metadata.namespace, 'default');
  assert.deepEqual(event?.involvedObject, { kind: 'Node', name: 'box', apiVersion: 'v1' });
});

test('an object whose name cannot begin that of an event gets events with random names', async () => {
  const it = start();
  it.tell({ involvedObject: nodeReference('Box_1') });
  await it.clock.advance(0);
  const [event] = await it.events();
  assert.match(event?.metadata.name ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test('events of one moment have names of their own', async () => {
  const it = start();
  for (const reason of ['Pulled', 'Created', 'Started']) it.tell({ reason });
  await it.clock.advance(0);
  assert.equal((await it.events()).length, 3);
});

test('the same event told again is counted, and keeps its name and its first time', async () => {
  const it = start();
  it.tell();
  await it.clock.advance(MINUTE_MS);
  const [before] = await it.events();
  it.tell();
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
  test(`${name} makes it another event`, async () => {
    const it = start();
    it.tell();
    it.tell(other);
    await it.clock.advance(0);
    assert.deepEqual(
      (await it.events()).map(({ count }) => count),
      [1, 1],
    );
  });
}

test('another version of the pod does not make it another event', async () => {
  const it = start();
  it.tell();
  const metadata = { ...POD.metadata, resourceVersion: '8' };
  it.tell({ involvedObject: podReference({ ...POD, metadata }, 'spec.containers{main}') });
  await it.clock.advance(0);
  assert.deepEqual(await shown(it), ['2 Container started']);
});

test('an event that the server has forgotten is created anew, with its count', async () => {
  const it = start();
  it.tell();
  await it.clock.advance(0);
  const [event] = await it.events();
  const name = event?.metadata.name ?? '';
  await it.api.direct.delete({ resource: 'events', namespace: 'shop', name }, {}, LIFE);
  it.tell();
  await it.clock.advance(0);
  assert.deepEqual(
    (await it.events()).map(({ count, metadata }) => [count, metadata.name]),
    [[2, name]],
  );
});

test('the tenth of ten messages for one reason stands for those that come after it', async () => {
  const it = start();
  for (let n = 1; n <= 12; n++) it.tell({ message: `try ${n}` });
  await it.clock.advance(0);
  const nine = Array.from({ length: 9 }, (_, index) => `1 try ${index + 1}`);
  assert.deepEqual(new Set(await shown(it)), new Set([...nine, '3 (combined from similar events): try 12']));
  const combined = (await it.events()).find(({ count }) => count === 3);
  assert.equal(combined?.reportingComponent ?? '', '');
  assert.deepEqual(combined?.source, { component: 'kubelet', host: 'box' });
});

test('after ten minutes of silence messages are not similar any more', async () => {
  const it = start();
  for (let n = 1; n <= 9; n++) it.tell({ message: `try ${n}` });
  await it.clock.advance(10 * MINUTE_MS + 1);
  it.tell({ message: 'try 10' });
  await it.clock.advance(0);
  assert.ok((await shown(it)).includes('1 try 10'));
});

test('within ten minutes they are', async () => {
  const it = start();
  for (let n = 1; n <= 9; n++) it.tell({ message: `try ${n}` });
  await it.clock.advance(10 * MINUTE_MS);
  it.tell({ message: 'try 10' });
  await it.clock.advance(0);
  assert.ok((await shown(it)).includes('1 (combined from similar events): try 10'));
});

test('after 25 events about an object one more is written every five minutes, with all that were told', async () => {
  const it = start();
  for (let n = 0; n < 40; n++) it.tell();
  await it.clock.advance(0);
  assert.deepEqual(await shown(it), ['25 Container started']);
  await it.clock.advance(5 * MINUTE_MS);
  for (let n = 0; n < 3; n++) it.tell();
  await it.clock.advance(0);
  assert.deepEqual(await shown(it), ['41 Container started']);
});

test('warnings and other pods have budgets of their own', async () => {
  const it = start();
  for (let n = 0; n < 30; n++) it.tell();
  it.tell({ type: 'Warning', message: 'warned' });
  const metadata = { ...POD.metadata, uid: 'u2' };
  it.tell({ involvedObject: podReference({ ...POD, metadata }, undefined), message: 'told' });
  await it.clock.advance(0);
  assert.deepEqual(await shown(it), ['25 Container started', '1 warned', '1 told']);
});

test('while the server is away everything is held, in order', async () => {
  const it = start();
  it.api.faults.setOutage(true);
  it.tell();
  it.tell({ reason: 'Killing', message: 'Stopping container main' });
  await it.clock.advance(MINUTE_MS);
  assert.deepEqual(it.sent, []);
  it.api.faults.setOutage(false);
  await it.clock.advance(10_000);
  assert.deepEqual(await shown(it), ['1 Container started', '1 Stopping container main']);
});

test('an event is tried twelve times, and the first pause is left to chance', async () => {
  const it = start();
  const times: number[] = [];
  it.api.faults.everyCall(() => {
    times.push(it.clock.monotonic());
    return { kind: 'before', error: AWAY };
  });
  it.tell();
  await it.clock.advance(10 * MINUTE_MS);
  const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  assert.deepEqual(pauses.slice(1), Array(10).fill(10_000));
  assert.ok((pauses[0] ?? 0) < 10_000);
  assert.ok(it.log.lines.includes('cannot write an event, gave up'));
});

test('a busy server is left alone for as long as it asks', async () => {
  const it = start();
  it.api.faults.next('create', {
    kind: 'before',
    error: new ApiError('TooManyRequests', 'slow down', { retryAfterMs: MINUTE_MS }),
  });
  it.tell();
  await it.clock.advance(MINUTE_MS - 1);
  assert.deepEqual(await shown(it), []);
  await it.clock.advance(1);
  assert.deepEqual(await shown(it), ['1 Container started']);
});

for (const reason of ['Forbidden', 'Invalid', 'NotFound'] as const) {
  test(`an event that is refused as ${reason} is given up, and does not hold up the next one`, async () => {
    const it = start();
    it.api.faults.next('create', { kind: 'before', error: new ApiError(reason, 'no') });
    it.tell();
    it.tell({ message: 'next' });
    await it.clock.advance(0);
    assert.deepEqual(await shown(it), ['1 next']);
    assert.deepEqual(it.log.lines, ['the API server refuses an event']);
  });
}

test('an event whose answer was lost is there once, and counts on', async () => {
  const it = start();
  it.api.faults.next('create', { kind: 'after', error: AWAY });
  it.tell();
  await it.clock.advance(10_000);
  it.tell();
  await it.clock.advance(0);
  assert.deepEqual(await shown(it), ['2 Container started']);
});

test('no more than a thousand wait, and who tells never does', async () => {
  const world = setUp();
  for (let n = 0; n < 1010; n++) {
    const metadata = { ...POD.metadata, name: `web-${n}`, uid: `u${n}` };
    world.tell({ involvedObject: podReference({ ...POD, metadata }, undefined) });
  }
  const it = start(world);
  await it.clock.advance(0);
  assert.equal((await it.events()).length, 1000);
  assert.deepEqual(it.log.lines, ['too many events wait for the API server, more are lost']);
});

test('events are written as fast as the configuration allows', async () => {
  const it = start(setUp({ qps: 2, burst: 3 }));
  for (const message of ['a', 'b', 'c', 'd', 'e']) it.tell({ message });
  await it.clock.advance(0);
  assert.equal((await it.events()).length, 3);
  await it.clock.advance(500);
  assert.equal((await it.events()).length, 4);
  await it.clock.advance(500);
  assert.equal((await it.events()).length, 5);
});

test('what was told last is written before the end', async () => {
  const it = start();
  it.tell();
  it.tell({ message: 'last' });
  it.life.abort();
  await it.done;
  assert.deepEqual(await shown(it), ['1 Container started', '1 last']);
});

test('what is held while the server is away is tried once more at the end, and counted once', async () => {
  const it = start();
  it.api.faults.next('create', { kind: 'before', error: AWAY });
  it.tell();
  await it.clock.advance(0);
  it.life.abort();
  await it.done;
  assert.deepEqual(await shown(it), ['1 Container started']);
});

test('the end does not wait for a server that is away', async () => {
  const it = start();
  it.api.faults.setOutage(true);
  it.tell();
  it.tell({ message: 'last' });
  await it.clock.advance(0);
  const before = it.clock.monotonic();
  it.life.abort();
  await it.done;
  assert.equal(it.clock.monotonic(), before);
  assert.equal(it.log.lines.at(-1), 'the agent ends with events that were not written');
});

test('the end waits two seconds for a server that does not answer', async () => {
  const it = start();
  it.api.faults.everyCall(() => ({ kind: 'hang' }));
  it.tell();
  await it.clock.advance(0);
  const before = it.clock.monotonic();
  it.life.abort();
  await it.clock.runUntil(it.done);
  assert.equal(it.clock.monotonic() - before, 2000);
});
