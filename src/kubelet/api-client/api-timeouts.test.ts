import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { ApiError, type ApiServer } from './api-server.ts';
import { withApiTimeouts } from './api-timeouts.ts';
import type { ApiVerb } from './fake/api-faults.ts';
import { createMemoryApiServer } from './fake/memory-api-server.ts';

const key = { resource: 'pods', namespace: 'default', name: 'web' } as const;
const pod = { metadata: { name: 'web', namespace: 'default', uid: '' }, spec: { containers: [] } };

function setUp() {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const server = createMemoryApiServer({ clock, random });
  return { clock, server, api: withApiTimeouts(server, { clock, random }), life: new AbortController() };
}

const calls: Partial<
  Record<ApiVerb, { seconds: number; call: (api: ApiServer, signal: AbortSignal) => Promise<unknown> }>
> = {
  get: { seconds: 10, call: (api, signal) => api.get(key, signal) },
  list: { seconds: 60, call: (api, signal) => api.list({ resource: 'pods' }, signal) },
  create: { seconds: 10, call: (api, signal) => api.create(key, pod, signal) },
  update: { seconds: 10, call: (api, signal) => api.update(key, pod, signal) },
  patch: { seconds: 10, call: (api, signal) => api.patch(key, {}, {}, signal) },
  delete: { seconds: 10, call: (api, signal) => api.delete(key, {}, signal) },
};

for (const verb of ['get', 'list', 'create', 'update', 'patch', 'delete'] as const) {
  test(`a ${verb} without a response fails in the end`, async () => {
    const { clock, server, api, life } = setUp();
    const { seconds = 0, call = async () => undefined } = calls[verb] ?? {};
    server.faults.next(verb, { kind: 'hang' });
    const start = clock.monotonic();
    const failure = await clock.runUntil(call(api, life.signal).catch((error: unknown) => error));
    assert.ok(failure instanceof ApiError && failure.reason === 'Unavailable');
    assert.equal(failure.message, `no response within ${seconds} s`);
    assert.equal(clock.monotonic() - start, seconds * 1000);
  });
}

test('a response in time is returned, and so are the server’s errors', async () => {
  const { api, life } = setUp();
  const created = await api.create(key, pod, life.signal);
  assert.equal((await api.get(key, life.signal)).metadata.uid, created.metadata.uid);
  await assert.rejects(api.create(key, pod, life.signal), { reason: 'AlreadyExists' });
});

test('a caller that aborts gets its own reason', async () => {
  const { clock, server, api, life } = setUp();
  server.faults.next('get', { kind: 'hang' });
  const answer = api.get(key, life.signal).catch((error: unknown) => error);
  life.abort('enough');
  assert.equal(await clock.runUntil(answer), 'enough');
});

test('a silent watch ends without an error after five to ten minutes', async () => {
  const { clock, server, api, life } = setUp();
  server.faults.next('watch', { kind: 'hang' });
  const events: unknown[] = [];
  const watching = (async () => {
    for await (const event of api.watch({ resource: 'pods', resourceVersion: '1' }, life.signal)) events.push(event);
  })();
  await clock.runUntil(watching);
  assert.deepEqual(events, []);
  assert.ok(clock.monotonic() >= 300_000 && clock.monotonic() < 600_000);
});
