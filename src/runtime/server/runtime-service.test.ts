import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { RuntimeServiceDefinition } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { createContainerWorld, runContainer, sandboxRecord, signal } from '../container/fake/container-world.ts';
import { noNri } from '../nri/nri.ts';
import { DEFAULT_HANDLER } from '../settings/runtime-settings.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import { createStreamingServer } from '../streaming/streaming-server.ts';
import type { SandboxVerbs } from './create-sandboxes.ts';
import { EventHub } from './event-hub.ts';
import { createRuntimeService } from './runtime-service.ts';

const CGROUP = '/c';
const POD_CGROUP = '/kubepods/podX';
const TRAFFIC = { bytes: 10n, packets: 2n, errors: 1n, dropped: 0n };
const NOW = 1_767_225_600_000_000_000n;

function podRecord(): SandboxRecord {
  const record = sandboxRecord('pod1');
  return {
    ...record,
    config: {
      ...record.config,
      labels: { app: 'web' },
      linux: {
        cgroupParent: POD_CGROUP,
        securityContext: undefined,
        sysctls: {},
        overhead: undefined,
        resources: undefined,
      },
    },
    namespaces: { network: '/ns/net' },
  };
}

/** One pod with one running container that has some usage. */
async function serviceWorld() {
  const world = await createContainerWorld();
  const { host, paths, oci, snapshots, sandboxes } = world;
  sandboxes.set('pod1', podRecord());
  const id = await runContainer(world);
  const used = {
    memory: {
      usageBytes: 900,
      workingSetBytes: 500,
      rssBytes: 300,
      pageFaults: 7,
      majorPageFaults: 1,
      limitBytes: 1000,
    },
    swap: { usageBytes: 5 },
    threads: 3,
    processes: [11, 12],
    devices: [{ major: 8, minor: 0, readBytes: 4096n, writeBytes: 512n, reads: 2n, writes: 1n }],
  };
  host.cgroupStats.set(CGROUP, { ...used, cpuNs: 2_000_000_000n });
  host.cgroupStats.set(POD_CGROUP, { ...used, cpuNs: 4_000_000_000n, processes: [] });
  host.networkNamespaces.set('/ns/net', [{ name: 'eth0', received: TRAFFIC, sent: TRAFFIC }]);
  await host.fs.makeDirectory('/lib/storage');
  const podCidrs: string[] = [];
  const service = createRuntimeService({
    cgroupDriver: 'cgroupfs',
    ...host,
    paths,
    snapshots,
    storage: '/lib/storage',
    sandboxes: { all: sandboxes, find: (each) => sandboxes.get(each) },
    containers: world.containers.records,
    containerVerbs: world.containers.verbs,
    sandboxVerbs: { listPodSandbox: async () => ({ items: [] }) } as Partial<SandboxVerbs> as SandboxVerbs, // only this is called
    version: '1.2.3',
    info: () => ({ config: { root: '/lib' } }),
    machine: { seccomp: true },
    appArmor: { byDefault: () => ({ kind: 'missing', reason: 'no parser' }) },
    podNetwork: {
      status: () => ({ ready: false, reason: 'NetworkPluginNotReady', message: 'no network configuration' }),
      handlerStatuses: () => new Map([['kata', { ready: true as const, networks: ['k'] }]]),
      setPodCidr: (podCidr) => void podCidrs.push(podCidr),
    },
    runtimes: {
      handler: () => oci,
      at: () => oci,
      handlers: [
        {
          name: '',
          recursiveReadOnlyMounts: true,
          userNamespaces: true,
          idmappedMounts: false,
          settings: DEFAULT_HANDLER,
        },
      ],
    },
    events: new EventHub({ clock: host.clock, sandboxStatus: () => undefined, containerStatuses: () => [] }),
    nri: noNri,
    streaming: createStreamingServer({ ...host, log: silentLog }),
  });
  return { service, id, host, sandboxes, podCidrs, world };
}

test('every RPC of the service exists', async () => {
  const { service } = await serviceWorld();
  const missing = Object.keys(RuntimeServiceDefinition.methods).filter((method) => !(method in service));
  assert.deepEqual(missing, ['runPodSandbox', 'stopPodSandbox', 'removePodSandbox', 'podSandboxStatus']); // of the stub
});

test('Version, RuntimeConfig and Status describe this runtime', async () => {
  const { service } = await serviceWorld();
  assert.deepEqual(await service.version({ version: '' }, signal), {
    version: '0.1.0',
    runtimeName: 'nodelet',
    runtimeVersion: '1.2.3',
    runtimeApiVersion: 'v1',
  });
  assert.deepEqual(await service.runtimeConfig({}, signal), { linux: { cgroupDriver: 1 } });
  const { status, runtimeHandlers, features, info } = await service.status({ verbose: true }, signal);
  assert.deepEqual(status?.conditions, [
    { type: 'RuntimeReady', status: true, reason: '', message: '' },
    { type: 'NetworkReady', status: false, reason: 'NetworkPluginNotReady', message: 'no network configuration' },
    { type: 'DefaultSeccompProfileReady', status: true, reason: '', message: '' },
    { type: 'DefaultAppArmorProfileReady', status: false, reason: 'ProfileNotLoaded', message: 'no parser' },
  ]);
  assert.deepEqual(runtimeHandlers, [{ name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: true } }]);
  assert.equal(features?.supplementalGroupsPolicy, true);
  assert.deepEqual(JSON.parse(info['config'] ?? ''), { root: '/lib' });
  assert.deepEqual(JSON.parse(info['defaultProfiles'] ?? ''), {
    seccomp: true,
    appArmor: { kind: 'missing', reason: 'no parser' },
  });
  assert.deepEqual(JSON.parse(info['handlerNetworks'] ?? ''), { kata: { ready: true, networks: ['k'] } });
  assert.deepEqual((await service.status({ verbose: false }, signal)).info, {});
});

test('UpdateRuntimeConfig passes the CIDR on, and rejects an invalid one', async () => {
  const { service, podCidrs } = await serviceWorld();
  const update = (podCidr: string) =>
    service.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr } } }, signal);
  for (const podCidr of ['', '10.1.0.0/24', '10.1.0.0/24,fd00::/64']) await update(podCidr);
  assert.deepEqual(podCidrs, ['10.1.0.0/24', '10.1.0.0/24,fd00::/64']);
  for (const podCidr of ['10.1.0.0', '10.1.0.0/33', 'range/8']) {
    await assert.rejects(update(podCidr), { code: 'InvalidArgument', message: /pod_cidr/ });
  }
});

const value = (amount: bigint) => ({ value: amount });

test('ContainerStats reports the usage of a container', async () => {
  const { service, id, host } = await serviceWorld();
  const statsOf = async () => (await host.clock.runUntil(service.containerStats({ containerId: id }, signal))).stats;
  const first = await statsOf();
  assert.deepEqual(
    [first?.attributes?.id, first?.cpu, first?.memory, first?.swap, first?.writableLayer?.fsId],
    [
      id,
      { timestamp: NOW, usageCoreNanoSeconds: value(2_000_000_000n), usageNanoCores: undefined, psi: undefined },
      {
        timestamp: NOW,
        workingSetBytes: value(500n),
        availableBytes: value(500n),
        usageBytes: value(900n),
        rssBytes: value(300n),
        pageFaults: value(7n),
        majorPageFaults: value(1n),
        psi: undefined,
      },
      { timestamp: NOW, swapUsageBytes: value(5n), swapAvailableBytes: undefined },
      { mountpoint: '/lib/storage' },
    ],
  );
  await host.clock.advance(10_000);
  host.cgroupStats.set(CGROUP, { cpuNs: 7_000_000_000n });
  assert.deepEqual((await statsOf())?.cpu?.usageNanoCores, value(500_000_000n));
});

test('PodSandboxStats reports the pod, its network and its containers', async () => {
  const { service, id } = await serviceWorld();
  const { stats } = await service.podSandboxStats({ podSandboxId: 'pod1' }, signal);
  const { linux } = stats ?? {};
  assert.deepEqual(
    [
      linux?.cpu?.usageCoreNanoSeconds,
      linux?.process?.processCount,
      linux?.containers.map((each) => each.attributes?.id),
    ],
    [value(4_000_000_000n), value(2n), [id]],
  );
  assert.deepEqual(linux?.network, {
    timestamp: NOW,
    defaultInterface: {
      name: 'eth0',
      rxBytes: value(10n),
      rxErrors: value(1n),
      txBytes: value(10n),
      txErrors: value(1n),
    },
    interfaces: [],
  });
});

const filters: Record<string, [filter: Parameters<RuntimeService['listPodSandboxStats']>[0]['filter'], count: number]> =
  {
    'no filter': [undefined, 1],
    'its id': [{ id: 'pod1', labelSelector: {} }, 1],
    'another id': [{ id: 'none', labelSelector: {} }, 0],
    'its label': [{ id: '', labelSelector: { app: 'web' } }, 1],
    'another label': [{ id: '', labelSelector: { app: 'db' } }, 0],
  };

for (const [name, [filter, count]] of Object.entries(filters)) {
  test(`ListPodSandboxStats and its stream apply ${name}`, async () => {
    const { service } = await serviceWorld();
    const listed = (await service.listPodSandboxStats({ filter }, signal)).stats;
    const streamed = await Array.fromAsync(service.streamPodSandboxStats({ filter }, signal));
    assert.deepEqual(
      [listed.length, streamed.flatMap(({ podSandboxStats }) => podSandboxStats).length],
      [count, count],
    );
  });
}

test('a pod that is not ready has no statistics', async () => {
  const { service, sandboxes } = await serviceWorld();
  sandboxes.set('pod1', { ...podRecord(), state: { phase: 'notReady', networkDown: true } });
  await assert.rejects(service.podSandboxStats({ podSandboxId: 'pod1' }, signal), { code: 'Unavailable' });
  assert.deepEqual((await service.listPodSandboxStats({ filter: undefined }, signal)).stats, []);
});

test('every described metric is reported with all its labels', async () => {
  const { service, id } = await serviceWorld();
  const { descriptors } = await service.listMetricDescriptors({}, signal);
  const { podMetrics } = await service.listPodSandboxMetrics({}, signal);
  const reported = podMetrics.flatMap(({ metrics, containerMetrics }) => [
    ...metrics,
    ...containerMetrics.flatMap((each) => each.metrics),
  ]);
  const NOT_LIMITED = ['container_spec_cpu_period', 'container_spec_cpu_quota'];
  assert.deepEqual(
    descriptors.filter(({ name }) => !reported.some((metric) => metric.name === name)).map(({ name }) => name),
    NOT_LIMITED,
  );
  for (const { name, labelKeys } of descriptors) {
    for (const metric of reported.filter((each) => each.name === name)) {
      assert.equal(metric.labelValues.length, labelKeys.length, name);
    }
  }
  const usage = reported.find(({ name }) => name === 'container_memory_working_set_bytes');
  assert.deepEqual(usage?.labelValues, ['main', CGROUP, 'web:1', id, 'default', 'web']);
});

const unknown: Record<string, (service: RuntimeService) => Promise<unknown>> = {
  containerStats: (service) => service.containerStats({ containerId: 'none' }, signal),
  podSandboxStats: (service) => service.podSandboxStats({ podSandboxId: 'none' }, signal),
  exec: (service) =>
    service.exec({ containerId: 'none', cmd: ['x'], tty: false, stdin: false, stdout: true, stderr: true }, signal),
  attach: (service) =>
    service.attach({ containerId: 'none', tty: false, stdin: false, stdout: true, stderr: true }, signal),
  portForward: (service) => service.portForward({ podSandboxId: 'none', port: [80] }, signal),
  updatePodSandboxResources: (service) =>
    service.updatePodSandboxResources({ podSandboxId: 'none', overhead: undefined, resources: undefined }, signal),
};

for (const [name, call] of Object.entries(unknown)) {
  test(`${name} of an unknown id is NotFound`, async () => {
    const { service } = await serviceWorld();
    await assert.rejects(call(service), { name: 'CriError', code: 'NotFound' });
  });
}

test('Exec and Attach require a running container, Attach and PortForward an existing sandbox', async () => {
  const { service, id, sandboxes, world } = await serviceWorld();
  const request = { containerId: id, cmd: ['x'], tty: false, stdin: false, stdout: true, stderr: true };
  const pod = sandboxes.get('pod1');
  assert.ok(pod);
  sandboxes.delete('pod1');
  await assert.rejects(service.attach(request, signal), { code: 'NotFound', message: 'sandbox "pod1" not found' });
  sandboxes.set('pod1', { ...pod, state: { phase: 'notReady', networkDown: true } });
  const stopped = { code: 'FailedPrecondition', message: 'sandbox container "pod1" is not running' };
  await assert.rejects(service.portForward({ podSandboxId: 'pod1', port: [] }, signal), stopped);
  await world.containers.verbs.stopContainer({ containerId: id, timeout: 0n }, signal);
  const exited = { code: 'FailedPrecondition', message: 'container is in CONTAINER_EXITED state' };
  await assert.rejects(service.exec(request, signal), exited);
  await assert.rejects(service.attach(request, signal), exited);
});

test('Exec, Attach and PortForward validate the request', async () => {
  const { service, id } = await serviceWorld();
  const request = { containerId: id, cmd: ['x'], tty: false, stdin: false, stdout: true, stderr: true };
  const invalid = { code: 'InvalidArgument' };
  await assert.rejects(service.exec({ ...request, tty: true }, signal), invalid);
  await assert.rejects(service.exec({ ...request, cmd: [] }, signal), invalid);
  await assert.rejects(service.exec({ ...request, stdout: false, stderr: false }, signal), invalid);
  await assert.rejects(service.attach({ ...request, tty: true }, signal), invalid);
  const otherTty = { ...request, tty: true, stderr: false };
  for (const each of [request, otherTty]) {
    assert.match((await service.attach(each, signal)).url, /^http:\/\/127\.0\.0\.1:\d+\/attach\/[\w-]{22}$/);
  }
  await assert.rejects(service.portForward({ podSandboxId: 'pod1', port: [0] }, signal), invalid);
  const tooMany = Array.from({ length: 129 }, (_, index) => index + 1);
  const refused = { ...invalid, message: 'port: at most 128 ports can be forwarded at once' };
  await assert.rejects(service.portForward({ podSandboxId: 'pod1', port: tooMany }, signal), refused);
  assert.match((await service.exec(request, signal)).url, /^http:\/\/127\.0\.0\.1:\d+\/exec\/[\w-]{22}$/);
  const { url } = await service.portForward({ podSandboxId: 'pod1', port: [80] }, signal);
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/portforward\/[\w-]{22}$/);
});
