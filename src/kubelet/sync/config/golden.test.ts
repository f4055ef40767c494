import assert from 'node:assert/strict';
import test from 'node:test';
import type { Container, Pod } from '../../../api/generated/core-v1.ts';
import { HOST_FACTS } from '../../resources/host-facts.fixture.ts';
import type { HostFacts } from '../../resources/host-facts.ts';
import { containerMounts } from '../../volumes/container-mounts.ts';
import { type ContainerSettings, containerConfig } from './container-config.ts';
import { type DnsSettings, podDns } from './dns.ts';
import { NO_SOURCES } from './env-sources.ts';
import { containerEnvironment } from './environment.ts';
import { protoJson } from './proto-json.fixture.ts';
import { type SandboxSettings, sandboxConfig } from './sandbox-config.ts';

interface Recording {
  readonly pod: Pod;
  readonly status: { readonly podIPs: readonly { readonly ip: string }[] };
  readonly cri_start: readonly { readonly method: string; readonly request: RecordedRequest }[];
}

interface RecordedRequest {
  readonly config: RecordedConfig;
  readonly sandboxConfig?: unknown;
}

interface RecordedConfig {
  readonly annotations: Readonly<Record<string, string>>;
  readonly metadata: { readonly name: string };
  readonly image: { readonly image: string };
  readonly envs: readonly { readonly key: string; readonly value: string }[];
  readonly mounts: readonly { readonly containerPath: string; readonly hostPath: string }[];
}

// The node of the recordings: golden/node.yaml on a machine with cgroup v1 and 8 GiB.
const settings: SandboxSettings & ContainerSettings & DnsSettings = {
  rootDir: '/var/lib/kubelet',
  podLogsDir: '/var/log/pods',
  cgroupRoot: '/',
  clusterDns: ['10.0.0.10'],
  clusterDomain: 'cluster.local',
  resolvConf: '/etc/resolv.conf',
  hostIPs: ['192.0.2.1'],
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodMs: 100,
  seccompDefault: false,
  memoryCapacityBytes: 8 * 1024 ** 3,
};

const host: HostFacts = {
  ...HOST_FACTS,
  hugePageSizes: ['2MB', '1GB'],
  swapControllerAvailable: true,
  cpuCount: 4,
};

for (const name of [
  '01-minimal',
  '02-env-expansion',
  '03-init-sidecar',
  '04-exit-codes',
  '05-volumes',
  '06-security',
  '07-missing-config',
  '08-image-errors',
]) {
  const recording = await readRecording(name);
  const [sandbox] = requests(recording, 'RunPodSandbox');
  assert.ok(sandbox);
  // kubelet adds annotations with the source and the first-seen time.
  const pod = { ...recording.pod, metadata: { ...recording.pod.metadata, annotations: sandbox.config.annotations } };
  const ourSandbox = sandboxConfig({
    pod,
    attempt: 0,
    dns: podDns(pod, settings, '').config,
    extraGroups: [],
    settings,
    host,
  });

  test(`sandboxConfig() matches kubelet for ${name}`, () => {
    assert.deepEqual(protoJson(ourSandbox), sandbox.config);
  });

  for (const create of requests(recording, 'CreateContainer')) {
    const container = containerOf(pod, create.config.metadata.name);
    test(`containerConfig() matches kubelet for ${name}, ${container.name}`, () => {
      const ours = protoJson(ourConfig(pod, container, recording, create.config));
      assert.deepEqual(sortedEnvs(ours), sortedEnvs(create.config));
      assert.deepEqual(protoJson(ourSandbox), create.sandboxConfig);
    });
  }
}

function ourConfig(pod: Pod, container: Container, recording: Recording, recorded: RecordedConfig) {
  const hostPathAt = (path: string) => recorded.mounts.find(({ containerPath }) => containerPath === path)?.hostPath;
  const files = { hostsFile: hostPathAt('/etc/hosts'), terminationLog: hostPathAt('/dev/termination-log') };
  const volumes = new Map(
    container.volumeMounts?.map(({ name, mountPath }) => {
      const readOnly = name === 'down' || name === 'proj'; // whatever the container says, of these types
      return [name, { path: hostPathAt(mountPath) ?? '', readOnly }];
    }),
  );
  const podIPs = recording.status.podIPs.map(({ ip }) => ip);
  const services = recorded.envs.filter(({ key }) => key.startsWith('KUBERNETES_'));
  return containerConfig({
    pod,
    container,
    restartCount: 0,
    image: { ref: recorded.image.image, user: { uid: undefined, username: '' } },
    podIPs,
    mounts: containerMounts({ container, volumes, subPaths: new Map(), images: new Map(), files }),
    devices: [],
    extraGroups: [],
    environment: containerEnvironment({
      pod,
      container,
      podIPs,
      hostIPs: settings.hostIPs,
      allocatable: { cpu: 4, memory: '8Gi' },
      sources: { ...NO_SOURCES, services: new Map(services.map(({ key, value }) => [key, value])) },
    }),
    settings,
    host,
  });
}

async function readRecording(name: string): Promise<Recording> {
  const path = `../../../../test/data/golden/${name}.json`;
  const module: { readonly default: Recording } = await import(path, { with: { type: 'json' } });
  return module.default;
}

function requests(recording: Recording, method: string): RecordedRequest[] {
  return recording.cri_start.filter((call) => call.method === method).map(({ request }) => request);
}

function containerOf({ spec }: Pod, name: string): Container {
  const found = [...(spec.initContainers ?? []), ...spec.containers].find((container) => container.name === name);
  assert.ok(found);
  return found;
}

/** Sorts variables: their order in kubelet is random. */
function sortedEnvs(config: unknown): unknown {
  const { envs = [], ...rest } = config as Partial<RecordedConfig>;
  return { ...rest, envs: envs.toSorted((a, b) => (a.key < b.key ? -1 : 1)) };
}
