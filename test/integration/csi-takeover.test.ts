/** Pods with persistent volumes keep running when kubelet and Nodelet replace each other. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { startTestCsiDriver, type TestCsiDriver } from '../csi/test-csi-driver.ts';
import { EXITS_ON_SIGTERM, shell } from './agent-fixture.ts';
import type { ControlPlane } from './cluster-fixture.ts';
import { skipReason as containerdSkipReason, startContainerd, type TestContainerd } from './containerd-fixture.ts';
import { type GoKubelet, goKubeletSkipReason, startGoKubelet } from './go-kubelet.ts';
import { nodeletNodeSkipReason } from './nodelet-node.ts';
import { startPlaneAndRuntime } from './test-cluster.ts';
import { until } from './until.ts';

const NODE = 'box';
const NODELET = [join(import.meta.dirname, '../../bin/nodelet'), 'kubelet'];
const DRIVER = 'disks.example.com';
const PODS = ['disk-a', 'disk-b', 'folder'];
const skip = goKubeletSkipReason() || containerdSkipReason() || nodeletNodeSkipReason();

suite('a node with persistent volumes that changes its agent', { skip }, () => {
  let plane: ControlPlane;
  let runtime: TestContainerd;
  let driver: TestCsiDriver;
  let agent: GoKubelet | undefined;
  let rootDir: string;

  before(async () => {
    [plane, runtime] = await startPlaneAndRuntime(startContainerd);
    rootDir = join(plane.folder, NODE, 'root');
    const local = join(plane.folder, 'local');
    mkdirSync(join(rootDir, 'plugins_registry'), { recursive: true, mode: 0o750 });
    mkdirSync(local);
    driver = await startTestCsiDriver({ name: DRIVER, rootDir, dataDir: join(plane.folder, 'disks') });
    const spec = { attachRequired: false };
    await plane.apply({ apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: DRIVER }, spec });
    await bind('disk', { csi: { driver: DRIVER, volumeHandle: 'vol-1', fsType: 'ext4' } });
    await bind('folder', { local: { path: local }, nodeAffinity: onThisNode });
  });
  after(async () => {
    await agent?.stop();
    driver?.stop();
    await runtime?.stop();
    await plane?.stop();
  });

  /** A claim that is bound to a persistent volume, as the controller of claims leaves it. */
  async function bind(name: string, source: object): Promise<void> {
    const size = { accessModes: ['ReadWriteMany'], storageClassName: '' };
    const metadata = { name, namespace: 'default' };
    const claimSpec = { ...size, volumeName: `pv-${name}`, resources: { requests: { storage: '1Gi' } } };
    await plane.apply({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: claimSpec });
    const uid = await plane.kubectl('get', 'pvc', name, '-ojsonpath={.metadata.uid}');
    const spec = { ...size, capacity: { storage: '1Gi' }, claimRef: { namespace: 'default', name, uid }, ...source };
    await plane.apply({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: `pv-${name}` }, spec });
    const bound = JSON.stringify({ status: { phase: 'Bound', capacity: { storage: '1Gi' } } });
    await plane.kubectl('patch', 'pvc', name, '--subresource=status', '--type=merge', '-p', bound);
  }

  async function start(command?: readonly string[]): Promise<void> {
    const { endpoint, cgroupParent } = runtime;
    agent = await startGoKubelet({ plane, nodeName: NODE, endpoint, cgroupParent, ...(command && { command }) });
    await until(async () => (await plane.kubectl('get', 'csinode', NODE, '-oname', '--ignore-not-found')) !== '');
    const drivers = '-ojsonpath={.spec.drivers[*].name}';
    await until(async () => (await plane.kubectl('get', 'csinode', NODE, drivers)) === DRIVER);
  }

  async function startPods(): Promise<void> {
    await plane.apply(podOf('disk-a', 'disk'), podOf('disk-b', 'disk'), podOf('folder', 'folder'));
    for (const pod of PODS) await plane.wait(pod, 'condition=Ready');
  }

  async function containerIds(): Promise<string> {
    return plane.kubectl('get', 'pods', '-ojsonpath={.items[*].status.containerStatuses[*].containerID}');
  }

  /** The containers stay, the new agent writes to the volumes of the old one, and no volume is unmounted. */
  async function changeTo(command: readonly string[] | undefined): Promise<void> {
    const containers = await containerIds();
    const before = driver.driver.calls.length;
    await agent?.kill();
    await start(command);
    await plane.apply(podOf('third', 'disk'));
    await plane.wait('third', 'condition=Ready');
    await plane.remove('third');
    assert.equal(await containerIds(), containers);
    const unmounts = driver.driver.calls.slice(before).filter(({ method }) => method.startsWith('NodeUn'));
    assert.deepEqual(
      unmounts.map(({ method }) => method),
      ['NodeUnpublishVolume'],
    );
    const lines = readFileSync(join(plane.folder, 'disks/vol-1/log'), 'utf8').trim().split('\n');
    assert.equal(lines.at(-1), 'third');
  }

  async function deletePods(): Promise<void> {
    const before = driver.driver.calls.length;
    await plane.remove(...PODS);
    await until(async () => Object.keys(driver.driver.volumes).length === 0);
    const calls = driver.driver.calls.slice(before).map(({ method }) => method);
    assert.deepEqual(calls, ['NodeUnpublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume']);
    await until(async () => readdirSync(join(rootDir, 'pods')).length === 0);
    const staged = join(rootDir, 'plugins/kubernetes.io/csi', DRIVER);
    await until(async () => !existsSync(staged) || readdirSync(staged).length === 0);
    assert.doesNotMatch(readFileSync('/proc/self/mountinfo', 'utf8'), new RegExp(`${rootDir}/(pods|plugins)/`));
  }

  test('from kubelet to Nodelet', async () => {
    await start();
    await startPods();
    await changeTo(NODELET);
    await deletePods();
  });

  test('from Nodelet to kubelet', async () => {
    await startPods();
    await changeTo(undefined);
    await deletePods();
  });
});

const onThisNode = {
  required: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [NODE] }] }],
  },
};

/** Writes its name to the volume. */
function podOf(name: string, claimName: string): object {
  const mount = { volumeMounts: [{ name: 'data', mountPath: '/data' }] };
  const containers = [{ ...shell('main', `echo ${name} >> /data/log; ${EXITS_ON_SIGTERM}`), ...mount }];
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName } }];
  const spec = { nodeName: NODE, dnsPolicy: 'Default', automountServiceAccountToken: false, containers, volumes };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec };
}
