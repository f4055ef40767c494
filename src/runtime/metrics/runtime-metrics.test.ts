import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricsText } from '../../base/metrics/metrics-text.ts';
import { createFakeRuntime } from '../../cri/fake/fake-runtime.ts';
import { PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import { instrument } from '../../cri/instrument.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import type { ImagePuller, PullProgress } from '../images/image-puller.ts';
import type { NetworkedPod, PodNetwork } from '../network/pod-network.ts';
import { RuntimeMetrics } from './runtime-metrics.ts';

const never = new AbortController().signal;
const POD = { sandboxId: 's1' } as NetworkedPod; // the plugins of these tests read nothing else
const MIB = 1024 * 1024;

function setUp() {
  const time = { ms: 0 };
  const metrics = new RuntimeMetrics({ monotonic: () => time.ms });
  const shown = async (name: string): Promise<readonly string[]> => {
    const lines = metricsText(await metrics.collect()).split('\n');
    // Timers without labels are shown before their first observation, as containerd does.
    return lines.filter((line) => line.startsWith(name) && !/_bucket|_(sum|count) 0$/.test(line));
  };
  return { time, metrics, shown };
}

function network(change: Partial<PodNetwork>): PodNetwork {
  const unused = (): never => assert.fail('not used');
  return {
    status: unused,
    handlerStatuses: unused,
    setUp: unused,
    tearDown: unused,
    collectGarbage: unused,
    setPodCidr: unused,
    refresh: unused,
    run: unused,
    ...change,
  };
}

test('network plugins are timed by operation, and their errors counted', async () => {
  const { time, metrics, shown } = setUp();
  const timed = metrics.network(
    network({
      setUp: async () => {
        time.ms += 250;
        return { ips: ['10.0.0.2'], results: {} };
      },
      tearDown: async () => {
        time.ms += 500;
        throw new Error('no such bridge');
      },
    }),
  );
  await timed.setUp(POD, never);
  await assert.rejects(timed.tearDown(POD, never), /no such bridge/);
  assert.deepEqual(await shown('containerd_cri_'), [
    'containerd_cri_network_plugin_operations_duration_seconds_seconds_sum{operation_type="set_up_pod"} 0.25',
    'containerd_cri_network_plugin_operations_duration_seconds_seconds_count{operation_type="set_up_pod"} 1',
    'containerd_cri_network_plugin_operations_duration_seconds_seconds_sum{operation_type="tear_down_pod"} 0.5',
    'containerd_cri_network_plugin_operations_duration_seconds_seconds_count{operation_type="tear_down_pod"} 1',
    'containerd_cri_network_plugin_operations_errors_total_total{operation_type="tear_down_pod"} 1',
    'containerd_cri_network_plugin_operations_total_total{operation_type="set_up_pod"} 1',
    'containerd_cri_network_plugin_operations_total_total{operation_type="tear_down_pod"} 1',
    'containerd_cri_sandbox_create_network_seconds_sum 0.25',
    'containerd_cri_sandbox_create_network_seconds_count 1',
    'containerd_cri_sandboxed_in_progress_image_pulls_total 0',
  ]);
});

const layers = [
  { digest: 'sha256:a', sizeBytes: 4 * MIB },
  { digest: 'sha256:b', sizeBytes: 9 * MIB },
];
const resolved: PullProgress = { kind: 'resolved', digest: 'sha256:0', source: 'https://r', layers };

test('pulls are counted, with the rate of what they received', async () => {
  const { time, metrics, shown } = setUp();
  const pulls: ImagePuller = {
    async pull(reference, _auth, _signal, watch) {
      watch?.(resolved);
      watch?.({ kind: 'layer', digest: 'sha256:a', state: { phase: 'coming', receivedBytes: 1 } });
      watch?.({ kind: 'layer', digest: 'sha256:b', state: { phase: 'present' } });
      time.ms += 2000;
      assert.deepEqual(await shown('containerd_cri_sandboxed_in'), [
        'containerd_cri_sandboxed_in_progress_image_pulls_total 1',
      ]);
      if (reference === 'bad') throw new Error('not found');
      return { id: 'sha256:0' } as Awaited<ReturnType<ImagePuller['pull']>>; // its callers read nothing else
    },
  };
  const counted = metrics.puller(pulls);
  await counted.pull('good', undefined, never);
  await assert.rejects(counted.pull('bad', undefined, never), /not found/);
  assert.deepEqual(await shown('containerd_cri_sandboxed'), [
    'containerd_cri_sandboxed_image_pulling_throughput_sum 2',
    'containerd_cri_sandboxed_image_pulling_throughput_count 1',
    'containerd_cri_sandboxed_image_pulling_throughput_mibps_sum 2',
    'containerd_cri_sandboxed_image_pulling_throughput_mibps_count 1',
    'containerd_cri_sandboxed_image_pulls_total{status="failure"} 1',
    'containerd_cri_sandboxed_image_pulls_total{status="success"} 1',
    'containerd_cri_sandboxed_in_progress_image_pulls_total 0',
  ]);
});

test('successful calls are timed until it is stopped', async () => {
  const host = createMemoryHost();
  const metrics = new RuntimeMetrics(host.clock);
  const { runtime } = instrument(createFakeRuntime(host).cri);
  const stop = metrics.observeCalls();
  const metadata = { name: 'web', namespace: 'default', uid: 'u1', attempt: 0 };
  const config = PodSandboxConfig.fromPartial({ metadata });
  const running = runtime.runPodSandbox({ config, runtimeHandler: '' }, never);
  if (host.clock instanceof VirtualClock) await host.clock.advance(10_000);
  await running;
  await assert.rejects(runtime.stopContainer({ containerId: 'none', timeout: 0n }, never).then(() => assert.fail()));
  stop();
  await runtime.listContainers({ filter: undefined }, never);
  const text = metricsText(await metrics.collect());
  assert.match(text, /^containerd_cri_sandbox_runtime_create_seconds_count\{runtime=""\} 1$/m);
  assert.doesNotMatch(text, /container_stop/); // it has failed
  assert.match(text, /^containerd_cri_container_list_seconds_count 0$/m);
});
