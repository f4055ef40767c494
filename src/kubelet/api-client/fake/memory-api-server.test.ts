import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '../../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../../host/fake/virtual-clock.ts';
import { ApiError, type ApiServer } from '../api-server.ts';
import { createMemoryApiServer, type MemoryApiServer } from './memory-api-server.ts';

const never = new AbortController().signal;
const maps = { resource: 'configmaps' } as const;
const keyOf = (name: string) => ({ ...maps, namespace: 'default', name }) as const;
const lost = new ApiError('InternalError', 'etcdserver: request timed out');

function world(options: { keptChanges?: number } = {}): { clock: VirtualClock; server: MemoryApiServer } {
  const clock = new VirtualClock();
  return { clock, server: createMemoryApiServer({ clock, random: new SeededRandom(7), ...options }) };
}

async function create(api: ApiServer, ...names: string[]): Promise<string> {
  let version = '';
  for (const name of names) {
    const object = { metadata: { name, namespace: 'default' } };
    version = (await api.create(keyOf(name), object, never)).metadata.resourceVersion ?? '';
  }
  return version;
}

/** The events of a watch, and how it ended. */
async function follow(api: ApiServer, resourceVersion: string, delivered: string[], signal = never): Promise<string> {
  try {
    for await (const event of api.watch({ ...maps, resourceVersion }, signal)) {
      delivered.push(
        event.type === 'BOOKMARK' ? `BOOKMARK ${event.resourceVersion}` : `${event.type} ${event.object.metadata.name}`,
      );
    }
    return 'ended';
  } catch (error) {
    return error instanceof ApiError ? error.reason : String(error);
  }
}

async function names(api: ApiServer): Promise<string[]> {
  return (await api.list(maps, never)).items.map(({ metadata }) => metadata.name);
}

test('an in-memory server is reproducible for the same seed and clock', async () => {
  const made = async () => {
    const { server } = world();
    await create(server, 'a');
    const key = { resource: 'events', namespace: 'default', name: '' } as const;
    const metadata = { name: '', generateName: 'web.', namespace: 'default' };
    const event = await server.create(key, { metadata, involvedObject: {} }, never);
    return [await server.get(keyOf('a'), never), event];
  };
  assert.deepEqual(await made(), await made());
});

test('objects are values: neither requests nor responses can change them', async () => {
  const { server } = world();
  const given = { metadata: { name: 'a', namespace: 'default' }, data: { k: '1' } };
  const answered = await server.create(keyOf('a'), given, never);
  given.data.k = '2';
  assert.throws(() => Object.assign(answered.data ?? {}, { k: '3' }), TypeError);
  assert.deepEqual((await server.get(keyOf('a'), never)).data, { k: '1' });
});

test('lists are sorted by namespace and name', async () => {
  const { server } = world();
  await create(server, 'b', 'a', 'c');
  assert.deepEqual(await names(server), ['a', 'b', 'c']);
});

test('a fault before the effect has no effect, one after it has all', async () => {
  const { server } = world();
  server.faults.next('create', { kind: 'before', error: lost });
  server.faults.next('create', { kind: 'after', error: lost });
  await assert.rejects(create(server, 'a'), lost);
  assert.deepEqual(await names(server), []);
  await assert.rejects(create(server, 'a'), lost);
  assert.deepEqual(await names(server), ['a']);
  await create(server, 'b');
});

test('a delayed call happens later, a hanging call never', async () => {
  const { clock, server } = world();
  server.faults.next('create', { kind: 'delay', ms: 500 });
  const creating = create(server, 'a');
  await clock.advance(499);
  assert.deepEqual(await names(server), []);
  await clock.advance(1);
  await creating;
  server.faults.next('delete', { kind: 'hang' });
  const deleting = server.delete(keyOf('a'), {}, clock.deadline(10_000));
  await Promise.all([assert.rejects(deleting, { name: 'TimeoutError' }), clock.advance(10_000)]);
  assert.deepEqual(await names(server), ['a']);
});

test('everyCall() gets the target of each call', async () => {
  const { server } = world();
  const seen: string[] = [];
  server.faults.everyCall((verb, { resource, name = '', subresource = '' }) => {
    seen.push([verb, resource, name, subresource].join(' ').trim());
    return resource === 'leases' ? { kind: 'before', error: lost } : undefined;
  });
  await create(server, 'a');
  await names(server);
  await assert.rejects(server.patch({ ...keyOf('b'), resource: 'pods' }, {}, { subresource: 'status' }, never));
  await assert.rejects(server.get({ ...keyOf('a'), resource: 'leases' }, never), lost);
  assert.deepEqual(seen, ['create configmaps a', 'list configmaps', 'patch pods b status', 'get leases a']);
});

test('in an outage calls fail and watches break, while others reach the server', async () => {
  const { server } = world();
  const version = await create(server, 'a');
  const [delivered, direct]: [string[], string[]] = [[], []];
  const watching = follow(server, version, delivered);
  const controller = new AbortController();
  const watchingDirectly = follow(server.direct, version, direct, controller.signal);
  server.faults.next('get', { kind: 'hang' });
  const hanging = server.get(keyOf('a'), never);
  server.faults.setOutage(true);
  await assert.rejects(hanging, { reason: 'Unavailable' });
  await assert.rejects(names(server), { reason: 'Unavailable' });
  assert.equal(await watching, 'Unavailable');
  assert.equal(await follow(server, version, delivered), 'Unavailable');
  await create(server.direct, 'b');
  server.faults.setOutage(false);
  assert.deepEqual(await names(server), ['a', 'b']);
  controller.abort('left');
  assert.deepEqual([await watchingDirectly, delivered, server.watches], ['left', [], 0]);
});

test('closed watches deliver earlier changes, and end with or without an error', async () => {
  const { server } = world();
  const version = await create(server, 'a');
  const delivered: string[] = [];
  const watching = follow(server, version, delivered);
  await create(server, 'b');
  server.closeWatches();
  assert.deepEqual([await watching, delivered, server.watches], ['ended', ['ADDED b'], 0]);
  const again = follow(server, version, delivered);
  await names(server);
  server.closeWatches(new ApiError('Expired', 'too old resource version: 1 (2)'));
  assert.deepEqual([await again, delivered], ['Expired', ['ADDED b', 'ADDED b']]);
});

test('a watch may fail at its start, or at its end', async () => {
  const { server } = world();
  const version = await create(server, 'a');
  server.faults.next('watch', { kind: 'before', error: lost });
  assert.equal(await follow(server, version, []), 'InternalError');
  server.faults.next('watch', { kind: 'after', error: lost });
  const watching = follow(server, version, []);
  await names(server);
  server.closeWatches();
  assert.equal(await watching, 'InternalError');
});

test('a bookmark is in order with the changes', async () => {
  const { server } = world();
  const delivered: string[] = [];
  const watching = follow(server, await create(server, 'a'), delivered);
  const version = await create(server, 'b');
  server.sendBookmark();
  await create(server, 'c');
  server.closeWatches();
  await watching;
  assert.deepEqual(delivered, ['ADDED b', `BOOKMARK ${version}`, 'ADDED c']);
});

test('after compact() no watch starts from an older version, while open ones continue', async () => {
  const { server } = world();
  const version = await create(server, 'a');
  const delivered: string[] = [];
  const watching = follow(server, version, delivered);
  const newest = await create(server, 'b');
  server.compact();
  await assert.rejects(
    async () => {
      for await (const _ of server.watch({ ...maps, resourceVersion: version }, never));
    },
    { reason: 'Expired', message: `too old resource version: ${version} (${newest})` },
  );
  const late: string[] = [];
  const watchingLate = follow(server, newest, late);
  await create(server, 'c');
  server.closeWatches();
  assert.deepEqual([await watching, await watchingLate], ['ended', 'ended']);
  assert.deepEqual([delivered, late], [['ADDED b', 'ADDED c'], ['ADDED c']]);
});

test('the configured number of changes is kept', async () => {
  const { server } = world({ keptChanges: 2 });
  const version = await create(server, 'a');
  await create(server, 'b', 'c');
  const delivered: string[] = [];
  const watching = follow(server, version, delivered);
  await names(server);
  server.closeWatches();
  assert.deepEqual([await watching, delivered], ['ended', ['ADDED b', 'ADDED c']]);
  await create(server, 'd');
  assert.equal(await follow(server, version, delivered), 'Expired');
});

test('a watch from a future version delivers nothing before it', async () => {
  const { server } = world();
  const version = Number(await create(server, 'a'));
  const delivered: string[] = [];
  const watching = follow(server, String(version + 1), delivered);
  await create(server, 'b', 'c');
  server.closeWatches();
  assert.deepEqual([await watching, delivered], ['ended', ['ADDED c']]);
  assert.equal(await follow(server, 'x', delivered), 'Invalid');
});
