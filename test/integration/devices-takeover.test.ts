/** Devices of a plugin stay with their containers when kubelet and Nodelet replace each other. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Node, Pod } from '../../src/api/generated/core-v1.ts';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { byCodePoint } from '../../src/base/code-point-order.ts';
import { decodeCheckpoint } from '../../src/kubelet/device-manager/checkpoint.ts';
import { type ControlPlane, podOn } from './cluster-fixture.ts';
import { clusterTool, clusterToolsSkipReason } from './cluster-tools.ts';
import { skipReason as containerdSkipReason, startContainerd, type TestContainerd } from './containerd-fixture.ts';
import { end, launch } from './daemon-fixture.ts';
import { type GoKubelet, goKubeletSkipReason, startGoKubelet } from './go-kubelet.ts';
import { NODELET_KUBELET, nodeletNodeSkipReason } from './nodelet-node.ts';
import { startPlaneAndRuntime } from './test-cluster.ts';
import { becomes, until } from './until.ts';

const NODE = 'box';
/** Of the sample plugin: two devices, `Dev-1` and `Dev-2`, each a file in /tmp of the host and of the container. */
const RESOURCE = 'example.com/resource';
const DEVICES = ['Dev-1', 'Dev-2'];
/** Where kubelet and the plugin look, whatever the root directory is. */
const KUBELET_FOLDER = '/var/lib/kubelet/device-plugins';
/** What the node lacks decides before anything is assigned (docs/parity.md); kubelet asks its device manager first. */
const NODELET_REJECTION = `OutOf${RESOURCE}: Pod was rejected: Node didn't have enough resource: ${RESOURCE}, requested: 1, used: 2, capacity: 2`;
const KUBELET_REJECTION = `UnexpectedAdmissionError: Pod was rejected: Allocate failed due to requested number of devices unavailable for ${RESOURCE}. Requested: 1, Available: 0, which is unexpected`;
const skip =
  goKubeletSkipReason() ||
  containerdSkipReason() ||
  nodeletNodeSkipReason() ||
  clusterToolsSkipReason('sample-device-plugin');

suite('a node with devices that changes its agent', { skip }, () => {
  let plane: ControlPlane;
  let runtime: TestContainerd;
  let agent: GoKubelet | undefined;
  let plugin: ChildProcess | undefined;
  /** Nodelet's folder of device plugins; kubelet finds it at its own place. */
  let folder: string;

  before(async () => {
    [plane, runtime] = await startPlaneAndRuntime(startContainerd);
    folder = join(plane.folder, NODE, 'root/device-plugins');
    mkdirSync(folder, { recursive: true });
  });
  after(async () => {
    if (plugin) await end(plugin, 'SIGKILL');
    await agent?.stop();
    await runtime?.stop();
    await plane?.stop();
    for (const id of DEVICES) rmSync(`/tmp/${id}`, { force: true });
  });

  /** In its own mount namespace, in which kubelet's folder is Nodelet's. The pods here have no mounts of the agent. */
  function apart(command: readonly string[]): readonly string[] {
    const steps = [
      'mount -t tmpfs none /var/lib',
      `mkdir -p ${KUBELET_FOLDER}`,
      `mount --bind ${folder} ${KUBELET_FOLDER}`,
      'exec "$0" "$@"',
    ];
    return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', steps.join(' && '), ...command];
  }

  async function start(command: readonly string[]): Promise<void> {
    const { endpoint, cgroupParent } = runtime;
    agent = await startGoKubelet({ plane, nodeName: NODE, endpoint, cgroupParent, command: apart(command) });
  }

  const checkpoint = (): string => readFileSync(join(folder, 'kubelet_internal_checkpoint'), 'utf8');
  const pod = async (name: string): Promise<Pod> => JSON.parse(await plane.kubectl('get', 'pod', name, '-ojson'));
  const allocatable = async (): Promise<unknown> => {
    const { status }: Node = JSON.parse(await plane.kubectl('get', 'node', NODE, '-ojson'));
    return status?.allocatable?.[RESOURCE];
  };
  const deviceOf = async (name: string): Promise<string> => {
    const files = await plane.kubectl('exec', name, '--', 'ls', '/tmp');
    return files.trim();
  };
  /** What must not change: the container, its device, and who owns which device on disk. */
  const held = async (): Promise<readonly unknown[]> => {
    const { metadata, status } = await pod('held');
    const entries = decodeCheckpoint(checkpoint()).entries.filter(({ podUid }) => podUid === metadata.uid);
    return [status?.containerStatuses?.[0]?.containerID, await deviceOf('held'), entries];
  };
  const run = (...names: readonly string[]): Promise<void> =>
    plane.apply(
      ...names.map((name) =>
        podOn(NODE, name, {
          dnsPolicy: 'Default',
          terminationGracePeriodSeconds: 1,
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
      ),
    );

  async function changeTo(command: readonly string[], rejection: string): Promise<void> {
    const [before, onDisk] = [await held(), checkpoint()];
    await agent?.kill();
    await start(command);
    assert.equal(checkpoint(), onDisk);
    await becomes(allocatable, '2'); // the plugin has registered again
    assert.deepEqual(await held(), before);
    await expectOneLeft(rejection);
    assert.deepEqual(await held(), before);
  }

  /** A pod gets the device that is free, and the next one gets none. */
  async function expectOneLeft(rejection: string): Promise<void> {
    await run('late');
    await plane.wait('late', 'condition=Ready');
    assert.deepEqual([await deviceOf('held'), await deviceOf('late')].toSorted(byCodePoint), DEVICES);
    await run('none');
    const { status } = await until(async () => {
      const found = await pod('none');
      return found.status?.phase === 'Failed' && found;
    });
    assert.equal(`${status?.reason}: ${status?.message}`, rejection);
    await plane.remove('none', 'late');
    await run('next'); // kubelet takes a device back when the next pod requests one
    await plane.wait('next', 'condition=Ready');
    assert.deepEqual([await deviceOf('held'), await deviceOf('next')].toSorted(byCodePoint), DEVICES);
    await plane.remove('next');
  }

  test('from kubelet to Nodelet', async () => {
    await start([clusterTool('kubelet')]);
    // kubelet removes the sockets that it finds when it starts.
    plugin = launch(apart([clusterTool('sample-device-plugin')]), join(plane.folder, 'plugin.log'));
    await becomes(allocatable, '2');
    await run('held');
    await plane.wait('held', 'condition=Ready');
    await changeTo(NODELET_KUBELET, NODELET_REJECTION);
  });

  test('from Nodelet to kubelet', () => changeTo([clusterTool('kubelet')], KUBELET_REJECTION));
});
