/** Shutdowns of the machine, on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLAIN_NODE } from '../../src/kubelet/node/fake/plain-node.ts';
import { createPod, FOREVER, newClusterWorld, podKey, podOf, SETTINGS, startAgent } from './memory-agent.ts';

const SHUTDOWN = { graceMs: 30_000, criticalMs: 10_000, byPriority: [], isPriorityOn: true };

async function clusterNode() {
  const world = await newClusterWorld();
  const it = await startAgent(world, { shutdown: SHUTDOWN }, undefined, [], {
    node: { ...PLAIN_NODE, nodeName: SETTINGS.nodeName },
  });
  it.source.set();
  await it.host.clock.advance(1_000);
  const node = () => world.apiServer.direct.get({ resource: 'nodes', namespace: '', name: SETTINGS.nodeName }, FOREVER);
  const status = async (name: string) => (await world.apiServer.direct.get(podKey(name), FOREVER)).status;
  return { ...it, apiServer: world.apiServer, node, status };
}

test('pods end by priority before a shutdown, the node is not ready, and new pods are rejected', async () => {
  const it = await clusterNode();
  await using _ = it;
  it.runtime.behaviours.set('main', { onTerminate: { afterMs: 2_000, code: 0 } });
  await createPod(it, podOf('web'));
  await createPod(it, podOf('dns', { priority: 2_000_000_000 }));
  await it.host.clock.advance(1_000);
  it.host.loginManager.announce(true);
  await it.host.clock.advance(1_000);
  const ready = (await it.node()).status?.conditions?.find(({ type }) => type === 'Ready');
  assert.deepEqual(
    [ready?.status, ready?.reason, ready?.message],
    ['False', 'KubeletNotReady', 'node is shutting down'],
  );
  await createPod(it, podOf('late'));
  await it.host.clock.advance(500);
  const late = await it.status('late');
  assert.deepEqual(
    [late?.phase, late?.reason, late?.message],
    ['Failed', 'NodeShutdown', 'Pod was rejected: Pod was rejected as the node is shutting down.'],
  );
  assert.equal((await it.status('dns'))?.phase, 'Running');
  assert.equal(it.host.loginManager.locks.length, 1);
  await it.host.clock.advance(5_000);
  for (const name of ['web', 'dns']) {
    const { phase, reason, message, conditions } = (await it.status(name)) ?? {};
    assert.deepEqual(
      [phase, reason, message],
      ['Failed', 'Terminated', 'Pod was terminated in response to imminent node shutdown.'],
    );
    assert.equal(conditions?.find(({ type }) => type === 'DisruptionTarget')?.reason, 'TerminationByKubelet');
  }
  assert.deepEqual(it.host.loginManager.locks, []);
});

test('after a cancelled shutdown the node is ready and takes pods again', async () => {
  const it = await clusterNode();
  await using _ = it;
  it.host.loginManager.announce(true);
  await it.host.clock.advance(1_000);
  it.host.loginManager.announce(false);
  await it.host.clock.advance(1_000);
  const ready = (await it.node()).status?.conditions?.find(({ type }) => type === 'Ready');
  assert.equal(ready?.status, 'True');
  await createPod(it, podOf('web'));
  await it.host.clock.advance(2_000);
  assert.equal((await it.status('web'))?.phase, 'Running');
});

test('shutDown() ends the pods without logind, and waits until the API server has their statuses', async () => {
  const it = await clusterNode();
  await using _ = it;
  it.host.loginManager.isAvailable = false;
  await createPod(it, podOf('web'));
  await it.host.clock.advance(1_000);
  await it.host.clock.runUntil(it.agent.shutDown());
  assert.equal((await it.status('web'))?.reason, 'Terminated');
});
