/** Pods of Kubernetes' own kubelet that Nodelet takes over as they are, and the other way round. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Event, Pod, ResourceRequirements } from '../../src/api/generated/core-v1.ts';
import { isMirrorPod } from '../../src/api/pod-names.ts';
import { byCodePoint } from '../../src/base/code-point-order.ts';
import { connectCri } from '../../src/cri/client.ts';
import { ListContainersRequest, ListPodSandboxRequest } from '../../src/cri/generated/runtime-v1.ts';
import { linuxClock } from '../../src/host/linux/linux-clock.ts';
import { OBEDIENT, shell } from './agent-fixture.ts';
import { type ControlPlane, startControlPlane } from './cluster-fixture.ts';
import { skipReason as containerdSkipReason, startContainerd, type TestContainerd } from './containerd-fixture.ts';
import { type GoKubelet, goKubeletSkipReason, startGoKubelet } from './go-kubelet.ts';
import { nodeletNodeSkipReason } from './nodelet-node.ts';

const NODE = 'box';
const STATIC_UID = '5ce2a4f1-0b4e-4f4e-9d5b-1f1a3c7e9b21';
const NODELET = [join(import.meta.dirname, '../../bin/nodelet'), 'kubelet'];
const ASK_AGAIN_MS = 50;
const CRI_MS = 10_000;
/** Pods that go during the change, or come with it. */
const PASSING = ['leaving', 'witness'];
const skip = goKubeletSkipReason() || containerdSkipReason() || nodeletNodeSkipReason();

/** Only what has run for longer is known again as ready, to either of the two, before its probe says so. */
const KNOWN_AGAIN_MS = 10_000;
/** What cgroups of version 1 say where there is no limit; kubelet takes it for one of the pod. */
const NO_LIMIT = '9007199254740988Ki';

/** Kubelet writes down which resources it has given, does not find what another gave, and gives them once more. */
const NOT_ACTUATED = 'ResizeCompleted';

type Pods = Readonly<Record<string, Pod>>;

/** What runs on the machine: each container with its attempt and its state. */
type Running = Readonly<Record<string, string>>;

suite('a node that changes its agent', { skip }, () => {
  let plane: ControlPlane;
  let runtime: TestContainerd;
  let agent: GoKubelet | undefined;
  let manifests: string;
  before(async () => {
    [plane, runtime] = await Promise.all([startControlPlane(), startContainerd()]);
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
  const wait = (pod: string, condition: string): Promise<string> =>
    plane.kubectl('wait', `pod/${pod}`, `--for=${condition}`, '--timeout=60s');
  const became = (pod: string, path: string, value: string): Promise<string> =>
    wait(pod, `jsonpath={${path}}=${value}`);

  async function startPods(): Promise<void> {
    writeFileSync(join(manifests, 'static.json'), JSON.stringify(STATIC));
    await plane.apply(...PODS);
    await plane.kubectl('wait', `pod/static-${NODE}`, '--for=create', '--timeout=60s');
    for (const pod of ['account', 'sidecar', 'again', 'leaving', `static-${NODE}`]) await wait(pod, 'condition=Ready');
    await became('again', '.status.containerStatuses[0].restartCount', '1');
    await wait('again', 'condition=Ready');
    await became('ended', '.status.phase', 'Succeeded');
  }

  /** Resolves when the youngest of the probed containers is old enough. */
  async function settled(): Promise<void> {
    const startedAt = '-ojsonpath={.status.containerStatuses[0].state.running.startedAt}';
    const started = Date.parse(await plane.kubectl('get', 'pod', 'sidecar', startedAt));
    await until(async () => Date.now() > started + KNOWN_AGAIN_MS + 1000);
  }

  /** Without the version, which tells of every write whatever it changed. */
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

  /** Of the pods that stay: a change of the agent is nothing that happens to them. */
  async function eventsAtServer(): Promise<readonly string[]> {
    const { items }: { items: Event[] } = JSON.parse(await plane.kubectl('get', 'events', '-ojson'));
    return items
      .filter(({ involvedObject: { kind, name = '' } }) => kind === 'Pod' && !PASSING.includes(name))
      .filter(({ reason }) => reason !== NOT_ACTUATED)
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

  /** When a pod that is new is ready, those that were there have been looked at. */
  async function lookedAtAll(): Promise<void> {
    await plane.apply(podOf('witness', { containers: [shell('main', OBEDIENT)], automountServiceAccountToken: false }));
    await wait('witness', 'condition=Ready');
    await plane.kubectl('delete', 'pod', 'witness', '--timeout=60s');
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

  /** A container that ends on the new agent's watch is started again, and counted on. */
  async function restarts(): Promise<void> {
    const [id = ''] = Object.entries(await running()).find(([, text]) => text.startsWith('again main 1 ')) ?? [];
    runtime.ctr('tasks', 'kill', '--signal', 'SIGKILL', id);
    await became('again', '.status.containerStatuses[0].restartCount', '2');
    await wait('again', 'condition=Ready');
  }

  async function deletePods(): Promise<void> {
    rmSync(join(manifests, 'static.json'));
    await plane.kubectl('delete', 'pods', 'account', 'sidecar', 'again', 'ended', '--timeout=60s');
    await plane.kubectl('wait', `pod/static-${NODE}`, '--for=delete', '--timeout=60s');
    const folder = agent?.folder ?? '';
    await until(async () => readdirSync(join(folder, 'root/pods')).length === 0);
    await until(async () => podCgroups(runtime.cgroupParent).length === 0);
    assert.doesNotMatch(readFileSync('/proc/self/mountinfo', 'utf8'), new RegExp(`${folder}/root/pods/`));
  }

  test('the pods of kubelet go on under Nodelet, and their status stays', async () => {
    await start();
    await startPods();
    await changeTo(NODELET);
  });

  test('Nodelet goes on with pods that kubelet has started, and has begun to end', async () => {
    await restarts();
    await plane.kubectl('wait', 'pod/leaving', '--for=delete', '--timeout=60s');
    const uid = await plane.kubectl('get', 'pod', 'account', '-ojsonpath={.metadata.uid}');
    const volume = join(agent?.folder ?? '', 'root/pods', uid, 'volumes/kubernetes.io~configmap/settings');
    const patch = JSON.stringify({ data: { color: 'green' } });
    await plane.kubectl('patch', 'configmap', 'settings', '-p', patch);
    await until(async () => readFileSync(join(volume, 'color'), 'utf8') === 'green');
  });

  test('Nodelet ends pods that kubelet has started, and leaves nothing of them', async () => {
    await deletePods();
    await until(async () => (await sandboxes()) === 0);
    assert.deepEqual(await running(), {});
    assert.deepEqual(readdirSync(join(agent?.folder ?? '', 'logs')), []);
  });

  test('the pods of Nodelet go on under kubelet, and their status stays', async () => {
    await startPods();
    await changeTo(undefined, withoutWhatKubeletForgets);
  });

  test('kubelet goes on with pods that Nodelet has started, and has begun to end', async () => {
    await restarts();
    await plane.kubectl('wait', 'pod/leaving', '--for=delete', '--timeout=60s');
  });

  test('kubelet ends pods that Nodelet has started', async () => {
    await deletePods(); // its garbage collector, minutes apart, has the rest
    await until(async () => Object.values(await running()).every((container) => container.endsWith(' 2')));
  });
});

function podOf(name: string, spec: object): object {
  const metadata = { name, namespace: 'default' };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: NODE, dnsPolicy: 'Default', ...spec } };
}

const DATA = { volumeMounts: [{ name: 'data', mountPath: '/data' }] };
const RESOURCES = { requests: { cpu: '50m', memory: '16Mi' }, limits: { memory: '64Mi' } };
const DATA_VOLUME = { name: 'data', emptyDir: {} };

const PODS: readonly object[] = [
  podOf('account', {
    containers: [{ ...shell('main', OBEDIENT), volumeMounts: [{ name: 'settings', mountPath: '/settings' }] }],
    volumes: [{ name: 'settings', configMap: { name: 'settings' } }],
  }),
  podOf('sidecar', {
    initContainers: [
      { ...shell('first', 'echo first > /data/first'), ...DATA, resources: RESOURCES },
      {
        ...shell('side', OBEDIENT),
        resources: RESOURCES,
        restartPolicy: 'Always',
        startupProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
      },
    ],
    containers: [
      {
        ...shell('main', OBEDIENT),
        ...DATA,
        resources: RESOURCES,
        readinessProbe: { exec: { command: ['test', '-f', '/data/first'] }, periodSeconds: 1 },
        livenessProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
      },
    ],
    volumes: [DATA_VOLUME, { name: 'memory', emptyDir: { medium: 'Memory' } }],
  }),
  podOf('again', {
    containers: [{ ...shell('main', `test -f /data/been || { touch /data/been; exit 1; }; ${OBEDIENT}`), ...DATA }],
    volumes: [DATA_VOLUME],
  }),
  podOf('leaving', {
    containers: [shell('main', "trap '' TERM; sleep 1000 & wait; sleep 1000")],
    terminationGracePeriodSeconds: 3,
  }),
  podOf('ended', { containers: [shell('main', 'echo bye > /dev/termination-log')], restartPolicy: 'Never' }),
];

const STATIC = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'static', namespace: 'default', uid: STATIC_UID },
  spec: { dnsPolicy: 'Default', containers: [shell('main', OBEDIENT)] },
};

/**
 * What kubelet loses whenever it starts, also after itself: it has the address of a pod that has ended from nowhere any
 * more, and does not look at the mirror of a static pod for what is older than itself.
 */
function withoutWhatKubeletForgets(pods: Pods): unknown {
  return Object.values(pods).map(({ status, ...pod }) => {
    const { startTime, podIP, podIPs, conditions, ...rest } = status ?? {};
    const timeless = conditions?.map(({ lastTransitionTime, ...condition }) => condition);
    if (isMirrorPod(pod)) return { ...pod, status: { ...rest, podIP, podIPs, conditions: timeless } };
    if (rest.phase === 'Succeeded') return { ...pod, status: { ...rest, startTime, conditions } };
    return { ...pod, status };
  });
}

function withoutNoLimit(resources: ResourceRequirements = {}): ResourceRequirements {
  return resources.limits?.['memory'] === NO_LIMIT ? {} : resources;
}

/** Those that are left of pods. */
function podCgroups(parent: string): readonly string[] {
  const root = '/sys/fs/cgroup';
  const hierarchies = existsSync(join(root, 'cgroup.controllers')) ? [''] : readdirSync(root);
  return hierarchies.flatMap((hierarchy) => {
    const place = join(root, hierarchy, parent, 'kubepods');
    if (!existsSync(place)) return [];
    return readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((name) => /(^|\/)pod[^/]+$/.test(name));
  });
}

/** Whatever happens happens at its own pace; the runner ends a test that takes too long. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo().catch(() => false))) await delay(ASK_AGAIN_MS);
}
