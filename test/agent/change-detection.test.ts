/** How soon a volume follows its ConfigMap with each of kubelet's three change detection strategies. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentSettings } from '../../src/app/agent.ts';
import {
  createPod,
  FOREVER,
  type MemoryAgent,
  newClusterWorld,
  podOf,
  startAgent,
  type World,
} from './memory-agent.ts';

const AT_ONCE_MS = 200;
/** Every pod has been synced, and again after a cached object has expired. */
const LOOKED_AT_MS = 240_000;
const MAP = { resource: 'configmaps', namespace: 'default', name: 'settings' } as const;

async function start(changeDetection: AgentSettings['changeDetection']) {
  const world = await newClusterWorld();
  const { direct } = world.apiServer;
  await direct.create(MAP, { metadata: { name: MAP.name }, data: { text: 'old' } }, FOREVER);
  const it = await startAgent(world, { ...(changeDetection && { changeDetection }) });
  it.source.set();
  const pod = podOf('web', {
    containers: [{ name: 'main', image: 'busybox:1', volumeMounts: [{ name: 'conf', mountPath: '/conf' }] }],
    volumes: [{ name: 'conf', configMap: { name: MAP.name } }],
  });
  const { metadata } = await createPod(world, pod);
  await it.host.clock.advance(AT_ONCE_MS);
  const path = `/var/lib/kubelet/pods/${metadata.uid}/volumes/kubernetes.io~configmap/conf/text`;
  return { world, it, text: () => it.host.fs.readText(path) };
}

function change({ apiServer }: Required<World>, { host }: MemoryAgent, text: string): Promise<void> {
  const changed = apiServer.direct.patch(MAP, { data: { text } }, {}, FOREVER);
  return changed.then(() => host.clock.advance(AT_ONCE_MS));
}

test('Watch: the change is visible at once', async () => {
  const { world, it, text } = await start(undefined);
  assert.equal(await text(), 'old');
  await change(world, it, 'new');
  assert.equal(await text(), 'new');
  await it.stop();
  assert.equal(world.apiServer.watches, 0);
});

for (const how of ['Cache', 'Get'] as const) {
  test(`${how}: the change is visible after a later sync`, async () => {
    const { world, it, text } = await start(how);
    assert.equal(await text(), 'old');
    await change(world, it, 'new');
    assert.equal(await text(), 'old');
    await it.host.clock.advance(LOOKED_AT_MS);
    assert.equal(await text(), 'new');
    await it.stop();
  });
}
