import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerState } from '../../../src/cri/generated/runtime-v1.ts';
import type { RuntimeEvent } from '../../../src/cri/runtime-events.ts';
import { eventually, runPod, type Subject, signal, statusOf } from './subject.ts';

/** Collects events in the background, starting with `subscribed`. */
async function collect(subject: Subject) {
  const controller = new AbortController();
  const received: RuntimeEvent[] = [];
  const subscribed = Promise.withResolvers<void>();
  const ended = (async () => {
    for await (const event of subject.events.watch(controller.signal)) {
      received.push(event);
      if (event.kind === 'subscribed') subscribed.resolve();
    }
  })();
  ended.catch(subscribed.reject);
  await subscribed.promise;
  return {
    received,
    kindsOf: (id: string) => received.flatMap((event) => ('id' in event && event.id === id ? [event.kind] : [])),
    async stop() {
      controller.abort(new Error('done'));
      await assert.rejects(ended, /done/);
    },
  };
}

export function eventContract(subjectOf: () => Subject): void {
  test('events report the lifecycle of a sandbox and its container in order', async () => {
    const subject = subjectOf();
    const events = await collect(subject);
    const pod = await runPod(subject);
    const containerId = await pod.start('obedient');
    await subject.cri.runtime.stopContainer({ containerId, timeout: 5n }, signal);
    await eventually(async () => events.kindsOf(containerId).includes('stopped') || undefined);
    await subject.cri.runtime.removeContainer({ containerId }, signal);
    await pod.remove();
    const whole = ['created', 'started', 'stopped', 'deleted'];
    await eventually(async () => events.kindsOf(pod.id).length >= 4 || undefined);
    assert.deepEqual(events.received[0], { kind: 'subscribed' });
    for (const event of events.received)
      if ('createdMs' in event) assert.ok(event.createdMs > 1e12, 'wall-clock milliseconds');
    assert.deepEqual(events.kindsOf(containerId), whole);
    assert.deepEqual(new Set(events.kindsOf(pod.id)), new Set(whole));
    await events.stop();
  });

  test('after `stopped` the status has the exit, and the event the pod', async (t) => {
    const subject = subjectOf();
    const pod = await runPod(subject);
    t.after(pod.remove);
    const containerId = await pod.create('fails');
    const controller = new AbortController();
    const reading = (async () => {
      for await (const event of subject.events.watch(controller.signal)) {
        if (event.kind === 'subscribed') await subject.cri.runtime.startContainer({ containerId }, signal);
        if (event.kind !== 'stopped' || event.id !== containerId) continue;
        return { event, status: await statusOf(subject, containerId) };
      }
      return undefined;
    })();
    const found = await reading;
    assert.equal(found?.status.state, ContainerState.CONTAINER_EXITED);
    assert.equal(found?.status.exitCode, 3);
    assert.ok(found?.event.podUid === undefined || found.event.podUid === pod.config.metadata?.uid);
  });
}
