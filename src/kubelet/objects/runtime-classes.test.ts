import assert from 'node:assert/strict';
import test from 'node:test';
import type { RuntimeClass } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { RuntimeClasses, watchRuntimeClasses } from './runtime-classes.ts';

const never = new AbortController().signal;
const pod = examplePod({ spec: { runtimeClassName: 'fast' } });
const missing = { message: 'runtimeclass.node.k8s.io "fast" not found' };

function classOf(name: string, handler: string): RuntimeClass {
  return { metadata: { name }, handler };
}

function fresh() {
  const host = createMemoryHost();
  const changed: string[] = [];
  const classes = new RuntimeClasses({ clock: host.clock, onChange: (name) => changed.push(name) });
  return { host, changed, classes };
}

test('a pod without a class has the runtime’s default handler', async () => {
  const { classes } = fresh();
  assert.equal(await classes.lookupHandler(examplePod(), never), '');
  assert.equal(await classes.lookupHandler(examplePod({ spec: { runtimeClassName: '' } }), never), '');
});

test('a class is found by its name in all origins', async () => {
  const { classes } = fresh();
  classes.set('node', []);
  await assert.rejects(classes.lookupHandler(pod, never), missing);
  classes.set('file', [classOf('fast', 'crun')]);
  assert.equal(await classes.lookupHandler(pod, never), 'crun');
  assert.equal(classes.cachedHandler(pod), 'crun');
});

test('a lookup before the first list waits, with a time limit', async () => {
  const { classes, host } = fresh();
  const first = classes.lookupHandler(pod, never);
  classes.set('api', [classOf('fast', 'crun')]);
  assert.equal(await first, 'crun');

  const { classes: silent, host: quiet } = fresh();
  const late = assert.rejects(silent.lookupHandler(pod, never), missing);
  await quiet.clock.advance(10_000);
  await late;
  assert.equal(host.clock.monotonic(), 0);
});

test('only changes are reported', () => {
  const { classes, changed } = fresh();
  classes.set('api', [classOf('a', 'x'), classOf('b', 'x')]);
  classes.set('api', [classOf('a', 'x'), classOf('b', 'y')]);
  classes.set('api', [classOf('a', 'x')]);
  assert.deepEqual(changed, ['a', 'b', 'b', 'b']);
});

test('the classes of an API server are watched', async () => {
  const { classes, changed, host } = fresh();
  const api = createMemoryApiServer(host);
  const key = { resource: 'runtimeclasses', namespace: '', name: 'fast' } as const;
  const life = new AbortController();
  const following = watchRuntimeClasses(classes, { ...host, api, log: silentLog }, life.signal);
  await host.clock.advance(0);
  await assert.rejects(classes.lookupHandler(pod, never), missing);

  await api.create(key, classOf('fast', 'crun'), never);
  await host.clock.advance(0);
  assert.equal(classes.cachedHandler(pod), 'crun');
  const stored = await api.get(key, never);
  await api.update(key, { ...stored, handler: 'runc' }, never);
  await host.clock.advance(0);
  assert.equal(classes.cachedHandler(pod), 'runc');
  await api.delete(key, {}, never);
  await host.clock.advance(0);
  assert.equal(classes.cachedHandler(pod), undefined);
  assert.deepEqual(changed, ['fast', 'fast', 'fast']);
  life.abort();
  await following;
});
