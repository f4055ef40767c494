/** The metrics of cgroups and of the machine that a node serves, compared with those of kubelet on the same containerd. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { type ControlPlane, podOn } from './cluster-fixture.ts';
import { skipReason as containerdSkipReason, startContainerd, type TestContainerd } from './containerd-fixture.ts';
import { type GoKubelet, goKubeletSkipReason, startGoKubelet } from './go-kubelet.ts';
import { NODELET_KUBELET, nodeletNodeSkipReason } from './nodelet-node.ts';
import { startPlaneAndRuntime } from './test-cluster.ts';
import { until } from './until.ts';

const NODE = 'box';
const PODS = ['limited', 'on-host'];
/** Labels whose values are compared; the values of the others show that there is one. */
const COMPARED = new Set(['container', 'cpu', 'device', 'failure_type', 'image', 'namespace', 'operation', 'pod']);
const ALSO_COMPARED = new Set(['scope', 'state', 'ulimit', 'mode', 'osVersion', 'kernelVersion', 'machine_id']);

/** The bridges and mounts of other tests. */
const OF_OTHERS = /interface="(?!eth0)|device="\/(tmp|run|var)/;

/** Series that only kubelet has, and why. */
const KUBELETS_OWN = [
  // zeros for a file system without a disk
  /^container_fs_(io|read|reads|sector|write|writes)_.*device="\/(?!dev\/vd|dev\/sd|dev\/nvme|dev\/xvd)/,
  // operations beside Read and Write
  /^container_blkio_device_usage_total.*operation="(Async|Discard|Sync|Total)"/,
];
/** Series that kubelet has only with CRI-O. */
const OUR_OWN = [/^container_fs_(inodes_free|inodes_total|limit_bytes|usage_bytes)\{container="[^"]/];

suite('metrics of cgroups beside those of kubelet', { skip: skip() }, () => {
  let plane: ControlPlane;
  let runtime: TestContainerd;
  let agent: GoKubelet | undefined;
  before(async () => {
    [plane, runtime] = await startPlaneAndRuntime(startContainerd);
  });
  after(async () => {
    await agent?.stop();
    await runtime?.stop();
    await plane?.stop();
  });

  test('every series of kubelet is there, with its labels, type, help and order', async () => {
    // kubelet's cAdvisor finds the containers of this socket.
    const flags = [`--containerd=${runtime.endpoint.slice('unix://'.length)}`];
    const plan = { ...runtime, plane, nodeName: NODE, flags };
    agent = await startGoKubelet(plan);
    for (const pod of pods()) await plane.apply(pod);
    for (const pod of PODS) await plane.wait(pod, 'create', 'condition=Ready');
    const theirs = await pageOf(plane, agent.folder);
    await agent.kill();
    agent = await startGoKubelet({ ...plan, command: NODELET_KUBELET });
    const ours = await pageOf(plane, agent.folder);

    assert.deepEqual(without(ours.series, OUR_OWN), without(theirs.series, KUBELETS_OWN));
    assert.deepEqual(ours.comments, theirs.comments);
    assert.deepEqual(ours.names, theirs.names);
    assert.deepEqual(ours.timed, theirs.timed);
    for (const [name, { value, factor }] of Object.entries(steadyValues(theirs.values)))
      assert.ok(
        Math.abs((ours.values.get(name) ?? Number.NaN) - value) <= factor * Math.abs(value),
        `${name} is ${ours.values.get(name)}, kubelet's ${value}`,
      );
  });
});

function skip(): string | false {
  return goKubeletSkipReason() || containerdSkipReason() || nodeletNodeSkipReason();
}

function pods(): object[] {
  const container = (name: string, resources: object) => {
    const command = ['sh', '-c', 'echo hello; sleep 1000'];
    return { name, image: BUSYBOX_IMAGE, command, resources };
  };
  const limits = { requests: { cpu: '50m', memory: '32Mi' }, limits: { cpu: '200m', memory: '64Mi' } };
  const spec = { dnsPolicy: 'Default', terminationGracePeriodSeconds: 0 };
  return [
    podOn(NODE, 'limited', { ...spec, containers: [container('main', {}), container('side', limits)] }),
    podOn(NODE, 'on-host', { ...spec, hostNetwork: true, containers: [container('main', {})] }),
  ];
}

interface Page {
  /** Each with its labels, in the order of the page; without what differs from start to start. */
  readonly series: readonly string[];
  /** Lines of help and type of what this page has. */
  readonly comments: readonly string[];
  readonly names: readonly string[];
  /** Names of metrics with timestamps. */
  readonly timed: readonly string[];
  readonly values: ReadonlyMap<string, number>;
}

/** Once it shows every container and its use: kubelet finds them one after the other, and reads each after some seconds. */
async function pageOf(plane: ControlPlane, folder: string): Promise<Page> {
  const wanted = [
    /^container_cpu_cfs_periods_total\{container="side"/m,
    /^container_sockets\{container="main".*pod="limited"/m,
    /^container_sockets\{container="main".*pod="on-host"/m,
    /^container_network_receive_bytes_total.*pod="limited"/m,
    /^container_network_receive_bytes_total.*pod="on-host"/m,
    ...['kubepods', 'besteffort', 'burstable', 'besteffort/pod[^/]*', 'burstable/pod[^/]*'].map(
      (path) => new RegExp(`^container_cpu_usage_seconds_total.*id="[^"]*/${path}",`, 'm'),
    ),
  ];
  const body = await until(async () => {
    const found = await get(plane, folder);
    return wanted.every((pattern) => pattern.test(found)) ? found : undefined;
  });
  return parsed(body);
}

function get(plane: ControlPlane, folder: string): Promise<string> {
  const { address, port } = JSON.parse(readFileSync(join(folder, 'kubelet.json'), 'utf8'));
  const { certFile, keyFile } = plane.authority.issue({ user: 'admin', groups: ['system:masters'] });
  const [ca, cert, key] = [plane.authority.caFile, certFile, keyFile].map((path) => readFileSync(path));
  return new Promise((resolve, reject) => {
    const asked = request({ host: address, port, path: '/metrics/cadvisor', agent: false, ca, cert, key });
    asked.once('response', (response) => text(response).then(resolve, reject));
    asked.once('error', reject).end();
  });
}

function parsed(body: string): Page {
  const lines = body.split('\n').filter((line) => line !== '');
  const samples = lines.filter((line) => !line.startsWith('#'));
  const shown = samples.filter((line) => !OF_OTHERS.test(line));
  const nameOf = (line: string): string => /^\w+/.exec(line)?.[0] ?? '';
  return {
    series: shown.map(seriesOf),
    comments: lines.filter((line) => line.startsWith('#')),
    names: [...new Set(samples.map(nameOf))],
    timed: [...new Set(samples.filter((line) => / \d{13}$/.test(line)).map(nameOf))],
    values: new Map(shown.map((line) => [seriesOf(line), Number(/^(?:\w+|.*\}) (\S+)/.exec(line)?.[1])])),
  };
}

/** Without values and times; ids are shown by their kind. */
function seriesOf(line: string): string {
  return line
    .replace(/(\{.*\})? .*/, '$1')
    .replaceAll(/(\w+)="([^"]*)"/g, (_, name: string, value: string) => `${name}="${shownValue(name, value)}"`);
}

function shownValue(name: string, value: string): string {
  if (COMPARED.has(name) || ALSO_COMPARED.has(name)) return value;
  if (name !== 'id') return value === '' ? '' : 'some';
  return value
    .replaceAll(/[0-9a-f]{64}/g, 'ID')
    .replaceAll(/pod[0-9a-f-]{36}/g, 'podUID')
    .replace(/nodelet-test-[^/]*/, 'TEST');
}

/** Values that do not change meanwhile, with the relative difference that is allowed. */
function steadyValues(values: ReadonlyMap<string, number>): Record<string, { value: number; factor: number }> {
  const exact = [...values].filter(([name]) =>
    /^(container_spec_|container_threads_max|container_ulimits_soft\{container="[^"]|machine_)/.test(name),
  );
  const near = [...values].filter(([name]) => /^container_(start_time_seconds|fs_limit_bytes)/.test(name));
  return Object.fromEntries([
    ...exact.map(([name, value]) => [name, { value, factor: 0 }] as const),
    ...near.map(([name, value]) => [name, { value, factor: 1e-6 }] as const),
  ]);
}

function without(series: readonly string[], allowed: readonly RegExp[]): readonly string[] {
  return series.filter((each) => !allowed.some((pattern) => pattern.test(each)));
}
