/** What plugs into the node: the folders of plugins, and the CSINode object that a node needs to be ready. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeCondition } from '../../src/api/generated/core-v1.ts';
import { buildAgent } from '../../src/app/build-agent.ts';
import { silentLog } from '../../src/base/log.ts';
import { ApiError } from '../../src/kubelet/api-client/api-server.ts';
import { nodeKey } from '../../src/kubelet/node/node-cache.ts';
import { FOREVER, newWorld, SETTINGS, startAgent } from './memory-agent.ts';
import { NODE, newNodeWorld } from './node-world.ts';

const CSI_NODE = { resource: 'csinodes', namespace: '', name: NODE.nodeName } as const;

async function startNodeAgent() {
  const { host, runtime, server } = await newNodeWorld();
  const end = new AbortController();
  const settings = { ...SETTINGS, nodeName: NODE.nodeName };
  const parts = { host, cri: runtime.cri, runtimeEvents: undefined, sources: [], apiServer: server, log: silentLog };
  const agent = await buildAgent({ ...parts, node: NODE, settings }, FOREVER);
  const running = agent.run(end.signal);
  const ready = async (): Promise<NodeCondition | undefined> => {
    const node = await server.direct.get(nodeKey(NODE.nodeName), FOREVER).catch(() => undefined);
    return node?.status?.conditions?.find(({ type }) => type === 'Ready');
  };
  const stop = async (): Promise<void> => {
    end.abort(new Error('stopped'));
    await host.clock.runUntil(running);
  };
  return { host, server, ready, [Symbol.asyncDispose]: stop };
}

test('a node is ready as soon as its CSINode object exists', async () => {
  await using it = await startNodeAgent();
  it.server.faults.everyCall((verb, { resource }) =>
    verb === 'create' && resource === 'csinodes'
      ? { kind: 'before', error: new ApiError('Forbidden', 'csinodes is forbidden') }
      : undefined,
  );
  await it.host.clock.advance(1_000);
  const { status, reason, message = '' } = (await it.ready()) ?? {};
  assert.deepEqual([status, reason], ['False', 'KubeletNotReady']);
  assert.match(message, /^failed to initialize CSINode: .*caused by: csinodes is forbidden$/);

  it.server.faults.everyCall(() => undefined);
  await it.host.clock.advance(16_000);
  assert.equal((await it.ready())?.status, 'True');
  const { metadata, spec } = await it.server.direct.get(CSI_NODE, FOREVER);
  const { uid } = (await it.server.direct.get(nodeKey(NODE.nodeName), FOREVER)).metadata;
  assert.deepEqual(metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Node', name: NODE.nodeName, uid }]);
  assert.deepEqual(spec.drivers, []);
});

test('a node without errors is ready within a second', async () => {
  await using it = await startNodeAgent();
  await it.host.clock.advance(1_000);
  assert.equal((await it.ready())?.status, 'True');
});

test('a standalone agent has the folders of plugins, with kubelet’s mode', async () => {
  const world = newWorld();
  await using it = await startAgent(world);
  it.source.set();
  await it.host.clock.advance(100);
  for (const folder of ['plugins', 'plugins_registry']) {
    const stat = await it.host.fs.stat(`${SETTINGS.rootDir}/${folder}`);
    assert.deepEqual([stat?.kind, stat?.mode], ['directory', 0o750], folder);
  }
});
