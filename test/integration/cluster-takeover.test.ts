/** Nodelet adopts running pods of kubelet, and kubelet those of Nodelet. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Event, Pod, ResourceRequirements } from '../../src/api/generated/core-v1.ts';
import { isMirrorPod } from '../../src/api/pod-names.ts';
import { byCodePoint } from '../../src/base/code-point-order.ts';
import { connectCri } from '../../src/cri/client.ts';
import {
  ContainerStatusRequest,
  ListContainersRequest,
  ListPodSandboxRequest,
} from '../../src/cri/generated/runtime-v1.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { EXITS_ON_SIGTERM, shell } from './agent-fixture.ts';
import type { ControlPlane } from './cluster-fixture.ts';
import { skipReason as containerdSkipReason, startContainerd, type TestContainerd } from './containerd-fixture.ts';
import { type GoKubelet, goKubeletSkipReason, startGoKubelet } from './go-kubelet.ts';
import { nodeletNodeSkipReason } from './nodelet-node.ts';
import { startPlaneAndRuntime } from './test-cluster.ts';
import { until } from './until.ts';

const NODE = 'box';
const STATIC_UID = '5ce2a4f1-0b4e-4f4e-9d5b-1f1a3c7e9b21';
const NODELET = [join(import.meta.dirname, '../../bin/nodelet'), 'kubelet'];
const CRI_MS = 10_000;
/** Pods of the API server that exist during the change. */
const STAYING = ['account', 'sidecar', 'again', 'ended', 'resized', 'strict', 'waiting'];
/** Pods that are deleted during the change, or created with it. */
const PASSING = ['leaving', 'probe-pod'];
const skip = goKubeletSkipReason() || containerdSkipReason() || nodeletNodeSkipReason();

/** Either agent restores readiness before the first probe only for containers that have run for longer than this. */
const KNOWN_AGAIN_MS = 10_000;
/** The cgroup v1 value without a limit; kubelet takes it for a limit of the pod. */
const NO_LIMIT = '9007199254740988Ki';

/** The allocated and actual resources of pods, checkpointed by one agent for the next. */
const RECORDS = ['allocated_pods_state', 'actuated_pods_state'];
const MIB = 2n ** 20n;

type Pods = Readonly<Record<string, Pod>>;

/** The containers of the runtime, each with its attempt and state. */
type Running = Readonly<Record<string, string>>;

suite('a node that changes its agent', { skip }, () => {
  let plane: ControlPlane;
  let runtime: TestContainerd;
  let agent: GoKubelet | undefined;
  let manifests: string;
  before(async () => {
    [plane, runtime] = await startPlaneAndRuntime(startContainerd);
    manifests = join(plane.folder, 'manifests');
    mkdirSync(manifests);
    await plane.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings', namespace: 'default' },
      data: { color: 'blue' },
    });
  });
  after(async () => {
    await agent?.stop();
    await runtime?.stop();
    await plane?.stop();
  });

  const start = async (command?: readonly string[]): Promise<void> => {
    const { endpoint, cgroupParent } = runtime;
    const parts = { plane, nodeName: NODE, endpoint, cgroupParent, config: { staticPodPath: manifests } };
    agent = await startGoKubelet({ ...parts, ...(command && { command }) });
  };
  const wait = (pod: string, condition: string): Promise<void> => plane.wait(pod, condition);
  const became = (pod: string, path: string, value: string): Promise<void> => wait(pod, `jsonpath={${path}}=${value}`);

  async function startPods(): Promise<void> {
    writeFileSync(join(manifests, 'static.json'), JSON.stringify(STATIC));
    await plane.apply(...PODS);
    await wait(`static-${NODE}`, 'create');
    for (const pod of ['account', 'sidecar', 'again', 'leaving', `static-${NODE}`]) await wait(pod, 'condition=Ready');
    await became('again', '.status.containerStatuses[0].restartCount', '1');
    await wait('again', 'condition=Ready');
    await became('ended', '.status.phase', 'Succeeded');
    await resizePods();
  }

  /** One pod is resized in place, one restarts for it, and one requests more than the node has. */
  async function resizePods(): Promise<void> {
    for (const pod of ['resized', 'strict', 'waiting']) await wait(pod, 'condition=Ready');
    const [before] = await containersOf('resized');
    await resize('resized', { requests: { cpu: '70m' }, limits: { memory: '80Mi' } });
    await resize('strict', { requests: { cpu: '70m' } });
    await became('strict', '.status.containerStatuses[0].restartCount', '1');
    for (const pod of ['resized', 'strict']) {
      await became(pod, '.status.containerStatuses[0].resources.requests.cpu', '70m');
      await until(async () => (await eventsAtServer()).includes(`${pod} Normal ResizeCompleted 1`));
      await wait(pod, 'condition=Ready');
    }
    assert.deepEqual(await containersOf('resized'), [before]);
    assert.equal(await memoryLimitOf(before ?? ''), 80n * MIB);
    const all = await plane.kubectl('get', 'node', NODE, '-ojsonpath={.status.allocatable.cpu}');
    await resize('waiting', { requests: { cpu: all } });
    await became('waiting', '.status.conditions[?(@.type=="PodResizePending")].reason', 'Deferred');
    await until(async () => (await eventsAtServer()).includes('waiting Warning ResizeDeferred 1'));
  }

  async function resize(pod: string, resources: ResourceRequirements): Promise<void> {
    const patch = JSON.stringify({ spec: { containers: [{ name: 'main', resources }] } });
    await plane.kubectl('patch', 'pod', pod, '--subresource=resize', '-p', patch);
  }

  async function containersOf(pod: string): Promise<readonly string[]> {
    return Object.entries(await running()).flatMap(([id, text]) => (text.startsWith(`${pod} `) ? [id] : []));
  }

  async function memoryLimitOf(containerId: string): Promise<bigint | undefined> {
    using cri = connection();
    const request = ContainerStatusRequest.create({ containerId });
    const { status } = await cri.runtime.containerStatus(request, AbortSignal.timeout(CRI_MS));
    return status?.resources?.linux?.memoryLimitInBytes;
  }

  /** Resolves when the youngest of the probed containers is old enough. */
  async function settled(): Promise<void> {
    const startedAt = '-ojsonpath={.status.containerStatuses[0].state.running.startedAt}';
    const started = Date.parse(await plane.kubectl('get', 'pod', 'sidecar', startedAt));
    await until(async () => Date.now() > started + KNOWN_AGAIN_MS + 1000);
  }

  /** Without the resource version, which changes with every write. */
  async function podsAtServer(): Promise<Pods> {
    const { items }: { items: Pod[] } = JSON.parse(await plane.kubectl('get', 'pods', '-ojson'));
    return Object.fromEntries(
      items
        .filter(({ metadata }) => !PASSING.includes(metadata.name))
        .map(({ metadata: { resourceVersion, ...metadata }, status, ...pod }) => [
          metadata.name,
          { ...pod, metadata, status: { ...status, resources: withoutNoLimit(status?.resources) } },
        ]),
    );
  }

  /** The statuses of the pods that stay: a change of the agent must not change them. */
  async function eventsAtServer(): Promise<readonly string[]> {
    const { items }: { items: Event[] } = JSON.parse(await plane.kubectl('get', 'events', '-ojson'));
    return items
      .filter(({ involvedObject: { kind, name = '' } }) => kind === 'Pod' && !PASSING.includes(name))
      .map(({ involvedObject, type, reason, count }) => `${involvedObject.name} ${type} ${reason} ${count}`)
      .sort(byCodePoint);
  }

  async function running(): Promise<Running> {
    using cri = connection();
    const { containers } = await cri.runtime.listContainers(
      ListContainersRequest.create(),
      AbortSignal.timeout(CRI_MS),
    );
    const others = containers.filter(({ labels }) => !PASSING.includes(labels['io.kubernetes.pod.name'] ?? ''));
    return Object.fromEntries(
      others.map(({ id, labels, metadata, state }) => [
        id,
        `${labels['io.kubernetes.pod.name']} ${metadata?.name} ${metadata?.attempt} ${state}`,
      ]),
    );
  }

  async function sandboxes(): Promise<number> {
    using cri = connection();
    const all = ListPodSandboxRequest.create();
    return (await cri.runtime.listPodSandbox(all, AbortSignal.timeout(CRI_MS))).items.length;
  }

  function connection() {
    const cri = connectCri(runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: CRI_MS });
    return { ...cri, [Symbol.dispose]: () => cri.close() };
  }

  /** When a new pod is ready, the existing pods have been synced. */
  async function lookedAtAll(): Promise<void> {
    await plane.apply(
      podOf('probe-pod', { containers: [shell('main', EXITS_ON_SIGTERM)], automountServiceAccountToken: false }),
    );
    await wait('probe-pod', 'condition=Ready');
    await plane.remove('probe-pod');
  }

  async function changeTo(
    command: readonly string[] | undefined,
    shown: (pods: Pods) => unknown = (pods) => pods,
  ): Promise<void> {
    await settled();
    const [atServer, onMachine, events] = [await podsAtServer(), await running(), await eventsAtServer()];
    await plane.kubectl('delete', 'pod', 'leaving', '--wait=false');
    await agent?.kill();
    await start(command);
    await lookedAtAll();
    assert.deepEqual(await running(), onMachine);
    assert.deepEqual(await eventsAtServer(), events);
    assert.deepEqual(shown(await podsAtServer()), shown(atServer));
  }

  /** A container that exits under the new agent restarts, with an increased restart count. */
  async function restarts(): Promise<void> {
    const [id = ''] = Object.entries(await running()).find(([, text]) => text.startsWith('again main 1 ')) ?? [];
    runtime.ctr('tasks', 'kill', '--signal', 'SIGKILL', id);
    await became('again', '.status.containerStatuses[0].restartCount', '2');
    await wait('again', 'condition=Ready');
  }

  async function deletePods(): Promise<void> {
    rmSync(join(manifests, 'static.json'));
    await plane.remove(...STAYING);
    await wait(`static-${NODE}`, 'delete');
    const folder = agent?.folder ?? '';
    await until(async () => readdirSync(join(folder, 'root/pods')).length === 0);
    await until(async () => podCgroups(runtime.cgroupParent).length === 0);
    assert.doesNotMatch(readFileSync('/proc/self/mountinfo', 'utf8'), new RegExp(`${folder}/root/pods/`));
  }

  test('the pods of kubelet keep running under Nodelet, and their statuses stay', async () => {
    await start();
    await startPods();
    await changeTo(NODELET);
  });

  test('Nodelet continues with pods that kubelet has started or begun to terminate', async () => {
    await restarts();
    await wait('leaving', 'delete');
    const uid = await plane.kubectl('get', 'pod', 'account', '-ojsonpath={.metadata.uid}');
    const volume = join(agent?.folder ?? '', 'root/pods', uid, 'volumes/kubernetes.io~configmap/settings');
    const patch = JSON.stringify({ data: { color: 'green' } });
    await plane.kubectl('patch', 'configmap', 'settings', '-p', patch);
    await until(async () => readFileSync(join(volume, 'color'), 'utf8') === 'green');
  });

  test('Nodelet terminates pods that kubelet has started, and leaves no resources', async () => {
    await deletePods();
    await until(async () => (await sandboxes()) === 0);
    assert.deepEqual(await running(), {});
    assert.deepEqual(readdirSync(join(agent?.folder ?? '', 'logs')), []);
    const record = (name: string): { data: string } =>
      JSON.parse(readFileSync(join(agent?.folder ?? '', 'root', name), 'utf8'));
    await until(async () => RECORDS.every((name) => record(name).data === '{}'));
  });

  test('the pods of Nodelet keep running under kubelet, and their statuses stay', async () => {
    await startPods();
    await changeTo(undefined, withoutWhatKubeletForgets);
  });

  test('kubelet continues with pods that Nodelet has started or begun to terminate', async () => {
    await restarts();
    await wait('leaving', 'delete');
  });

  test('kubelet terminates pods that Nodelet has started', async () => {
    await deletePods(); // its garbage collector removes the rest minutes later
    await until(async () => Object.values(await running()).every((container) => container.endsWith(' 2')));
  });
});

function podOf(name: string, spec: object): object {
  const metadata = { name, namespace: 'default' };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: NODE, dnsPolicy: 'Default', ...spec } };
}

const DATA = { volumeMounts: [{ name: 'data', mountPath: '/data' }] };
const RESOURCES = { requests: { cpu: '50m', memory: '16Mi' }, limits: { memory: '64Mi' } };
const RESTARTS_FOR_CPU = { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] };
const DATA_VOLUME = { name: 'data', emptyDir: {} };

const PODS: readonly object[] = [
  podOf('account', {
    containers: [{ ...shell('main', EXITS_ON_SIGTERM), volumeMounts: [{ name: 'settings', mountPath: '/settings' }] }],
    volumes: [{ name: 'settings', configMap: { name: 'settings' } }],
  }),
  podOf('sidecar', {
    initContainers: [
      { ...shell('first', 'echo first > /data/first'), ...DATA, resources: RESOURCES },
      {
        ...shell('side', EXITS_ON_SIGTERM),
        resources: RESOURCES,
        restartPolicy: 'Always',
        startupProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
      },
    ],
    containers: [
      {
        ...shell('main', EXITS_ON_SIGTERM),
        ...DATA,
        resources: RESOURCES,
        readinessProbe: { exec: { command: ['test', '-f', '/data/first'] }, periodSeconds: 1 },
        livenessProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
      },
    ],
    volumes: [DATA_VOLUME, { name: 'memory', emptyDir: { medium: 'Memory' } }],
  }),
  podOf('again', {
    containers: [
      { ...shell('main', `test -f /data/been || { touch /data/been; exit 1; }; ${EXITS_ON_SIGTERM}`), ...DATA },
    ],
    volumes: [DATA_VOLUME],
  }),
  podOf('leaving', {
    containers: [shell('main', "trap '' TERM; sleep 1000 & wait; sleep 1000")],
    terminationGracePeriodSeconds: 3,
  }),
  podOf('resized', { containers: [{ ...shell('main', EXITS_ON_SIGTERM), resources: RESOURCES }] }),
  podOf('strict', { containers: [{ ...shell('main', EXITS_ON_SIGTERM), resources: RESOURCES, ...RESTARTS_FOR_CPU }] }),
  podOf('waiting', { containers: [{ ...shell('main', EXITS_ON_SIGTERM), resources: RESOURCES }] }),
  podOf('ended', { containers: [shell('main', 'echo bye > /dev/termination-log')], restartPolicy: 'Never' }),
];

const STATIC = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'static', namespace: 'default', uid: STATIC_UID },
  spec: { dnsPolicy: 'Default', containers: [shell('main', EXITS_ON_SIGTERM)] },
};

/**
 * State that kubelet loses at every start: it no longer has the address of a terminated pod, does
 * not read older state of a static pod from its mirror pod, and does not know since when a resize
 * is deferred.
 */
function withoutWhatKubeletForgets(pods: Pods): unknown {
  return Object.values(pods).map(({ status, ...pod }) => {
    const { startTime, podIP, podIPs, conditions, ...rest } = status ?? {};
    const timeless = conditions?.map(({ lastTransitionTime, ...condition }) => condition);
    if (isMirrorPod(pod)) return { ...pod, status: { ...rest, podIP, podIPs, conditions: timeless } };
    if (rest.phase === 'Succeeded') return { ...pod, status: { ...rest, startTime, conditions } };
    const resizing = conditions?.map((condition) =>
      condition.type === 'PodResizePending'
        ? { ...condition, lastProbeTime: null, lastTransitionTime: null }
        : condition,
    );
    resizing?.sort((one, other) => byCodePoint(one.type, other.type)); // kubelet puts that one first
    return { ...pod, status: { ...status, conditions: resizing } };
  });
}

function withoutNoLimit(resources: ResourceRequirements = {}): ResourceRequirements {
  return resources.limits?.['memory'] === NO_LIMIT ? {} : resources;
}

/** The cgroups of pods that are left. */
function podCgroups(parent: string): readonly string[] {
  const root = '/sys/fs/cgroup';
  const hierarchies = existsSync(join(root, 'cgroup.controllers')) ? [''] : readdirSync(root);
  return hierarchies.flatMap((hierarchy) => {
    const place = join(root, hierarchy, parent, 'kubepods');
    if (!existsSync(place)) return [];
    return readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((name) => /(^|\/)pod[^/]+$/.test(name));
  });
}
