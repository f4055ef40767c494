/** How soon a pod of the whole agent has what became of its config map, by kubelet's three ways of finding out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentSettings } from '../../src/app/agent.ts';
import { type MemoryAgent, newClusterWorld, podOf, SETTINGS, startAgent, type World } from './memory-agent.ts';

const LIFE = new AbortController().signal;
const AT_ONCE_MS = 200;
/** Every pod has been looked at, and again after an answer has grown too old. */
const LOOKED_AT_MS = 240_000;
const MAP = { resource: 'configmaps', namespace: 'default', name: 'settings' } as const;

async function start(changeDetection: AgentSettings['changeDetection']) {
  const world = await newClusterWorld();
  const { direct } = world.apiServer;
  await direct.create(MAP, { metadata: { name: MAP.name }, data: { text: 'old' } }, LIFE);
  const it = await startAgent(world, { ...(changeDetection && { changeDetection }) });
  it.source.set();
  const { metadata } = await direct.create(
    { resource: 'pods', namespace: 'default', name: 'web' },
    {
      metadata: { name: 'web', namespace: 'default', uid: '' },
      spec: {
        ...podOf('web').spec,
        nodeName: SETTINGS.nodeName,
        containers: [{ name: 'main', image: 'busybox:1', volumeMounts: [{ name: 'conf', mountPath: '/conf' }] }],
        volumes: [{ name: 'conf', configMap: { name: MAP.name } }],
      },
    },
    LIFE,
  );
  await it.host.clock.advance(AT_ONCE_MS);
  const path = `/var/lib/kubelet/pods/${metadata.uid}/volumes/kubernetes.io~configmap/conf/text`;
  return { world, it, text: () => it.host.fs.readText(path) };
}

function change({ apiServer }: Required<World>, { host }: MemoryAgent, text: string): Promise<void> {
  const changed = apiServer.direct.patch(MAP, { data: { text } }, {}, LIFE);
  return changed.then(() => host.clock.advance(AT_ONCE_MS));
}

test('who watches has it at once', async () => {
  const { world, it, text } = await start(undefined);
  assert.equal(await text(), 'old');
  await change(world, it, 'new');
  assert.equal(await text(), 'new');
  await it.stop();
  assert.equal(world.apiServer.watches, 0);
});

for (const how of ['Cache', 'Get'] as const) {
  test(`who says ${how} has it at a later look`, async () => {
    const { world, it, text } = await start(how);
    assert.equal(await text(), 'old');
    await change(world, it, 'new');
    assert.equal(await text(), 'old');
    await it.host.clock.advance(LOOKED_AT_MS);
    assert.equal(await text(), 'new');
    await it.stop();
  });
}
