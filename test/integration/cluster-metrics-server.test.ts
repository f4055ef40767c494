/** metrics-server scrapes the node; `kubectl top` shows what the kernel accounts. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { parseQuantity } from '../../src/base/quantity.ts';
import { type CgroupSamples, cgroupOfCommand, type Range, sampleCgroups } from './cgroup-samples.ts';
import { embeddedNodeSkipReason, startEmbeddedNode } from './cluster-embedded-node.ts';
import { type ControlPlane, podOn } from './cluster-fixture.ts';
import { clusterToolsSkipReason } from './cluster-tools.ts';
import { createAggregationLayer, type MetricsServer, startMetricsServer } from './metrics-server.ts';
import { nodeletNodeSkipReason, startNodeletNode } from './nodelet-node.ts';
import { until } from './until.ts';

const NODE = 'measured';
const MIB = 1024 * 1024;
const HELD_MIB = 50;
/** Texts of the command lines whose cgroups are sampled. */
const [BURNS, HOLDS] = [`burns-${process.pid}`, `holds-${process.pid}`];
const skip = clusterToolsSkipReason('metrics-server');
const NODES = [
  {
    name: 'the embedded runtime',
    start: (flags: readonly string[]) => startEmbeddedNode(NODE, { apiServerFlags: flags }),
    skip: skip || embeddedNodeSkipReason(),
  },
  {
    name: 'containerd',
    start: (flags: readonly string[]) => startNodeletNode(NODE, undefined, flags),
    skip: skip || nodeletNodeSkipReason(),
  },
];

/** An answer of metrics.k8s.io. */
interface Metrics {
  readonly timestamp: string;
  readonly window: string;
}

interface NodeMetrics extends Metrics {
  readonly usage: Usage;
}

interface PodMetrics extends Metrics {
  readonly metadata: { readonly name: string };
  readonly containers: readonly { readonly name: string; readonly usage: Usage }[];
}

interface Usage {
  readonly cpu: string;
  readonly memory: string;
}

for (const { name, start, skip } of NODES)
  describe(`metrics-server with a node on ${name}`, { skip }, () => {
    const running = new AsyncDisposableStack();
    let plane: ControlPlane;
    let server: MetricsServer;
    let samples: CgroupSamples;
    before(async () => {
      const aggregation = createAggregationLayer();
      running.defer(aggregation.remove);
      const node = await start(aggregation.flags);
      running.defer(node.stop);
      plane = node.plane;
      running.defer(() => plane.remove('--all').catch(() => {})); // the rest is removed with the runtime
      await plane.apply(usesCpuAndMemory());
      await plane.wait('used', 'condition=Ready');
      samples = sampleCgroups({ node: '/', burn: cgroupOfCommand(BURNS), hold: cgroupOfCommand(HOLDS) });
      running.defer(samples.stop);
      server = await startMetricsServer(plane);
      running.defer(server.stop);
    });
    after(() => running.disposeAsync());

    const ask = async <T>(path: string): Promise<T> =>
      JSON.parse(await plane.kubectl('get', '--raw', `/apis/metrics.k8s.io/v1beta1/${path}`));

    /** The first answer whose time is sampled; the first ones count from the start of a container. */
    const sampled = <T extends Metrics>(look: () => Promise<T | undefined>): Promise<T> =>
      until(async () => {
        const found = await look();
        return found && samples.cover(...timeOf(found)) && found;
      });

    /** Usage of CPU is an average of the window, that of memory is of its end. */
    function checkUsage(cgroup: string, metrics: Metrics, { cpu, memory }: Usage): void {
      const [fromMs, toMs] = timeOf(metrics);
      const [cores, bytes] = [numberOf(cpu), numberOf(memory)];
      assertWithin(cores, samples.cores(cgroup, fromMs, toMs), { share: 0.1, least: 0.01 }, `${cgroup}: CPU`);
      assertWithin(bytes, samples.workingSet(cgroup, fromMs, toMs), { share: 0.02, least: MIB }, `${cgroup}: memory`);
    }

    test('it has figures of the node and of each container, as their cgroups have', async () => {
      const pod = await sampled(async () => {
        const { items } = await ask<{ readonly items: readonly PodMetrics[] }>('namespaces/default/pods');
        return items.find(({ metadata }) => metadata.name === 'used');
      });
      assert.deepEqual(pod.containers.map(({ name }) => name).toSorted(), ['burn', 'hold']);
      for (const { name, usage } of pod.containers) checkUsage(name, pod, usage);
      const hold = pod.containers.find(({ name }) => name === 'hold');
      assert.ok(numberOf(hold?.usage.memory ?? '') > HELD_MIB * MIB);
      const node = await sampled(() => ask<NodeMetrics>(`nodes/${NODE}`));
      checkUsage('node', node, node.usage);
    });

    test('kubectl top shows the node and the containers', async (t) => {
      const top = await plane.kubectl('top', 'pod', '--containers', '--no-headers');
      const rows = top
        .trimEnd()
        .split('\n')
        .map((line) => line.trim().split(/ +/));
      assert.deepEqual(rows.map(([pod, container]) => [pod, container]).toSorted(), [
        ['used', 'burn'],
        ['used', 'hold'],
      ]);
      const [[, , cpu = ''] = [], [, , , memory = ''] = []] = rows.toSorted();
      assert.match(cpu, /^[1-9]\d*m$/);
      assert.match(memory, /^[1-9]\d*Mi$/);
      const nodes = await plane.kubectl('top', 'node', '--no-headers');
      assert.match(nodes, new RegExp(`^${NODE} +\\d+m +\\d+% +\\d+Mi +\\d+% *\\n$`));
      t.diagnostic(await plane.kubectl('top', 'pod', '--containers'));
      t.diagnostic(await plane.kubectl('top', 'node'));
    });

    test('it scraped without an error', () => {
      assert.doesNotMatch(server.log(), /Failed to scrape node|Failed getting complete node/);
    });

    test('a deleted pod has no figures any more', async () => {
      await plane.remove('used');
      await until(async () => (await ask<{ readonly items: readonly unknown[] }>('pods')).items.length === 0);
    });
  });

/** One container burns CPU up to its limit; the other holds memory. */
function usesCpuAndMemory(): object {
  const container = (name: string, line: string, limits: object) => ({
    ...{ name, image: BUSYBOX_IMAGE, command: ['sh', '-c', line], resources: { limits } },
  });
  const held = `dd if=/dev/zero of=/dev/shm/held bs=1M count=${HELD_MIB} 2>/dev/null && touch /ready`;
  return podOn(NODE, 'used', {
    dnsPolicy: 'Default',
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 0,
    containers: [
      container('burn', `while :; do :; done # ${BURNS}`, { cpu: '200m', memory: '64Mi' }),
      {
        ...container('hold', `${held}; while :; do sleep 1; done # ${HOLDS}`, { memory: '128Mi' }),
        readinessProbe: { exec: { command: ['test', '-e', '/ready'] }, periodSeconds: 1 },
      },
    ],
  });
}

function timeOf({ timestamp, window }: Metrics): [fromMs: number, toMs: number] {
  const toMs = Date.parse(timestamp);
  const [, minutes = 0, seconds = 0] = /^(?:(\d+)m)?([\d.]+)s$/.exec(window) ?? []; // `20.034s`, `1m0.5s`
  return [toMs - (Number(minutes) * 60 + Number(seconds)) * 1000, toMs];
}

function numberOf(quantity: string): number {
  return Number(parseQuantity(quantity).nano) / 1e9;
}

function assertWithin(
  value: number,
  { least, most }: Range,
  tolerance: { readonly share: number; readonly least: number },
  what: string,
): void {
  const slack = Math.max(tolerance.least, tolerance.share * most);
  const isWithin = value >= least - slack && value <= most + slack;
  assert.ok(isWithin, `${what}: ${value} is not about ${least} to ${most}`);
}
