import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { ApiError } from '../api-client/api-server.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { ResourceSliceCleanup } from './resource-slice-cleanup.ts';

const never = new AbortController().signal;
const OUTAGE = { kind: 'before', error: new ApiError('Unauthorized', 'no credentials yet') } as const;

async function cluster() {
  const { clock, random } = createMemoryHost();
  const api = createMemoryApiServer({ clock, random });
  let hasNode = true;
  const life = new AbortController();
  const deps = { api, nodeName: 'box', hasNode: () => hasNode, clock, random, log: silentLog };
  const cleanup = new ResourceSliceCleanup(deps, life.signal);
  for (const [nodeName, driver] of [
    ['box', 'gpu'],
    ['box', 'nic'],
    ['other', 'gpu'],
  ] as const) {
    const name = `${nodeName}-${driver}`;
    const pool = { name: nodeName, generation: 1, resourceSliceCount: 1 };
    const key = { resource: 'resourceslices', namespace: '', name } as const;
    await api.direct.create(key, { metadata: { name }, spec: { driver, nodeName, pool } }, never);
  }
  return {
    cleanup,
    clock,
    api,
    life,
    setNode: (is: boolean) => {
      hasNode = is;
    },
    left: async () => {
      const { items } = await api.direct.list({ resource: 'resourceslices' }, never);
      return items.map(({ metadata }) => metadata.name).sort((one, other) => (one < other ? -1 : 1));
    },
  };
}

suite('ResourceSlices', () => {
  test('of this node are removed at the start, with retries, once the node exists', async () => {
    const { cleanup, clock, api, setNode, left } = await cluster();
    setNode(false);
    api.faults.next('deleteCollection', OUTAGE);
    const done = cleanup.wipeAll(never);
    await clock.advance(5_000);
    assert.equal((await left()).length, 3);
    setNode(true);
    await clock.runUntil(done);
    assert.deepEqual(await left(), ['other-gpu']);
  });

  test('of a driver are removed 30 seconds after it is gone', async () => {
    const { cleanup, clock, left } = await cluster();
    cleanup.setUsable('gpu', false);
    await clock.advance(20_000);
    cleanup.setUsable('gpu', false); // does not extend the delay
    await clock.advance(9_999);
    assert.equal((await left()).length, 3);
    await clock.advance(2);
    assert.deepEqual(await left(), ['box-nic', 'other-gpu']);
  });

  test('of a driver that comes back in time stay', async () => {
    const { cleanup, clock, left } = await cluster();
    cleanup.setUsable('gpu', false);
    await clock.advance(29_000);
    cleanup.setUsable('gpu', true);
    await clock.advance(60_000);
    assert.equal((await left()).length, 3);
    cleanup.setUsable('gpu', false);
    await clock.advance(30_001);
    assert.equal((await left()).length, 2);
  });

  test('stay at the API server when the agent stops', async () => {
    const { cleanup, clock, life, left } = await cluster();
    cleanup.setUsable('gpu', false);
    life.abort(new Error('stopped'));
    await clock.advance(60_000);
    assert.equal((await left()).length, 3);
  });
});
