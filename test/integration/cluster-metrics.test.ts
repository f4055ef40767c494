/** The exposition of a node compared with that of kubelet: names, types, help texts and labels after the same pods. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { byCodePoint } from '../../src/base/code-point-order.ts';
import { type ControlPlane, podOn } from './cluster-fixture.ts';
import { skipReason as containerdSkipReason, startContainerd, type TestContainerd } from './containerd-fixture.ts';
import { type GoKubelet, goKubeletSkipReason, startGoKubelet } from './go-kubelet.ts';
import { NODELET_KUBELET, nodeletNodeSkipReason } from './nodelet-node.ts';
import { startPlaneAndRuntime } from './test-cluster.ts';
import { until } from './until.ts';

const NODE = 'box';
const STATIC = `static-${NODE}`;
const PATHS = ['/metrics', '/metrics/probes', '/metrics/slis'];

/** Metrics of kubelet that Nodelet does not show, and why. */
const ONLY_KUBELET: readonly (readonly [name: RegExp, reason: string])[] = [
  [/^go_/, 'metrics of the Go runtime; nodelet_* has those of Node.js'],
  [/^workqueue_/, 'the work queues of client-go: changes wake one slot per object here'],
  [
    /^apiserver_|^aggregator_|^cardinality_enforcement_/,
    'parts of an API server that are linked into kubelet; those of authentication are not measured yet',
  ],
  [/^disabled_metrics_total$/, 'metrics cannot be disabled'],
  [/^dra_operations_duration_seconds$/, 'pods without claims are not prepared for them'],
  [
    /^(force_cleaned_failed|reconstruct)_volume_|^kubelet_orphan_pod_cleaned_volumes/,
    'volumes are not reconstructed: they are found on disk when their pod is released',
  ],
  [/^kubelet_imagemanager_inmemory_/, 'the records have no cache of limited size'],
  [/^kubelet_metrics_provider$/, 'there is no choice between cAdvisor and CRI'],
  [/^kubelet_pleg_discard_events$/, 'PLEG has no queue that could be full'],
  [/^kubelet_pod_watch_events_dropped_total$/, 'the pods API of kubelet is not served'],
  [/^kubelet_volume_metric_collection_duration_seconds$/, 'not measured yet'],
  [
    /^rest_client_(transport|exec_plugin)_/,
    'the cache of transports is that of client-go; exec plugins are not measured yet',
  ],
];
/** Labels of kubelet that Nodelet does not show, and why. */
const MISSING_LABELS: Readonly<Record<string, readonly string[]>> = {
  // Nodelet is not built by Go, nor from a commit of Kubernetes.
  '/metrics kubernetes_build_info': ['build_date', 'compiler', 'git_commit', 'git_tree_state', 'go_version'],
};
/** Metrics of Nodelet that kubelet does not show. */
const ONLY_NODELET: readonly (readonly [name: RegExp, reason: string])[] = [[/^nodelet_/, 'of its own']];

suite('the metrics of a node beside those of kubelet', { skip: skip() }, () => {
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

  test('every metric has the same type, help text and labels', async () => {
    const manifests = join(plane.folder, 'manifests');
    mkdirSync(manifests);
    const plan = { ...runtime, plane, nodeName: NODE, config: { staticPodPath: manifests } };
    agent = await startGoKubelet(plan);
    const theirs = await metricsAfterPods(plane, manifests, agent);
    await agent.kill();
    agent = await startGoKubelet({ ...plan, command: NODELET_KUBELET });
    const ours = await metricsAfterPods(plane, manifests, agent);
    const explained = (all: Metrics, allowed: typeof ONLY_KUBELET): Metrics =>
      Object.fromEntries(
        Object.entries(all)
          .filter(([name]) => !allowed.some(([each]) => each.test(nameOf(name))))
          .map(([name, shape]) => [name, withoutLabels(shape, MISSING_LABELS[name] ?? [])]),
      );
    const left = explained(ours, ONLY_NODELET);
    const wanted = explained(theirs, ONLY_KUBELET);
    const differing = [...new Set([...Object.keys(left), ...Object.keys(wanted)])].filter(
      (name) => !isDeepStrictEqual(left[name], wanted[name]),
    );
    assert.deepEqual(
      differing.map((name) => [name, left[name]]),
      differing.map((name) => [name, wanted[name]]),
    );
  });
});

function skip(): string | false {
  return goKubeletSkipReason() || containerdSkipReason() || nodeletNodeSkipReason();
}

/** By path and name. */
type Metrics = Readonly<Record<string, MetricShape>>;

interface MetricShape {
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

function withoutLabels(shape: MetricShape, missing: readonly string[]): MetricShape {
  return { ...shape, labels: shape.labels.filter((label) => !missing.includes(label)) };
}

function nameOf(key: string): string {
  return key.split(' ')[1] ?? '';
}

/** A pod with probes, volumes and an init container, one that cannot start, one that does not fit, one that is deleted. */
async function metricsAfterPods(plane: ControlPlane, manifests: string, agent: GoKubelet): Promise<Metrics> {
  const exec = { exec: { command: ['true'] }, periodSeconds: 1 };
  const main = { name: 'main', image: BUSYBOX_IMAGE, command: ['sleep', '1000'] };
  const spec = { dnsPolicy: 'Default', terminationGracePeriodSeconds: 0, containers: [main] };
  const talk = {
    ...spec,
    initContainers: [{ ...main, name: 'init', command: ['true'] }],
    volumes: [
      { name: 'empty', emptyDir: {} },
      { name: 'config', configMap: { name: 'kube-root-ca.crt', optional: true } },
    ],
    containers: [
      {
        ...main,
        volumeMounts: [
          { name: 'empty', mountPath: '/empty' },
          { name: 'config', mountPath: '/config' },
        ],
        readinessProbe: exec,
        livenessProbe: exec,
      },
    ],
  };
  const broken = { ...spec, restartPolicy: 'Never', containers: [{ ...main, command: ['/nothing'] }] };
  const huge = { ...spec, containers: [{ ...main, resources: { requests: { cpu: '1000' } } }] };
  const metadata = { name: 'static', namespace: 'default', uid: '5ce2a4f1-0b4e-4f4e-9d5b-1f1a3c7e9b22' };
  writeFileSync(join(manifests, 'static.json'), JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec }));
  for (const [name, each] of Object.entries({ talk, gone: spec, broken, huge }))
    await plane.apply(podOn(NODE, name, each));
  for (const name of ['talk', 'gone', STATIC]) await plane.wait(name, 'create', 'condition=Ready');
  for (const name of ['broken', 'huge']) await plane.wait(name, 'jsonpath={.status.phase}=Failed');
  await plane.kubectl('delete', 'pod', 'gone');
  const ask = asking(plane, agent.folder);
  await ask('/healthz');
  await until(async () => {
    const [body, probes] = [await ask('/metrics'), await ask('/metrics/probes')];
    const isMeasured = body.includes('kubelet_pod_start_sli_duration_seconds_count');
    return isMeasured && probes.includes('probe_type="Readiness",result="successful"') ? true : undefined;
  });
  const found: Record<string, MetricShape> = {};
  for (const path of PATHS) Object.assign(found, shapesOf(path, await ask(path)));
  await plane.kubectl('delete', 'pod', 'talk', 'broken', 'huge');
  return found;
}

function shapesOf(path: string, body: string): Metrics {
  const shapes: Record<string, { type: string; help: string; labels: string[] }> = {};
  for (const line of body.split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)/.exec(line) ?? [];
    if (kind === 'HELP') shapes[`${path} ${name}`] = { type: '', help: rest, labels: [] };
    const shape = shapes[`${path} ${name}`];
    if (kind === 'TYPE' && shape) shape.type = rest;
    const [, sample = '', labels = ''] = /^([a-z]\w*)(?:\{(.*)\})? /.exec(line) ?? [];
    const of = shapes[`${path} ${sample}`] ?? shapes[`${path} ${sample.replace(/_(bucket|sum|count)$/, '')}`];
    if (of) of.labels = [...new Set([...of.labels, ...labelNames(labels)])].toSorted(byCodePoint);
  }
  return shapes;
}

function labelNames(labels: string): readonly string[] {
  return [...labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)].flatMap(([, name = '']) => (name === 'le' ? [] : [name]));
}

function asking(plane: ControlPlane, folder: string): (path: string) => Promise<string> {
  const { address, port } = JSON.parse(readFileSync(join(folder, 'kubelet.json'), 'utf8'));
  const { certFile, keyFile } = plane.authority.issue({ user: 'admin', groups: ['system:masters'] });
  const tls = { ca: readFileSync(plane.authority.caFile), cert: readFileSync(certFile), key: readFileSync(keyFile) };
  return (path) =>
    new Promise((resolve, reject) => {
      const asked = request({ host: address, port, path, agent: false, ...tls });
      asked.once('response', (response) => text(response).then(resolve, reject));
      asked.once('error', reject).end();
    });
}
