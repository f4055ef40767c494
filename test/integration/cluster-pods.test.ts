/** Pods of a real API server with `nodelet kubelet` as the node. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { EXITS_ON_SIGTERM, shell } from './agent-fixture.ts';
import { podOn } from './cluster-fixture.ts';
import { type NodeletNode, nodeletNodeSkipReason, startNodeletNode } from './nodelet-node.ts';
import { becomes, until } from './until.ts';

const NODE = 'box';
const skip = nodeletNodeSkipReason();

function podOf(name: string, line: string, spec: object = {}): object {
  return podOn(NODE, name, { automountServiceAccountToken: false, containers: [shell('main', line)], ...spec });
}

describe('pods of an API server', { skip }, () => {
  let node: NodeletNode;
  before(async () => {
    node = await startNodeletNode(NODE);
  });
  after(() => node?.stop());

  test('a pod that is bound to the node runs, and its status shows it', async () => {
    await node.plane.apply(podOf('web', EXITS_ON_SIGTERM));
    await node.plane.wait('web', 'condition=Ready');
    assert.equal(await node.plane.field('web', '.status.phase'), 'Running');
    assert.equal(await node.plane.field('web', '.status.containerStatuses[0].restartCount'), '0');
    assert.match(await node.plane.field('web', '.status.podIP'), /^10\./);
    assert.equal(await node.plane.field('web', '.status.observedGeneration'), '1');
  });

  test('logs and exec work through the API server', async () => {
    await node.plane.apply(podOf('talk', `echo hello; ${EXITS_ON_SIGTERM}`));
    await node.plane.wait('talk', 'condition=Ready');
    assert.match(await until(() => node.plane.kubectl('logs', 'talk')), /^hello\n/);
    assert.equal(await node.plane.kubectl('exec', 'talk', '--', 'sh', '-c', 'echo "in $HOSTNAME"'), 'in talk\n');
    await assert.rejects(node.plane.kubectl('exec', 'talk', '--', 'sh', '-c', 'exit 3'), /exit code 3/);
    await node.plane.remove('talk');
  });

  test('a mount in a volume propagates to the node and to other containers', async () => {
    const mounter = shell(
      'mounter',
      `mkdir /v/disk; mount -t tmpfs tmpfs /v/disk; echo seen >/v/disk/file; ${EXITS_ON_SIGTERM}`,
    );
    const slave = shell('slave', `until cat /v/disk/file; do sleep 0.1; done 2>/dev/null; ${EXITS_ON_SIGTERM}`);
    const at = (mountPropagation: string) => [{ name: 'shared', mountPath: '/v', mountPropagation }];
    await node.plane.apply(
      podOf('mounts', '', {
        terminationGracePeriodSeconds: 1,
        volumes: [{ name: 'shared', emptyDir: {} }],
        containers: [
          { ...mounter, securityContext: { privileged: true }, volumeMounts: at('Bidirectional') },
          { ...slave, volumeMounts: at('HostToContainer') },
        ],
      }),
    );
    await node.plane.wait('mounts', 'condition=Ready');
    await becomes(async () => (await node.plane.kubectl('logs', 'mounts', '-c', 'slave')).split('\n')[0], 'seen');
    await node.restart();
    await node.plane.remove('mounts');
  });

  test('a deleted pod ends and is removed', async () => {
    await node.plane.apply(podOf('short', EXITS_ON_SIGTERM));
    await node.plane.wait('short', 'condition=Ready');
    await node.plane.remove('short');
    await assert.rejects(node.plane.kubectl('get', 'pod', 'short'), /not found/);
  });

  test('a pod that has ended stays, with its result', async () => {
    await node.plane.apply(podOf('job', 'exit 3', { restartPolicy: 'Never' }));
    await node.plane.wait('job', 'jsonpath={.status.phase}=Failed');
    assert.equal(await node.plane.field('job', '.status.containerStatuses[0].state.terminated.exitCode'), '3');
  });

  test('a pod keeps running while no agent runs, and the next agent adopts it', async () => {
    const id = await node.plane.field('web', '.status.containerStatuses[0].containerID');
    await node.restart();
    await node.plane.remove('job');
    assert.equal(await node.plane.field('web', '.status.containerStatuses[0].containerID'), id);
  });

  test('a pod that is deleted right after an API server outage ends and is removed', async () => {
    await node.plane.pause();
    await node.plane.resume();
    await node.plane.remove('web');
    await assert.rejects(node.plane.kubectl('get', 'pod', 'web'), /not found/);
  });
});
