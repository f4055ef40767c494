import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { type CollectedSpan, type OtlpCollector, startCollector } from '../traces/otlp-collector.ts';
import { drawTraces } from '../traces/trace-tree.ts';
import { embeddedNodeSkipReason, startEmbeddedNode } from './cluster-embedded-node.ts';
import { type ControlPlane, podOn } from './cluster-fixture.ts';
import { startGoKubelet } from './go-kubelet.ts';
import { kubeletNodeSkipReason } from './kubelet-node.ts';
import { nodeletNodeSkipReason, startNodeletNode } from './nodelet-node.ts';
import { registrySkipReason, startRegistry } from './registry-fixture.ts';
import { embeddedSkipReason, startEmbedded, type TestRuntime } from './runtime-fixture.ts';
import { startTestCluster } from './test-cluster.ts';
import { until } from './until.ts';

const NODE = 'node-1';
const MILLION = 1_000_000;

interface TracedNode {
  readonly plane: ControlPlane;
  stop(): Promise<unknown>;
}

/** The steps of a pod's start in the agent, above the calls to its runtime. */
const AGENT = ['HandlePodAdditions', '  admission', '  syncPod'];
const BEFORE_SANDBOX = ['directories', 'log links', 'cgroup', 'volumes', 'sandbox'].map((name) => `    ${name}`);

/** What the runtime does for each call. */
const RUNTIME = {
  RunPodSandbox: ['cni.setup_pod_network', '  cni.bridge.ADD'],
  CreateContainer: ['snapshotter.mount'],
  StartContainer: ['container.NewTask', 'client.task.Start'],
};

/** The lines of a call: that of the agent, that of the runtime if it is another process, and what it does. */
function callLines(method: keyof typeof RUNTIME, { depth, isRemote }: Place): string[] {
  const name = `runtime.v1.RuntimeService/${method}`;
  const sides = isRemote ? [`${name} kubelet client`, `  ${name} nodelet-cri server`] : [`${name} kubelet client`];
  const work = RUNTIME[method].map((line) => `${'  '.repeat(sides.length)}${line}`);
  return [...sides, ...work].map((line) => `${'  '.repeat(depth)}${line}`);
}

interface Place {
  readonly depth: number;
  readonly isRemote: boolean;
}

function nodeletStart(isRemote: boolean): string[] {
  const place = { depth: 3, isRemote };
  return [
    ...AGENT,
    ...BEFORE_SANDBOX,
    ...callLines('RunPodSandbox', place),
    '    image',
    '    create container',
    ...callLines('CreateContainer', place),
    '    start container',
    ...callLines('StartContainer', place),
  ];
}

/** kubelet has no spans of its own between a sync and its calls. */
function kubeletStart(): string[] {
  const place = { depth: 1, isRemote: true };
  const calls = (['RunPodSandbox', 'CreateContainer', 'StartContainer'] as const).flatMap((each) =>
    callLines(each, place),
  );
  return ['syncPod', ...calls];
}

function testNode(
  name: string,
  skip: string | false,
  start: (endpoint: string) => Promise<TracedNode>,
  tree: string[],
) {
  suite(name, { skip }, () => {
    let collector: OtlpCollector;
    let node: TracedNode;

    before(async () => {
      collector = await startCollector();
      node = await start(collector.endpoint);
    });
    after(async () => {
      await node?.stop();
      collector?.close();
    });

    const createPod = async (pod: string): Promise<void> => {
      await node.plane.apply(podOn(NODE, pod, podSpec(BUSYBOX_IMAGE)));
      await node.plane.wait(pod, 'condition=Ready');
    };
    const spanOf = (pod: string, span: string): CollectedSpan | undefined =>
      collector.spans.find((each) => each.name === span && each.attributes['k8s.pod.name'] === pod);

    test('the start of a pod is one trace, through the runtime to the container', async (t) => {
      await createPod('web');
      const trace = await until(async () => {
        const first = collector.spans.find((each) => each.attributes['k8s.pod.name'] === 'web' && each.parentId === '');
        const spans = collector.spans.filter(({ traceId }) => traceId === first?.traceId);
        return ['syncPod', 'client.task.Start'].every((each) => spans.some((span) => span.name === each)) && spans;
      });
      t.diagnostic(`\n${drawTraces(trace, shown).join('\n')}`);
      const lines = drawTraces(
        trace.filter((span) => !isReading(span)),
        ({ name: of, service, kind }) => (of.startsWith('runtime.') ? ` ${service} ${kind}` : ''),
      );
      assert.deepEqual(lines, tree);
      assert.deepEqual(
        trace.filter(({ error }) => error !== undefined),
        [],
      );
    });

    test('spans have the attributes of kubelet', async () => {
      const uid = await node.plane.field('web', '.metadata.uid');
      const sync = await until(() => spanOf('web', 'syncPod'));
      assert.deepEqual(sync.attributes, {
        'k8s.pod.uid': uid,
        'k8s.pod': 'default/web',
        'k8s.pod.name': 'web',
        'k8s.pod.update_type': 'create',
        'k8s.namespace.name': 'default',
      });
      assert.deepEqual(
        [sync.scope, sync.resource],
        ['k8s.io/kubernetes/pkg/kubelet', { 'service.name': 'kubelet', 'host.name': NODE }],
      );
      const call = collector.spans.find((each) => each.name.endsWith('/RunPodSandbox') && each.kind === 'client');
      const { 'server.address': _, ...attributes } = call?.attributes ?? {};
      assert.deepEqual(attributes, {
        'rpc.method': 'runtime.v1.RuntimeService/RunPodSandbox',
        'rpc.system.name': 'grpc',
        'rpc.response.status_code': 'OK',
      });
    });

    test('requests of and to the API server have spans', async () => {
      const seen = (fits: (span: CollectedSpan) => boolean) => until(() => collector.spans.find(fits));
      const sent = await seen(
        ({ name: of, attributes }) =>
          of === 'HTTP PATCH' && String(attributes['url.full']).includes('/pods/web/status'),
      );
      assert.equal(sent.attributes['http.response.status_code'], 200);
      await node.plane.kubectl('get', '--raw', `/api/v1/nodes/${NODE}/proxy/pods`);
      const served = await seen((span) => span.name === '/pods/');
      assert.deepEqual(
        [
          served.kind,
          served.parentId,
          served.attributes['http.route'],
          served.attributes['url.path'],
          served.attributes['http.response.status_code'],
        ],
        ['server', '', '/pods/', '/pods', 200],
      );
    });

    test('a pull is shown with its requests and layers', { skip: registrySkipReason() }, async () => {
      const registry = await startRegistry();
      try {
        const image = await registry.push('traced');
        await node.plane.apply(podOn(NODE, 'pulled', podSpec(image)));
        await node.plane.wait('pulled', 'condition=Ready');
        const pull = await until(() => collector.spans.find((span) => span.name === 'pull.Pull'));
        const inside = collector.spans.filter(({ parentId }) => parentId === pull.spanId).map(({ name: of }) => of);
        assert.deepEqual(pull.attributes, { 'image.ref': image });
        const names = ['pkg.unpack.unpacker.unpackLayer', 'remotes.docker.resolver.HTTPRequest'];
        assert.deepEqual(new Set(inside), new Set(names));
        // Exported later: they end later, and one of them in another process.
        const call = await until(() => collector.spans.find(({ spanId }) => spanId === pull.parentId));
        assert.equal(call.name, 'runtime.v1.ImageService/PullImage');
        await until(() =>
          collector.spans.some(({ name: of, traceId }) => of === 'syncPod' && traceId === pull.traceId),
        );
        await node.plane.remove('pulled');
      } finally {
        await registry.stop();
      }
    });

    test('the end of a pod has the spans of kubelet', async () => {
      await node.plane.remove('web');
      for (const span of ['syncTerminatingPod', 'syncTerminatedPod'])
        assert.equal((await until(() => spanOf('web', span))).parentId, '');
    });

    test('a collector that hangs delays no pod, and not the end of the agent', async () => {
      collector.hang(true);
      const before = collector.requests;
      await createPod('second');
      await until(() => collector.requests > before);
      await createPod('third');
      await node.plane.remove('second', 'third');
      assert.equal(spanOf('third', 'syncPod'), undefined);
    });
  });
}

const podSpec = (image: string) => ({
  dnsPolicy: 'Default',
  terminationGracePeriodSeconds: 0,
  volumes: [{ name: 'data', emptyDir: {} }],
  containers: [
    {
      name: 'main',
      image,
      command: ['sleep', '1000'],
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
    },
  ],
});

/** Calls that only read. */
function isReading({ name }: CollectedSpan): boolean {
  return /Status$|\/(List|Version)/.test(name);
}

function shown({ service, kind, startNs, endNs, attributes }: CollectedSpan): string {
  const what =
    attributes['k8s.pod'] ??
    attributes['k8s.container.name'] ??
    attributes['container.image.name'] ??
    attributes['task.runtime.name'];
  const side = kind === 'internal' ? '' : ` (${kind}, ${service})`;
  return `${side}${what === undefined ? '' : ` ${what}`}  ${(Number(endNs - startNs) / 1e6).toFixed(1)} ms`;
}

const tracing = (endpoint: string, samplingRatePerMillion: number) => ({
  tracing: { endpoint, samplingRatePerMillion },
});

/** It shows only what its callers sample. */
async function startTracedRuntime(endpoint: string): Promise<TestRuntime> {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-traces-'));
  const file = join(folder, 'runtime.json');
  const head = { apiVersion: 'runtime.nodelet.io/v1alpha1', kind: 'RuntimeConfiguration' };
  writeFileSync(file, JSON.stringify({ ...head, ...tracing(endpoint, 0) }));
  const runtime = await startEmbedded({ flags: ['--config', file] });
  const stop = async (): Promise<void> => {
    await runtime.stop();
    rmSync(folder, { recursive: true });
  };
  return { ...runtime, stop };
}

testNode(
  'traces of `nodelet kubelet` with the embedded runtime',
  embeddedNodeSkipReason(),
  (endpoint) => startEmbeddedNode(NODE, { config: tracing(endpoint, MILLION) }),
  nodeletStart(false),
);

testNode(
  'traces of `nodelet kubelet` on `nodelet cri`',
  embeddedSkipReason() || nodeletNodeSkipReason(),
  (endpoint) =>
    startNodeletNode(
      NODE,
      async () => ({ config: tracing(endpoint, MILLION) }),
      [],
      () => startTracedRuntime(endpoint),
    ),
  nodeletStart(true),
);

testNode(
  "traces of Kubernetes' own kubelet on `nodelet cri`",
  kubeletNodeSkipReason(),
  (collector) =>
    startTestCluster(
      () => startTracedRuntime(collector),
      (plane, { endpoint, cgroupParent }) =>
        startGoKubelet({ plane, nodeName: NODE, endpoint, cgroupParent, config: tracing(collector, MILLION) }),
    ),
  kubeletStart(),
);
