/** Pods of a real API server on a node that is `nodelet kubelet`. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { OBEDIENT } from './agent-fixture.ts';
import { type ControlPlane, clusterSkipReason, startControlPlane } from './cluster-fixture.ts';
import { type NodeletNode, nodeletNodeSkipReason, startNodeletNode } from './nodelet-node.ts';
import { runtimeSkipReason, startRuntime, type TestRuntime } from './runtime-fixture.ts';

const NODE = 'box';
const skip = clusterSkipReason() || runtimeSkipReason() || nodeletNodeSkipReason();

function podOf(name: string, line: string, spec: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      nodeName: NODE,
      automountServiceAccountToken: false,
      containers: [{ name: 'main', image: BUSYBOX_IMAGE, command: ['sh', '-c', line] }],
      ...spec,
    },
  };
}

describe('pods of an API server', { skip }, () => {
  let plane: ControlPlane;
  let runtime: TestRuntime;
  let node: NodeletNode;
  before(async () => {
    [plane, runtime] = await Promise.all([startControlPlane(), startRuntime()]);
    node = await startNodeletNode(plane, runtime, NODE);
  });
  after(async () => {
    await node?.stop();
    await runtime?.stop();
    await plane?.stop();
  });
  const wait = (pod: string, condition: string) =>
    plane.kubectl('wait', `pod/${pod}`, `--for=${condition}`, '--timeout=60s');
  const field = (pod: string, path: string) => plane.kubectl('get', 'pod', pod, `-ojsonpath={${path}}`);

  test('a pod that is bound to the node runs, and its status says so', async () => {
    await plane.apply(podOf('web', OBEDIENT));
    await wait('web', 'condition=Ready');
    assert.equal(await field('web', '.status.phase'), 'Running');
    assert.equal(await field('web', '.status.containerStatuses[0].restartCount'), '0');
    assert.match(await field('web', '.status.podIP'), /^10\./);
    assert.equal(await field('web', '.status.observedGeneration'), '1');
  });

  test('what a pod says, and commands in it, come through the API server', async () => {
    await plane.apply(podOf('talk', `echo hello; ${OBEDIENT}`));
    await wait('talk', 'condition=Ready');
    assert.match(await plane.kubectl('logs', 'talk'), /^hello\n/);
    assert.equal(await plane.kubectl('exec', 'talk', '--', 'sh', '-c', 'echo "in $HOSTNAME"'), 'in talk\n');
    await assert.rejects(plane.kubectl('exec', 'talk', '--', 'sh', '-c', 'exit 3'), /exit code 3/);
    await plane.kubectl('delete', 'pod', 'talk', '--timeout=60s');
  });

  test('a pod that is deleted ends, and is gone', async () => {
    await plane.apply(podOf('short', OBEDIENT));
    await wait('short', 'condition=Ready');
    await plane.kubectl('delete', 'pod', 'short', '--timeout=60s');
    await assert.rejects(plane.kubectl('get', 'pod', 'short'), /not found/);
  });

  test('a pod that has ended stays, with what became of it', async () => {
    await plane.apply(podOf('job', 'exit 3', { restartPolicy: 'Never' }));
    await wait('job', 'jsonpath={.status.phase}=Failed');
    assert.equal(await field('job', '.status.containerStatuses[0].state.terminated.exitCode'), '3');
  });

  test('a pod goes on while the agent is away, and is known again by the next one', async () => {
    const id = await field('web', '.status.containerStatuses[0].containerID');
    await node.restart();
    await plane.kubectl('delete', 'pod', 'job');
    assert.equal(await field('web', '.status.containerStatuses[0].containerID'), id);
  });

  test('a pod that is deleted right after an outage of the API server ends, and is gone', async () => {
    await plane.pause();
    await plane.resume();
    await plane.kubectl('delete', 'pod', 'web', '--timeout=60s');
    await assert.rejects(plane.kubectl('get', 'pod', 'web'), /not found/);
  });
});
