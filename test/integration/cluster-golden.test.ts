/** The recorded pods of kubelet v1.36.4 at a real API server, with `nodelet kubelet` as the node. */
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, suite, test } from 'node:test';
import type { Event, Pod, PodStatus } from '../../src/api/generated/core-v1.ts';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { byCodePoint } from '../../src/base/code-point-order.ts';
import { differences } from '../agent/node-differences.ts';
import type { ControlPlane } from './cluster-fixture.ts';
import { skipReason as containerdSkipReason, startContainerd, type TestContainerd } from './containerd-fixture.ts';
import { end } from './daemon-fixture.ts';
import { type GoKubelet, goKubeletSkipReason, startGoKubelet } from './go-kubelet.ts';
import { nodeKubeconfig } from './node-files.ts';
import { NODELET_KUBELET, nodeletNodeSkipReason } from './nodelet-node.ts';
import { startTestCluster, type TestCluster } from './test-cluster.ts';
import { becomes, until } from './until.ts';

const NODE = 'n1';
const FOLDER = join(import.meta.dirname, '../data/golden');
const skip = goKubeletSkipReason() || containerdSkipReason() || nodeletNodeSkipReason();

interface Recording {
  readonly pod: Pod;
  readonly status: PodStatus;
  readonly events: readonly Pick<Event, 'type' | 'reason'>[];
}

/** As in `node.yaml` beside the recordings, as far as pods can see it. */
const CONFIG = {
  maxPods: 250,
  clusterDNS: ['10.0.0.10'],
  clusterDomain: 'cluster.local',
  serializeImagePulls: false,
  evictionHard: {},
};

/** Fields that differ for each pod, machine and time. */
const DRAWN: readonly RegExp[] = [
  /(^|\.)(containerID|imageID|startedAt|finishedAt|startTime|lastTransitionTime)$/,
  /^(podIP|podIPs\.\d+\.ip|hostIP|hostIPs\.\d+\.ip)$/,
];

/** Explained differences, by recording. */
const EXPLAINED: Readonly<Record<string, readonly string[]>> = {
  // kubelet reads it from the cgroup: 9007199254740988Ki is the value of version 1 without a limit.
  '04-exit-codes': ['resources.limits.memory'],
};

suite('recorded pods at an API server', { skip }, () => {
  let scene: TestCluster<TestContainerd, GoKubelet>;
  let watch: ChildProcess | undefined;
  /** All versions of each pod at the API server, by name. */
  const seen = new Map<string, PodStatus[]>();
  const recordings = new Map(
    readdirSync(FOLDER)
      .filter((file) => file.endsWith('.json'))
      .map((file): [string, Recording] => [
        basename(file, '.json'),
        JSON.parse(readFileSync(join(FOLDER, file), 'utf8')),
      ]),
  );
  before(async () => {
    scene = await startTestCluster(startContainerd, async (plane, runtime) => {
      await runtime.tag(BUSYBOX_IMAGE, 'docker.io/library/busybox:latest');
      watch = await watchPods(plane, ({ metadata: { name }, status = {} }) =>
        seen.set(name, [...(seen.get(name) ?? []), status]),
      );
      await plane.apply(...[...recordings.values()].map(({ pod }) => manifest(pod)));
      await heedsPods(plane);
      const { endpoint, cgroupParent } = runtime;
      return startGoKubelet({
        plane,
        nodeName: NODE,
        endpoint,
        cgroupParent,
        command: NODELET_KUBELET,
        config: CONFIG,
      });
    });
  });
  after(async () => {
    if (watch) await end(watch, 'SIGTERM');
    await scene?.stop();
  });

  const eventsOf = async (pod: string): Promise<readonly string[]> => {
    const selector = `involvedObject.kind=Pod,involvedObject.name=${pod}`;
    return eventTexts(
      JSON.parse(await scene.plane.kubectl('get', 'events', '--field-selector', selector, '-ojson')).items,
    );
  };

  for (const [name, recorded] of recordings) {
    test(`${name}: status and events match kubelet's`, async () => {
      const { name: pod } = recorded.pod.metadata;
      await becomes(() => eventsOf(pod), eventTexts(recorded.events));
      await becomes(() => closest(seen.get(pod), recorded.status), EXPLAINED[name] ?? []);
    });
  }
});

/** Records all changes of pods from now on; resolves once the watch has begun. */
async function watchPods(plane: ControlPlane, changed: (pod: Pod) => void): Promise<ChildProcess> {
  const path = '/api/v1/namespaces/default/pods';
  const { resourceVersion } = JSON.parse(await plane.kubectl('get', '--raw', path)).metadata;
  const child = plane.startKubectl(['get', '--raw', `${path}?watch=true&resourceVersion=${resourceVersion}`]);
  createInterface(child.stdout).on('line', (line) => changed(JSON.parse(line).object));
  return child;
}

/** The API server authorizes the node for a referenced ConfigMap a little later than it binds the pod. */
async function heedsPods(plane: ControlPlane): Promise<void> {
  const asNode = ['--kubeconfig', nodeKubeconfig(plane, NODE)];
  const path = '/api/v1/namespaces/default/configmaps/absent';
  await until(async () => {
    const error = await plane.kubectl(...asNode, 'get', '--raw', path).catch((error: Error) => error.message);
    return error.includes('(NotFound)');
  });
}

function manifest({ metadata: { name, namespace, labels, annotations }, spec }: Pod): object {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, labels, annotations }, spec };
}

/** A transient status, as between two pull attempts, matches if any observed version does. */
function closest(seen: readonly PodStatus[] | undefined, recorded: PodStatus): readonly string[] | undefined {
  return seen?.map((status) => unlike(status, recorded)).toSorted((a, b) => a.length - b.length)[0];
}

function unlike(status: PodStatus, recorded: PodStatus): readonly string[] {
  const fields = Object.keys(recorded).filter((field) => !Object.hasOwn(status, field));
  return [...fields, ...differences(status, recorded).filter((path) => !DRAWN.some((each) => each.test(path)))];
}

function eventTexts(events: readonly Pick<Event, 'type' | 'reason'>[]): readonly string[] {
  return events.map(({ type, reason }) => `${type} ${reason}`).sort(byCodePoint);
}
