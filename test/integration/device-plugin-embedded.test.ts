/** Kubernetes' sample device plugin on `nodelet kubelet` with the embedded runtime: SIGKILL of both, nothing assigned twice. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Node, Pod } from '../../src/api/generated/core-v1.ts';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { byCodePoint } from '../../src/base/code-point-order.ts';
import { type EmbeddedNode, embeddedNodeSkipReason, startEmbeddedNode } from './cluster-embedded-node.ts';
import { type ControlPlane, podOn } from './cluster-fixture.ts';
import { clusterTool, clusterToolsSkipReason } from './cluster-tools.ts';
import { end, launch } from './daemon-fixture.ts';
import { becomes, until } from './until.ts';

const NODE = 'dev';
/** Of the sample plugin: two devices, `Dev-1` and `Dev-2`, each a file in /tmp of the host and of the container. */
const RESOURCE = 'example.com/resource';
/** The plugin registers there, whatever the root directory of the agent is. */
const KUBELET_FOLDER = '/var/lib/kubelet/device-plugins';

describe('devices of a plugin', {
  skip: embeddedNodeSkipReason() || clusterToolsSkipReason('sample-device-plugin'),
}, () => {
  let node: EmbeddedNode;
  let plane: ControlPlane;
  let plugin: ChildProcess | undefined;
  before(async () => {
    node = await startEmbeddedNode(NODE);
    plane = node.plane;
    plugin = startPlugin();
  });
  after(async () => {
    if (plugin) await end(plugin, 'SIGKILL');
    await node?.stop();
    for (const id of ['Dev-1', 'Dev-2']) rmSync(`/tmp/${id}`, { force: true });
  });

  /** In its own mount namespace, in which the agent's folder is kubelet's. */
  function startPlugin(): ChildProcess {
    const folder = join(plane.folder, NODE, 'root/device-plugins');
    const steps = [
      'mount -t tmpfs none /var/lib',
      `mkdir -p ${KUBELET_FOLDER}`,
      `mount --bind ${folder} ${KUBELET_FOLDER}`,
      `exec ${clusterTool('sample-device-plugin')}`,
    ];
    const apart = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', steps.join(' && ')];
    return launch(apart, join(plane.folder, 'plugin.log'));
  }

  const counts = async (): Promise<readonly unknown[]> => {
    const { status }: Node = JSON.parse(await plane.kubectl('get', 'node', NODE, '-ojson'));
    return [status?.capacity?.[RESOURCE], status?.allocatable?.[RESOURCE]];
  };
  const pod = async (name: string): Promise<Pod> => JSON.parse(await plane.kubectl('get', 'pod', name, '-ojson'));
  const phase = async (name: string): Promise<string | undefined> => (await pod(name)).status?.phase;
  const deviceOf = async (name: string): Promise<string> => {
    const files = await plane.kubectl('exec', name, '--', 'sh', '-c', 'cd /tmp; ls');
    return files.trim();
  };
  const start = (name: string): Promise<unknown> =>
    plane.apply(
      podOn(NODE, name, {
        dnsPolicy: 'Default',
        terminationGracePeriodSeconds: 1, // without one the API server forgets the pod before it has ended
        automountServiceAccountToken: false,
        containers: [
          {
            name: 'main',
            image: BUSYBOX_IMAGE,
            command: ['sleep', '1000'],
            resources: { limits: { [RESOURCE]: '1' } },
          },
        ],
      }),
    );

  test('the node has the devices as soon as the plugin is registered', () => becomes(counts, ['2', '2']));

  test('each pod gets a device of its own, and its status shows it; a third pod is rejected', async () => {
    for (const name of ['one', 'two']) await start(name);
    for (const name of ['one', 'two']) await plane.wait(name, 'condition=Ready');
    const devices = [await deviceOf('one'), await deviceOf('two')];
    assert.deepEqual(devices.toSorted(byCodePoint), ['Dev-1', 'Dev-2']);
    assert.deepEqual((await pod('one')).status?.containerStatuses?.[0]?.allocatedResourcesStatus, [
      { name: RESOURCE, resources: [{ resourceID: devices[0], health: 'Healthy' }] },
    ]);
    await start('three');
    await becomes(() => phase('three'), 'Failed');
    const checkpoint = readFileSync(
      join(plane.folder, NODE, 'root/device-plugins/kubelet_internal_checkpoint'),
      'utf8',
    );
    assert.equal(JSON.parse(checkpoint).Data.PodDeviceEntries.length, 2);
  });

  test('after SIGKILL of the agent the plugin registers again, and the pods keep their devices', async () => {
    const before = [await deviceOf('one'), (await pod('one')).status?.containerStatuses?.[0]?.containerID];
    await node.kill();
    await node.start();
    await becomes(counts, ['0', '0']); // the sample plugin waits for ten seconds
    assert.equal(await phase('one'), 'Running');
    await becomes(counts, ['2', '2']);
    await start('four');
    await becomes(() => phase('four'), 'Failed');
    const now = [await deviceOf('one'), (await pod('one')).status?.containerStatuses?.[0]?.containerID];
    assert.deepEqual(now, before);
  });

  test('a device comes back with the end of its pod', async () => {
    const device = await deviceOf('one');
    await plane.kubectl('delete', 'pod', 'one', '--timeout=60s');
    await start('five');
    const end = await until(async () => {
      const { status } = await pod('five');
      return status?.phase !== 'Pending' && `${status?.phase} ${status?.message ?? ''}`;
    });
    assert.equal(end, 'Running ');
    assert.equal(await deviceOf('five'), device);
  });

  test('after SIGKILL of the plugin its devices are unhealthy until it is back, and pods go on', async () => {
    if (plugin) await end(plugin, 'SIGKILL');
    await becomes(counts, ['2', '0']);
    assert.equal(await phase('five'), 'Running');
    plugin = startPlugin();
    await becomes(counts, ['2', '2']);
    assert.equal(await phase('five'), 'Running');
  });
});
