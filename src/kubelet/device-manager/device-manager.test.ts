import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { devicesOf, FakeDevicePlugin, type FakeDevicePluginOptions } from '../../plugins/fake/fake-device-plugin.ts';
import { ContainerAllocateResponse } from '../../plugins/generated/deviceplugin-v1beta1.ts';
import { PluginError } from '../../plugins/plugin-error.ts';
import { numaMask } from '../topology/numa-mask.ts';
import { PodPlacement } from '../topology/pod-placement.ts';
import { topologyPolicy } from '../topology/topology-policy.ts';
import { DeviceManager } from './device-manager.ts';

const GPU = 'example.com/gpu';
const FOLDER = '/k/device-plugins';
const FILE = `${FOLDER}/kubelet_internal_checkpoint`;
const FOREVER = new AbortController().signal;
const ANY = { affinity: undefined, preferred: true };

function containerOf(name: string, gpus: number, more: Partial<Container> = {}): Container {
  return { name, image: 'i', resources: { limits: { [GPU]: String(gpus), cpu: '1' } }, ...more };
}

function podOf(uid: string, containers: readonly Container[], initContainers: readonly Container[] = []): Pod {
  const metadata = { uid, name: uid, namespace: 'default' };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: { containers: [...containers], initContainers: [...initContainers] },
  };
}

/** A node with one manager; `again` is the next process on the same disk. */
async function newNode(host: MemoryHost = createMemoryHost()) {
  const running = new Set<string>();
  const changedPods: string[] = [];
  const manager = await DeviceManager.start({
    fs: host.fs,
    clock: host.clock,
    log: silentLog,
    folder: FOLDER,
    isRunning: (uid) => running.has(uid),
    onPodChanged: (uid) => changedPods.push(uid),
  });
  manager.setNumaNodes([0, 1]);
  const policy = topologyPolicy({ policy: 'none', options: {} }, { numaNodes: [] });
  const step = new PodPlacement({ clock: { monotonic: () => 0 }, providers: [manager], policy, scope: 'container' });
  const register = (...devices: string[]) => registerWith({}, ...devices);
  const registerWith = (options: FakeDevicePluginOptions, ...devices: string[]): FakeDevicePlugin => {
    const plugin = new FakeDevicePlugin(options);
    manager.connected(plugin);
    manager.reported(plugin, devicesOf(...devices));
    return plugin;
  };
  const start = (pod: Pod): Promise<void> => step.prepare(pod, FOREVER);
  const idsOf = (uid: string, container: string): readonly string[] =>
    manager.devices(uid, container).flatMap(({ deviceIds }) => deviceIds);
  const counts = (): readonly unknown[] => {
    const { capacity, allocatable, removed } = manager.counts();
    return [capacity.get(GPU), allocatable.get(GPU), removed.has(GPU)];
  };
  return {
    host,
    manager,
    step,
    running,
    changedPods,
    register,
    registerWith,
    start,
    idsOf,
    counts,
    again: () => newNode(host),
  };
}

test('a container gets devices, which no other container gets before its pod is released', async () => {
  const node = await newNode();
  const plugin = node.register('a', 'b', 'c');
  await node.start(podOf('p1', [containerOf('c', 2)]));
  assert.deepEqual(node.idsOf('p1', 'c'), ['a', 'b']);
  await assert.rejects(
    node.start(podOf('p2', [containerOf('c', 2)])),
    /Requested: 2, Available: 1, which is unexpected$/,
  );
  await node.manager.release('p2');
  await node.manager.release('p1');
  await node.start(podOf('p3', [containerOf('c', 3)]));
  assert.deepEqual(node.idsOf('p3', 'c'), ['a', 'b', 'c']);
  assert.deepEqual(plugin.calls, [
    { method: 'allocate', ids: ['a', 'b'] },
    { method: 'allocate', ids: ['a', 'b', 'c'] },
  ]);
});

test('init containers hand their devices on; those that restart keep them', async () => {
  const node = await newNode();
  node.register('a', 'b', 'c');
  const sidecar = containerOf('sidecar', 1, { restartPolicy: 'Always' });
  await node.start(podOf('p1', [containerOf('c', 2)], [containerOf('init', 2), sidecar]));
  assert.deepEqual(
    [node.idsOf('p1', 'init'), node.idsOf('p1', 'sidecar'), node.idsOf('p1', 'c')],
    [['a', 'b'], ['a'], ['b', 'c']],
  );
});

test('what is assigned is on disk before the pod goes on, and the next process has it', async () => {
  const node = await newNode();
  node.register('a', 'b@1');
  const pod = podOf('p1', [containerOf('c', 2)]);
  await node.start(pod);
  const next = await node.again();
  assert.deepEqual(next.idsOf('p1', 'c'), ['a', 'b']);
  assert.deepEqual(next.manager.devices('p1', 'c')[1], { resourceName: GPU, deviceIds: ['b'], numaNodes: [1] });
  assert.deepEqual(next.counts(), [0, 0, false]);
  const { devices = [], env } = await next.manager.runOptions(pod, containerOf('c', 2), FOREVER);
  assert.deepEqual([devices.map(({ hostPath }) => hostPath), env?.get('DEVICES')], [['/dev/a', '/dev/b'], 'a,b']);
});

test('after a restart a pod that runs keeps its devices without its plugin', async () => {
  const node = await newNode();
  node.register('a', 'b');
  const pod = podOf('p1', [containerOf('c', 1)], [containerOf('init', 1)]);
  await node.start(pod);
  const next = await node.again();
  next.running.add('p1');
  await next.start(pod);
  assert.deepEqual(next.idsOf('p1', 'c'), ['a']);
  next.register('a', 'b');
  await next.start(podOf('p2', [containerOf('c', 1)]));
  assert.deepEqual(next.idsOf('p2', 'c'), ['b']);
});

for (const [name, report, message] of [
  [
    'its plugin is not back',
    undefined,
    'no healthy devices present; cannot allocate unhealthy devices example.com/gpu',
  ],
  [
    'its device is unhealthy',
    ['a!Unhealthy', 'b'],
    'previously allocated devices are no longer healthy; cannot allocate unhealthy devices example.com/gpu',
  ],
] as const) {
  test(`after a reboot a pod is rejected while ${name}`, async () => {
    const node = await newNode();
    node.register('a', 'b');
    const pod = podOf('p1', [containerOf('c', 1)]);
    await node.start(pod);
    const next = await node.again();
    if (report) next.register(...report);
    const rejection = {
      reason: 'UnexpectedAdmissionError',
      message: `Allocate failed due to ${message}, which is unexpected`,
    };
    await assert.rejects(next.start(pod), rejection);
  });
}

test('a pod that was admitted is not checked again when its device becomes unhealthy', async () => {
  const node = await newNode();
  node.register('a', 'b');
  const pod = podOf('p1', [containerOf('c', 1)]);
  await node.start(pod);
  node.register('a!Unhealthy', 'b');
  await node.start(pod);
  assert.deepEqual(node.changedPods, ['p1']);
  assert.deepEqual(node.manager.resourceHealth('p1', 'c'), [
    { name: GPU, resources: [{ resourceID: 'a', health: 'Unhealthy' }] },
  ]);
});

test('a changed request has kubelet’s text', async () => {
  const node = await newNode();
  node.register('a', 'b');
  await node.start(podOf('p1', [containerOf('c', 1)]));
  const next = await node.again();
  const message = 'pod "p1" container "c" changed request for resource "example.com/gpu" from 1 to 2';
  const rejection = { message: `Allocate failed due to ${message}, which is unexpected` };
  await assert.rejects(next.start(podOf('p1', [containerOf('c', 2)])), rejection);
});

test('the node has all devices, and healthy ones are allocatable', async () => {
  const node = await newNode();
  let notified = 0;
  node.manager.subscribe(() => notified++);
  assert.deepEqual(node.counts(), [undefined, undefined, false]);
  const plugin = node.register('a', 'b', 'c!Unhealthy');
  assert.deepEqual([node.counts(), notified], [[3, 2, false], 1]);
  node.manager.reported(plugin, devicesOf('a', 'b', 'c!Sick'));
  assert.deepEqual([node.counts(), notified], [[3, 2, false], 1]);
  node.manager.disconnected(plugin);
  assert.deepEqual([node.counts(), notified], [[3, 0, false], 2]);
  await node.host.clock.advance(5 * 60_000);
  assert.deepEqual(node.counts(), [3, 0, false]);
  await node.host.clock.advance(1);
  assert.deepEqual(node.counts(), [undefined, undefined, true]);
  node.register('a');
  assert.deepEqual(node.counts(), [1, 1, false]);
});

test('a plugin that never reports has no devices', async () => {
  const node = await newNode();
  const plugin = new FakeDevicePlugin();
  node.manager.connected(plugin);
  assert.deepEqual(node.counts(), [undefined, undefined, false]);
  node.manager.disconnected(plugin);
  assert.deepEqual(node.counts(), [0, undefined, false]);
});

test('a failing Allocate rejects the pod with kubelet’s message, and its devices are free', async () => {
  const node = await newNode();
  const plugin = node.register('a');
  plugin.faults.set('allocate', { kind: 'error', error: new PluginError('Internal', 'broken', 'Allocate') });
  const pod = podOf('p1', [containerOf('c', 1)]);
  await assert.rejects(node.start(pod), {
    name: 'PodRejectedError',
    reason: 'UnexpectedAdmissionError',
    message: 'Allocate failed due to rpc error: code = Internal desc = broken, which is unexpected',
  });
  plugin.faults.clear();
  await node.start(podOf('p2', [containerOf('c', 1)]));
  assert.deepEqual(node.idsOf('p2', 'c'), ['a']);
});

test('a response about no container rejects the pod', async () => {
  const node = await newNode();
  node.register('a').answers = () => undefined;
  await assert.rejects(node.start(podOf('p1', [containerOf('c', 1)])), /no containers return in allocation response/);
});

test('a plugin that hangs delays only pods that request its devices', async () => {
  const node = await newNode();
  const plugin = node.register('a', 'b');
  plugin.faults.set('allocate', { kind: 'hang' });
  const other = node.registerWith({ resourceName: 'example.com/nic' }, 'n');
  const end = new AbortController();
  const hung = podOf('p1', [containerOf('c', 1)]);
  await node.manager.allocate(hung, containerOf('c', 1), ANY);
  const preparing = node.step.prepare(hung, end.signal);

  const nic: Container = { name: 'c', image: 'i', resources: { limits: { 'example.com/nic': '1' } } };
  await node.start(podOf('p2', [nic]));
  await node.start(podOf('p3', [{ name: 'c', image: 'i' }]));
  assert.equal(other.calls.length, 1);

  const waiting = node.start(podOf('p4', [containerOf('c', 1)]));
  plugin.faults.clear();
  end.abort(new Error('pod is deleted'));
  await assert.rejects(preparing, { message: 'pod is deleted' });
  await waiting;
  assert.deepEqual(node.idsOf('p1', 'c'), []);
  assert.equal(node.idsOf('p4', 'c').length, 1);
});

test('the plugin prefers devices, and later containers of the pod choose again', async () => {
  const node = await newNode();
  const plugin = node.registerWith({ getPreferredAllocationAvailable: true }, 'a', 'b', 'c');
  plugin.prefers = ({ available }) => available.toReversed();
  await node.start(podOf('p1', [containerOf('one', 1), containerOf('two', 1)]));
  assert.deepEqual([node.idsOf('p1', 'one'), node.idsOf('p1', 'two')], [['c'], ['b']]);
});

test('what others have reserved while the plugin thinks is not taken from them', async () => {
  const node = await newNode();
  const plugin = node.registerWith({ getPreferredAllocationAvailable: true }, 'a', 'b');
  const late = podOf('p2', [containerOf('c', 1)]);
  plugin.prefers = () => {
    void node.manager.allocate(late, containerOf('c', 1), ANY);
    return ['b'];
  };
  await node.start(podOf('p1', [containerOf('c', 1)]));
  plugin.prefers = () => [];
  await node.step.prepare(late, FOREVER);
  assert.deepEqual([node.idsOf('p1', 'c'), node.idsOf('p2', 'c')], [['a'], ['b']]);
});

test('a failing GetPreferredAllocation has kubelet’s text', async () => {
  const node = await newNode();
  const plugin = node.registerWith({ getPreferredAllocationAvailable: true }, 'a', 'b');
  plugin.faults.set('preferredAllocation', { kind: 'error', error: new PluginError('Unavailable', 'gone', 'x') });
  const text = 'device plugin GetPreferredAllocation rpc failed with err: rpc error: code = Unavailable desc = gone';
  await assert.rejects(node.start(podOf('p1', [containerOf('c', 1)])), {
    message: `Allocate failed due to ${text}, which is unexpected`,
  });
});

test('a plugin that is lost before Allocate rejects the pod', async () => {
  const node = await newNode();
  const plugin = node.register('a', 'b');
  const pod = podOf('p1', [containerOf('c', 1)]);
  await node.manager.allocate(pod, containerOf('c', 1), ANY);
  node.manager.disconnected(plugin);
  await assert.rejects(node.step.prepare(pod, FOREVER), { reason: 'UnexpectedAdmissionError' });
});

test('devices of the hint are taken', async () => {
  const node = await newNode();
  node.register('a@0', 'b@0', 'c@1');
  const pod = podOf('p1', [containerOf('c', 1)]);
  const hints = node.manager.containerHints(pod, containerOf('c', 1)).get(GPU) ?? [];
  assert.deepEqual(
    hints.map(({ affinity, preferred }) => [affinity, preferred]),
    [
      [1n, true],
      [2n, true],
      [3n, false],
    ],
  );
  assert.deepEqual(node.manager.podHints(pod).get(GPU), hints);
  await node.manager.allocate(pod, containerOf('c', 1), { affinity: numaMask([1]), preferred: true });
  await node.manager.settle(pod, FOREVER);
  assert.deepEqual(node.idsOf('p1', 'c'), ['c']);
  assert.deepEqual(node.manager.containerHints(pod, containerOf('c', 1)).get(GPU)?.[0]?.affinity, 2n);
  const next = podOf('p2', [containerOf('c', 3)]);
  assert.deepEqual(node.manager.containerHints(next, containerOf('c', 3)).get(GPU), []);
});

test('devices without NUMA nodes have no preference', async () => {
  const node = await newNode();
  node.register('a');
  const hints = node.manager.containerHints(podOf('p1', []), containerOf('c', 1));
  assert.deepEqual([...hints], [[GPU, undefined]]);
});

test('PreStartContainer is called before each start, if the plugin requires it', async () => {
  const node = await newNode();
  const plugin = node.registerWith({ preStartRequired: true }, 'a');
  const pod = podOf('p1', [containerOf('c', 1)]);
  await node.start(pod);
  await node.manager.runOptions(pod, containerOf('c', 1), FOREVER);
  plugin.faults.set('preStartContainer', { kind: 'error', error: new PluginError('Internal', 'broken', 'x') });
  const message = 'device plugin PreStartContainer rpc failed with err: rpc error: code = Internal desc = broken';
  await assert.rejects(node.manager.runOptions(pod, containerOf('c', 1), FOREVER), { message });
  assert.deepEqual(
    plugin.calls.map(({ method }) => method),
    ['allocate', 'preStartContainer', 'preStartContainer'],
  );
});

test('a resource that the node gets after the admission of a pod is assigned when its container starts', async () => {
  const node = await newNode();
  const pod = podOf('p1', [containerOf('c', 1)]);
  await node.start(pod);
  node.register('a');
  const { env } = await node.manager.runOptions(pod, containerOf('c', 1), FOREVER);
  assert.deepEqual([env?.get('DEVICES'), node.idsOf('p1', 'c')], ['a', ['a']]);
});

test('mounts, annotations and CDI devices reach the container', async () => {
  const node = await newNode();
  node.register('a').answers = () =>
    ContainerAllocateResponse.fromPartial({
      mounts: [{ containerPath: '/lib/gpu', hostPath: '/opt/gpu', readOnly: true }],
      annotations: { 'gpu.example.com/id': 'a' },
      cdiDevices: [{ name: 'example.com/gpu=a' }, { name: 'example.com/gpu=a' }],
    });
  const pod = podOf('p1', [containerOf('c', 1)]);
  await node.start(pod);
  const { mounts = [], annotations, cdiDevices } = await node.manager.runOptions(pod, containerOf('c', 1), FOREVER);
  const [mount] = mounts;
  assert.deepEqual([mount?.containerPath, mount?.hostPath, mount?.readonly], ['/lib/gpu', '/opt/gpu', true]);
  assert.deepEqual([annotations?.get('gpu.example.com/id'), cdiDevices], ['a', ['example.com/gpu=a']]);
});

test('resources that DRA supplies are left to it', async () => {
  const node = await newNode();
  const plugin = node.register('a');
  const mapping = { containerName: 'c', resourceName: GPU, requestName: 'r' };
  const status = { extendedResourceClaimStatus: { requestMappings: [mapping], resourceClaimName: 'x' } };
  await node.start({ ...podOf('p1', [containerOf('c', 1)]), status });
  assert.deepEqual(plugin.calls, []);
});

test('pods that ended while the agent was down are released', async () => {
  const node = await newNode();
  node.register('a');
  await node.start(podOf('p1', [containerOf('c', 1)]));
  const next = await node.again();
  next.register('a');
  await next.step.removeStale(new Set(['p2']), FOREVER);
  await next.start(podOf('p2', [containerOf('c', 1)]));
  assert.deepEqual(next.idsOf('p2', 'c'), ['a']);
});

test('a pod with devices may count them, also without their plugin', async () => {
  const node = await newNode();
  const plugin = node.register('a', 'b');
  await node.start(podOf('p1', [containerOf('c', 2)]));
  node.manager.disconnected(plugin);
  assert.deepEqual(node.manager.inUseFor('p1'), new Map([[GPU, 2]]));
  assert.equal(node.manager.inUseFor('p2'), undefined);
});

test('a checkpoint that is truncated is ignored, and replaced with the next write', async () => {
  const host = createMemoryHost();
  await host.fs.makeDirectory(FOLDER, 0o750);
  await host.fs.writeFile(FILE, '{"Data":{"PodDev');
  const node = await newNode(host);
  assert.equal(node.manager.isNewMachine, false);
  node.register('a');
  await node.start(podOf('p1', [containerOf('c', 1)]));
  assert.deepEqual((await node.again()).idsOf('p1', 'c'), ['a']);
});

test('a machine without a checkpoint is new', async () => {
  const node = await newNode();
  assert.equal(node.manager.isNewMachine, true);
  node.register('a');
  await node.start(podOf('p1', [containerOf('c', 1)]));
  assert.equal((await node.again()).manager.isNewMachine, false);
});

test('no device is ever assigned to two pods, whatever happens', async () => {
  let most = 0;
  for (let seed = 1; seed <= 30; seed++) {
    const random = new SeededRandom(seed);
    const draw = (count: number): number => Math.floor(random.fraction() * count);
    const pods = ['p0', 'p1', 'p2', 'p3'];
    let node = await newNode();
    let plugin = node.registerWith({ getPreferredAllocationAvailable: true }, 'a', 'b', 'c', 'd');
    const pending: Promise<unknown>[] = [];
    for (let turn = 0; turn < 40; turn++) {
      const uid = pods[draw(pods.length)] ?? 'p0';
      const action = draw(5);
      if (action <= 1) {
        plugin.prefers = ({ available }) => available.toSorted(() => random.fraction() - 0.5);
        const started = node.start(
          podOf(uid, [containerOf('c', 1 + draw(2)), containerOf('d', 1)], [containerOf('i', 2)]),
        );
        pending.push(started.catch(() => undefined));
        if (draw(2) === 0) await Promise.all(pending);
      } else if (action === 2) {
        await Promise.all(pending);
        await node.manager.release(uid);
      } else if (action === 3) {
        const report = ['a', 'b', 'c', 'd', 'e'].map((id) => (draw(3) === 0 ? `${id}!Unhealthy` : id));
        node.manager.reported(plugin, devicesOf(...report));
      } else if (draw(4) === 0) {
        await Promise.all(pending);
        for (const each of pods) node.running.add(each);
        node = await node.again();
        plugin = node.registerWith({ getPreferredAllocationAvailable: true }, 'a', 'b', 'c', 'd');
      }
      const held = pods.flatMap((each) => [...new Set(['i', 'c', 'd'].flatMap((name) => node.idsOf(each, name)))]);
      assert.equal(new Set(held).size, held.length, `seed ${seed}, turn ${turn}: ${held}`);
      most = Math.max(most, held.length);
    }
    await Promise.all(pending);
  }
  assert.equal(most, 5);
});
