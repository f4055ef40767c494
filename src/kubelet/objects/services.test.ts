import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { CONFIG_SOURCE } from '../../api/pod-names.ts';
import { silentLog } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { Services } from './services.ts';

const LIFE = new AbortController().signal;
const LONGEST_PAUSE_MS = 60_000;

function podOf(source: 'api' | 'file'): Pod {
  const annotations = { [CONFIG_SOURCE]: source };
  return { metadata: { name: 'web', namespace: 'shop', uid: 'u', annotations }, spec: { containers: [] } };
}

function setUp({ isOut = false } = {}) {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const api = createMemoryApiServer({ clock, random });
  api.faults.setOutage(isOut);
  const woken: string[] = [];
  const life = new AbortController();
  const services = new Services({ api, clock, random, log: silentLog, onChange: (uid) => woken.push(uid) });
  const running = services.run(life.signal);
  const key = (name: string) => ({ resource: 'services', namespace: 'shop', name }) as const;
  return {
    api,
    clock,
    woken,
    create: (name: string) =>
      api.direct.create(
        key(name),
        { metadata: { name, namespace: 'shop' }, spec: { clusterIP: '10.0.0.9', ports: [{ port: 80 }] } },
        LIFE,
      ),
    remove: (name: string) => api.direct.delete(key(name), {}, LIFE),
    /** The services in the pod’s variables, or the error message. */
    async variableNames(pod: Pod) {
      const asked = services.variables(pod, LIFE).then(
        (variables) => [...variables.keys()].filter((name) => name.endsWith('_SERVICE_HOST')),
        (error: Error) => error.message,
      );
      return clock.runUntil(asked);
    },
    async [Symbol.asyncDispose]() {
      life.abort();
      await clock.advance(0);
      await running;
      assert.equal(api.watches, 0);
    },
  };
}

test('pods get the services that exist when they start', async () => {
  await using it = setUp();
  await it.create('db');
  assert.deepEqual(await it.variableNames(podOf('api')), ['DB_SERVICE_HOST']);
  await it.create('cache');
  await it.remove('db');
  await it.clock.advance(0);
  assert.deepEqual(await it.variableNames(podOf('api')), ['CACHE_SERVICE_HOST']);
  assert.deepEqual(it.woken, []);
});

test('until services are known, a pod of the API server fails and is woken later; a static pod starts without them', async () => {
  await using it = setUp({ isOut: true });
  await it.create('db');
  assert.deepEqual(await it.variableNames(podOf('file')), []);
  const message = 'services have not yet been read at least once, cannot construct envvars';
  assert.equal(await it.variableNames(podOf('api')), message);
  it.api.faults.setOutage(false);
  await it.clock.advance(LONGEST_PAUSE_MS);
  assert.deepEqual(it.woken, ['u']);
  assert.deepEqual(await it.variableNames(podOf('api')), ['DB_SERVICE_HOST']);
  assert.deepEqual(await it.variableNames(podOf('file')), ['DB_SERVICE_HOST']);
});
