import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ApiWorld,
  configMapOf,
  createPod,
  freshName,
  patience,
  podKey,
  podOf,
  watched,
  watchLines,
} from './api-world.ts';

export function watchContract(worldOf: () => ApiWorld): void {
  const versionNow = async (): Promise<string> =>
    (await worldOf().api.list({ resource: 'pods' }, patience())).resourceVersion;
  const setPhase = (name: string, phase: string) =>
    worldOf().api.patch(podKey(worldOf(), name), { status: { phase } }, { subresource: 'status' }, patience());

  test('a watch continues where a list ended, and delivers each change once and in order', async () => {
    const world = worldOf();
    const node = freshName('node');
    const { key } = await createPod(world, { nodeName: node });
    const selection = { resource: 'pods', fieldSelector: `spec.nodeName=${node}` } as const;
    const { items, resourceVersion } = await world.api.list(selection, patience());
    assert.equal(items.length, 1);
    await setPhase(key.name, 'Running');
    const second = await createPod(world, { nodeName: node });
    await world.api.delete(key, { graceSeconds: 0 }, patience());
    assert.deepEqual(await watchLines(world, { ...selection, resourceVersion }, 4), [
      `MODIFIED ${key.name}`,
      `ADDED ${second.key.name}`,
      `MODIFIED ${key.name}`,
      `DELETED ${key.name}`,
    ]);
  });

  test('a watch delivers changes while it is open', async () => {
    const world = worldOf();
    const node = freshName('node');
    const resourceVersion = await versionNow();
    const lines = watchLines(world, { resource: 'pods', fieldSelector: `spec.nodeName=${node}`, resourceVersion }, 2);
    const { key } = await createPod(world, { nodeName: node });
    await createPod(world, { nodeName: 'elsewhere' });
    await setPhase(key.name, 'Running');
    assert.deepEqual(await lines, [`ADDED ${key.name}`, `MODIFIED ${key.name}`]);
  });

  test('each change has its version, from which another watch continues', async () => {
    const world = worldOf();
    const { key, pod } = await createPod(world);
    const selection = { resource: 'pods', fieldSelector: `metadata.name=${key.name}` } as const;
    for (const phase of ['Running', 'Failed']) await setPhase(key.name, phase);
    await world.api.delete(key, {}, patience());
    const [first, ...rest] = await watched(
      world,
      { ...selection, resourceVersion: pod.metadata.resourceVersion ?? '' },
      4,
    );
    assert.equal(first?.object.metadata.resourceVersion, first?.resourceVersion);
    assert.deepEqual(await watched(world, { ...selection, resourceVersion: first?.resourceVersion ?? '' }, 3), rest);
  });

  test('an object that begins to match is added, and one that ceases to match is deleted in its last matching state', async () => {
    const world = worldOf();
    const { key, pod } = await createPod(world);
    const selection = {
      resource: 'pods',
      fieldSelector: `metadata.name=${key.name},status.phase=Running`,
      resourceVersion: pod.metadata.resourceVersion ?? '',
    } as const;
    for (const phase of ['Running', 'Succeeded']) await setPhase(key.name, phase);
    const events = await watched(world, selection, 2);
    assert.deepEqual(
      events.map(({ type, object }) => `${type} ${object.status?.phase}`),
      ['ADDED Running', 'DELETED Running'],
    );
    const now = await world.api.get(key, patience());
    assert.equal(events[1]?.object.metadata.resourceVersion, now.metadata.resourceVersion);
  });

  test('a deleted object has the version of its deletion', async () => {
    const world = worldOf();
    const { key, pod } = await createPod(world, { nodeName: undefined });
    await world.api.delete(key, {}, patience());
    const selection = { resource: 'pods', fieldSelector: `metadata.name=${key.name}` } as const;
    const [marked, deleted] = await watched(
      world,
      { ...selection, resourceVersion: pod.metadata.resourceVersion ?? '' },
      2,
    );
    assert.equal(deleted?.type, 'DELETED');
    assert.ok(Number(deleted?.resourceVersion) > Number(marked?.resourceVersion));
    assert.equal(deleted?.object.metadata.resourceVersion, deleted?.resourceVersion);
  });

  test('a watch selects one resource, and one namespace if given', async () => {
    const world = worldOf();
    const name = freshName();
    const resourceVersion = await versionNow();
    const mapKey = { resource: 'configmaps', namespace: world.namespace, name } as const;
    await world.api.create(podKey(world, name), podOf(world, name), patience());
    await world.api.create(mapKey, configMapOf(world, name, { a: '1' }), patience());
    await world.api.patch(mapKey, { data: { a: '2' } }, {}, patience());
    const selection = {
      resource: 'configmaps',
      namespace: world.namespace,
      fieldSelector: `metadata.name=${name}`,
    } as const;
    assert.deepEqual(await watchLines(world, { ...selection, resourceVersion }, 2), [
      `ADDED ${name}`,
      `MODIFIED ${name}`,
    ]);
  });

  test('a watch from version 0 delivers the existing objects first', async () => {
    const world = worldOf();
    const { key } = await createPod(world);
    const selection = { resource: 'pods', fieldSelector: `metadata.name=${key.name}`, resourceVersion: '0' } as const;
    assert.deepEqual(await watchLines(world, selection, 1), [`ADDED ${key.name}`]);
  });

  test('a watch ends with the reason of its signal', async () => {
    const controller = new AbortController();
    const selection = { resource: 'pods', resourceVersion: await versionNow() } as const;
    const watching = (async () => {
      for await (const _ of worldOf().api.watch(selection, controller.signal));
    })();
    controller.abort(new Error('seen enough'));
    await assert.rejects(watching, { message: 'seen enough' });
  });
}
