/** Exclusive CPUs and memory of a NUMA node stay with their containers when kubelet and Nodelet replace each other. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { EXITS_ON_SIGTERM, shell } from './agent-fixture.ts';
import type { ControlPlane } from './cluster-fixture.ts';
import { skipReason as containerdSkipReason, startContainerd, type TestContainerd } from './containerd-fixture.ts';
import { type GoKubelet, goKubeletSkipReason, startGoKubelet } from './go-kubelet.ts';
import { nodeletNodeSkipReason } from './nodelet-node.ts';
import { startPlaneAndRuntime } from './test-cluster.ts';
import { until } from './until.ts';

const NODE = 'box';
const NODELET = [join(import.meta.dirname, '../../bin/nodelet'), 'kubelet'];
const skip =
  goKubeletSkipReason() ||
  containerdSkipReason() ||
  nodeletNodeSkipReason() ||
  (availableParallelism() < 2 && 'needs two CPUs: one is reserved');

const CONFIG = {
  cpuManagerPolicy: 'static',
  reservedSystemCPUs: '0',
  cpuManagerReconcilePeriod: '1s',
  memoryManagerPolicy: 'Static',
  topologyManagerPolicy: 'restricted',
  systemReserved: { memory: '99Mi' },
  // The sum of systemReserved and the eviction threshold of the fixture.
  reservedMemory: [{ numaNode: 0, limits: { memory: '100Mi' } }],
};

suite('a node with exclusive CPUs that changes its agent', { skip }, () => {
  let plane: ControlPlane;
  let runtime: TestContainerd;
  let agent: GoKubelet | undefined;
  let rootDir: string;

  before(async () => {
    [plane, runtime] = await startPlaneAndRuntime(startContainerd);
    rootDir = join(plane.folder, NODE, 'root');
  });
  after(async () => {
    await agent?.stop();
    await runtime?.stop();
    await plane?.stop();
  });

  async function start(command?: readonly string[]): Promise<void> {
    const { endpoint, cgroupParent } = runtime;
    const config = CONFIG;
    agent = await startGoKubelet({
      plane,
      nodeName: NODE,
      endpoint,
      cgroupParent,
      config,
      ...(command && { command }),
    });
  }

  /** The CPUs that the first process of a pod may use, as the kernel shows them. */
  async function cpusOf(pod: string): Promise<string> {
    const line = await plane.kubectl('exec', pod, '--', 'grep', 'Cpus_allowed_list', '/proc/1/status');
    return line.replace('Cpus_allowed_list:', '').trim();
  }

  function checkpoint(name: 'cpu' | 'memory'): unknown {
    return JSON.parse(readFileSync(join(rootDir, `${name}_manager_state`), 'utf8'));
  }

  async function startPods(): Promise<void> {
    await plane.apply(podOf('pinned', { cpu: '1', memory: '64Mi' }), podOf('shared', undefined));
    for (const pod of ['pinned', 'shared']) await plane.wait(pod, 'condition=Ready');
    await until(async () => (await cpusOf('shared')) !== (await cpusOf('pinned')));
  }

  /** The assignments stay as they are: in the files of both managers and in the kernel. */
  async function changeTo(command: readonly string[] | undefined): Promise<void> {
    const before = { cpu: checkpoint('cpu'), memory: checkpoint('memory'), cpus: await cpusOf('pinned') };
    assert.notEqual(before.cpus, '');
    assert.doesNotMatch(before.cpus, /[,-]/); // one CPU
    await agent?.kill();
    await start(command);
    await plane.apply(podOf('late', undefined));
    await plane.wait('late', 'condition=Ready');
    const { cpu, memory } = { cpu: checkpoint('cpu'), memory: checkpoint('memory') };
    assert.deepEqual({ cpu, memory, cpus: await cpusOf('pinned') }, before);
    await until(async () => (await cpusOf('late')) === (await cpusOf('shared')));
    assert.notEqual(await cpusOf('late'), before.cpus);
    await plane.remove('late', 'pinned');
    await plane.apply(podOf('next', { cpu: '1', memory: '64Mi' }));
    await plane.wait('next', 'condition=Ready');
    assert.equal(await cpusOf('next'), before.cpus);
    await plane.remove('next', 'shared');
  }

  test('from kubelet to Nodelet', async () => {
    await start();
    await startPods();
    await changeTo(NODELET);
  });

  test('from Nodelet to kubelet', async () => {
    await startPods();
    await changeTo(undefined);
  });
});

function podOf(name: string, limits: Readonly<Record<string, string>> | undefined): object {
  const containers = [{ ...shell('main', EXITS_ON_SIGTERM), ...(limits && { resources: { limits } }) }];
  const spec = { nodeName: NODE, dnsPolicy: 'Default', automountServiceAccountToken: false, containers };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec };
}
