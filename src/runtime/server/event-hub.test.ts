import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerEventType, ContainerStatus, PodSandboxStatus } from '../../cri/generated/runtime-v1.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { EventHub } from './event-hub.ts';

const started = { type: ContainerEventType.CONTAINER_STARTED_EVENT, sandboxId: 's', containerId: 'c' };

function hubWorld() {
  let states = 0;
  const hub = new EventHub({
    clock: new VirtualClock({ startMs: 5 }),
    sandboxStatus: (id) => PodSandboxStatus.fromPartial({ id }),
    containerStatuses: () => [ContainerStatus.fromPartial({ id: 'c', message: `state ${++states}` })],
  });
  return { hub, lookedUp: () => states };
}

test('an event carries the time and the statuses of its pod when it was published', async () => {
  const { hub } = hubWorld();
  const events = hub.subscribe(new AbortController().signal);
  const first = events.next();
  hub.publish(started);
  hub.publish({ ...started, type: ContainerEventType.CONTAINER_STOPPED_EVENT });
  const received = [(await first).value, (await events.next()).value];
  assert.deepEqual(
    received.map((event) => [
      event?.containerId,
      event?.containerEventType,
      event?.createdAt,
      event?.podSandboxStatus?.id,
      event?.containersStatuses[0]?.message,
    ]),
    [
      ['c', ContainerEventType.CONTAINER_STARTED_EVENT, 5_000_000n, 's', 'state 1'],
      ['c', ContainerEventType.CONTAINER_STOPPED_EVENT, 5_000_000n, 's', 'state 2'],
    ],
  );
});

test('no status is read without subscribers', () => {
  const { hub, lookedUp } = hubWorld();
  hub.publish(started);
  assert.equal(lookedUp(), 0);
});

test('each subscriber receives all events from its first read on', async () => {
  const { hub } = hubWorld();
  const never = new AbortController().signal;
  const [one, other] = [hub.subscribe(never), hub.subscribe(never)];
  const first = one.next();
  hub.publish(started);
  const late = other.next();
  hub.publish({ ...started, containerId: 'd' });
  assert.deepEqual([(await first).value?.containerId, (await late).value?.containerId], ['c', 'd']);
});

test('a subscriber that is too slow is disconnected, and the others stay', async () => {
  const { hub } = hubWorld();
  const never = new AbortController().signal;
  const [slow, quick] = [hub.subscribe(never), hub.subscribe(never)];
  const pending = [slow.next(), quick.next()];
  hub.publish(started);
  await Promise.all(pending);
  for (let count = 0; count <= 1000; count++) {
    hub.publish(started);
    await quick.next();
  }
  await assert.rejects(slow.next(), { name: 'CriError', code: 'ResourceExhausted' });
  hub.publish(started);
  assert.equal((await quick.next()).done, false);
});

test('a subscription ends with the reason of its signal', async () => {
  const { hub, lookedUp } = hubWorld();
  const controller = new AbortController();
  const next = hub.subscribe(controller.signal).next();
  controller.abort(new Error('enough'));
  await assert.rejects(next, { message: 'enough' });
  hub.publish(started);
  assert.equal(lookedUp(), 0);
});
