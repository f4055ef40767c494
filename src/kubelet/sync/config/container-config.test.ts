import assert from 'node:assert/strict';
import test from 'node:test';
import { DNSConfig } from '../../../cri/generated/runtime-v1.ts';
import type { ContainerRunOptions } from '../../pod/container-run-options.ts';
import { HOST_FACTS } from '../../resources/host-facts.fixture.ts';
import type { HostFacts } from '../../resources/host-facts.ts';
import { type ContainerSettings, containerConfig } from './container-config.ts';
import { NO_SOURCES } from './env-sources.ts';
import { containerEnvironment } from './environment.ts';
import { examplePod, type PodChanges } from './pod.fixture.ts';
import { protoJson } from './proto-json.fixture.ts';
import { type SandboxSettings, sandboxConfig } from './sandbox-config.ts';

const settings: SandboxSettings & ContainerSettings = {
  rootDir: '/var/lib/kubelet',
  podLogsDir: '/var/log/pods',
  cgroupRoot: '/',
  clusterDomain: 'cluster.local',
  hostIPs: ['192.0.2.1'],
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodMs: 100,
  seccompDefault: false,
  memoryCapacityBytes: 1024 ** 3,
};
const host: HostFacts = { ...HOST_FACTS, cgroupVersion: 'v2' };

function containerOf(changes: PodChanges, restartCount = 0, runOptions: ContainerRunOptions = {}) {
  const pod = examplePod(changes);
  const [container] = pod.spec.containers;
  assert.ok(container);
  return containerConfig({
    pod,
    container,
    restartCount,
    image: { ref: 'sha256:1', user: { uid: undefined, username: '' } },
    podIPs: ['10.0.0.1'],
    mounts: [],
    devices: [],
    runOptions,
    extraGroups: [],
    environment: containerEnvironment({
      pod,
      container,
      podIPs: ['10.0.0.1'],
      hostIPs: settings.hostIPs,
      allocatable: { cpu: 2, memory: '1Gi' },
      sources: NO_SOURCES,
    }),
    settings,
    host,
  });
}

function sandboxOf(changes: PodChanges) {
  return sandboxConfig({
    pod: examplePod(changes),
    attempt: 2,
    dns: DNSConfig.fromPartial({}),
    extraGroups: [],
    settings,
    host,
  });
}

test('containerConfig() puts the restart count into log path and attempt', () => {
  const { metadata, logPath, stdin, tty } = containerOf({ container: { stdin: true, tty: true } }, 3);
  assert.deepEqual(
    { metadata, logPath, stdin, tty },
    {
      metadata: { name: 'web', attempt: 3 },
      logPath: 'web/3.log',
      stdin: true,
      tty: true,
    },
  );
});

test('containerConfig() adds what the managers of the machine assigned', () => {
  const { envs, annotations, CDIDevices, linux } = containerOf(
    {
      container: { env: [{ name: 'OWN', value: '1' }], resources: { limits: { cpu: '2' }, requests: { cpu: '2' } } },
    },
    0,
    {
      cpusetCpus: '2-3',
      cpusetMems: '0',
      hasExclusiveCpus: true,
      env: new Map([
        ['GPU', '0'],
        ['OWN', 'of the device'],
      ]),
      annotations: new Map([
        ['example.com/gpu', '0'],
        ['io.kubernetes.container.restartCount', '7'],
      ]),
      cdiDevices: ['vendor.com/gpu=0'],
    },
  );
  assert.deepEqual(
    envs.map(({ key, value }) => `${key}=${Buffer.from(value)}`),
    ['GPU=0', 'OWN=1'],
  );
  assert.equal(annotations['example.com/gpu'], '0');
  assert.equal(annotations['io.kubernetes.container.restartCount'], '0');
  assert.deepEqual(CDIDevices, [{ name: 'vendor.com/gpu=0' }]);
  const { cpusetCpus, cpusetMems, cpuQuota, cpuShares } = linux?.resources ?? {};
  assert.deepEqual(
    { cpusetCpus, cpusetMems, cpuQuota, cpuShares },
    { cpusetCpus: '2-3', cpusetMems: '0', cpuQuota: -1n, cpuShares: 2048n },
  );
});

test('containerConfig() reports an invalid container in status and event', () => {
  const expected = 'container has runAsNonRoot and image will run as root (pod: "hello_default(u1)", container: web)';
  assert.throws(() => containerOf({ container: { securityContext: { runAsNonRoot: true } } }), {
    name: 'PodError',
    reason: 'CreateContainerConfigError',
    message: expected,
    eventMessage: `Error: ${expected}`,
  });
});

test('sandboxConfig() maps every port once', () => {
  const ports = [
    { containerPort: 80, protocol: 'TCP' },
    { containerPort: 80, protocol: 'TCP' },
    { containerPort: 80, protocol: 'UDP', hostPort: 8080, hostIP: '127.0.0.1' },
    { name: 'a', containerPort: 1, protocol: 'SCTP' },
    { name: 'a', containerPort: 2, protocol: 'TCP' },
  ];
  assert.deepEqual(protoJson(sandboxOf({ container: { ports } }).portMappings), [
    { containerPort: 80 },
    { containerPort: 80, protocol: 'UDP', hostPort: 8080, hostIp: '127.0.0.1' },
    { containerPort: 1, protocol: 'SCTP' },
  ]);
});

test('sandboxConfig() sets no host name on the host network', () => {
  assert.equal(sandboxOf({ spec: { hostNetwork: true, hostname: 'h' } }).hostname, '');
});

test('sandboxConfig() throws for an invalid pod', () => {
  const spec = { hostname: 'h'.repeat(40), subdomain: 's'.repeat(40), setHostnameAsFQDN: true };
  const expected =
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${'h'.repeat(40)}.${'s'.repeat(40)}` +
    '.default.svc.cluster.local is too long (64 characters is the max, 107 characters requested)';
  assert.throws(() => sandboxOf({ spec }), { message: expected });
});
