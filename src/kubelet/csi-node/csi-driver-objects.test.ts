import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CSIDriver } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { NO_CSI_DRIVER_OBJECTS, WatchedCsiDriverObjects } from './csi-driver-objects.ts';

const FOREVER = new AbortController().signal;
const keyOf = (name: string) => ({ resource: 'csidrivers', namespace: '', name }) as const;
const driver = (name: string, spec: CSIDriver['spec'] = {}): CSIDriver => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'CSIDriver',
  metadata: { name },
  spec,
});

function world() {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const api = createMemoryApiServer({ clock, random });
  const objects = new WatchedCsiDriverObjects({ api, clock, random, log: silentLog });
  const changed: string[] = [];
  const unsubscribe = objects.onChange((name) => changed.push(name));
  return { clock, api, objects, changed, unsubscribe };
}

test('an object is found after the first list, and follows its changes', async () => {
  const { clock, api, objects, changed, unsubscribe } = world();
  await api.direct.create(keyOf('a.csi'), driver('a.csi', { attachRequired: false }), FOREVER);
  const life = new AbortController();
  const early = objects.find('a.csi', FOREVER);
  assert.equal(objects.cached('a.csi'), undefined);
  const running = objects.run(life.signal);
  assert.equal((await clock.runUntil(early))?.spec.attachRequired, false);
  assert.equal(await objects.find('b.csi', FOREVER), undefined);

  const before = await api.direct.get(keyOf('a.csi'), FOREVER);
  await api.direct.update(keyOf('a.csi'), { ...before, spec: { podInfoOnMount: true } }, FOREVER);
  await api.direct.create(keyOf('b.csi'), driver('b.csi'), FOREVER);
  await clock.advance(1);
  assert.equal(objects.cached('a.csi')?.spec.podInfoOnMount, true);
  assert.equal((await objects.find('b.csi', FOREVER))?.metadata.name, 'b.csi');
  await api.direct.delete(keyOf('b.csi'), {}, FOREVER);
  await clock.advance(1);
  assert.equal(objects.cached('b.csi'), undefined);
  assert.deepEqual(changed, ['a.csi', 'a.csi', 'b.csi', 'b.csi']);

  unsubscribe();
  await api.direct.delete(keyOf('a.csi'), {}, FOREVER);
  await clock.advance(1);
  assert.equal(changed.length, 4);
  life.abort();
  await clock.runUntil(running);
});

test('without a first list a caller fails after ten seconds, or with its signal', async () => {
  const { clock, objects } = world();
  const failure = assert.rejects(objects.find('a.csi', FOREVER), {
    message: 'cannot get CSIDriver "a.csi": the API server has not listed the CSIDriver objects yet',
  });
  await clock.advance(10_000);
  await failure;
  const reason = new Error('the pod is gone');
  await assert.rejects(objects.find('a.csi', AbortSignal.abort(reason)), reason);
});

test('a standalone node has no objects', async () => {
  assert.equal(await NO_CSI_DRIVER_OBJECTS.find('a.csi', FOREVER), undefined);
  assert.equal(NO_CSI_DRIVER_OBJECTS.cached('a.csi'), undefined);
  NO_CSI_DRIVER_OBJECTS.onChange(() => assert.fail())();
});
