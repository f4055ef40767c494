import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { StatusStore } from './status-store.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { containers: [{ name: 'web', image: 'busybox' }] },
};

const running: PodStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

test('StatusStore.update() counts and publishes only changes', () => {
  const store = new StatusStore();
  const published: unknown[] = [];
  store.subscribe(({ version, status }) => published.push([version, status.phase]));

  const answers = [
    store.update(pod, { phase: 'Pending' }),
    store.update(pod, { phase: 'Pending' }),
    store.update(pod, running),
    store.update(pod, structuredClone(running)),
    store.update(pod, { ...running, conditions: [{ type: 'Ready', status: 'False' }] }),
  ];

  assert.deepEqual(answers, [true, false, true, false, true]);
  assert.deepEqual(published, [
    [1, 'Pending'],
    [2, 'Running'],
    [3, 'Running'],
  ]);
});

test('StatusStore.update() never leaves a terminal phase', () => {
  const store = new StatusStore();
  store.update(pod, { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' });
  store.update(pod, { ...running, reason: 'Other', hostIP: '192.0.2.1' });
  assert.deepEqual(store.get('u1'), {
    pod,
    version: 2,
    status: {
      ...running,
      phase: 'Failed',
      reason: 'Evicted',
      message: 'The node was low on resource: memory.',
      hostIP: '192.0.2.1',
    },
  });
});

test('StatusStore.remove() forgets the pod, its version and its phase', () => {
  const store = new StatusStore();
  store.update(pod, { phase: 'Succeeded' });
  store.remove('u1');
  assert.equal(store.get('u1'), undefined);
  store.update(pod, running);
  assert.deepEqual(store.get('u1'), { pod, version: 1, status: running });
});

test('StatusStore.subscribe() returns the end of the subscription', () => {
  const store = new StatusStore();
  let calls = 0;
  const unsubscribe = store.subscribe(() => calls++);
  store.update(pod, running);
  unsubscribe();
  store.update(pod, { phase: 'Failed' });
  assert.equal(calls, 1);
});
