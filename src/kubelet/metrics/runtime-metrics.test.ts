import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_BOUNDS, histogramSeries, testPublished } from '../../base/metrics/exposition.fixture.ts';
import { CriError } from '../../cri/cri-error.ts';
import { createFakeRuntime } from '../../cri/fake/fake-runtime.ts';
import { instrument } from '../../cri/instrument.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { observeRuntime, operationType } from './runtime-metrics.ts';

let nowMs = 0;
const clock = { monotonic: () => nowMs };
const OPERATION_BOUNDS =
  '0.005 0.0125 0.03125 0.078125 0.1953125 0.48828125 1.220703125 3.0517578125 7.62939453125 19.073486328125 47.6837158203125 119.20928955078125 298.0232238769531 745.0580596923828'.split(
    ' ',
  );
const signal = new AbortController().signal;

const { cri } = createFakeRuntime(createMemoryHost());
const { runtime } = instrument({
  ...cri,
  runtime: {
    ...cri.runtime,
    async runPodSandbox() {
      nowMs += 500;
      return { podSandboxId: 's' };
    },
    async listContainers() {
      nowMs += 2;
      throw new CriError('Unavailable', 'no runtime');
    },
    async runtimeConfig() {
      throw new CriError('Unimplemented', 'unknown method');
    },
  },
});

testPublished('calls of the runtime', {
  'a sandbox, by its handler': {
    observe: (registry) => observeRuntime(registry, clock),
    publish: () => runtime.runPodSandbox({ config: undefined, runtimeHandler: 'kata' }, signal),
    series: [
      ...histogramSeries('kubelet_run_podsandbox_duration_seconds', 'runtime_handler="kata"', DEFAULT_BOUNDS, [0.5]),
      ...histogramSeries(
        'kubelet_runtime_operations_duration_seconds',
        'operation_type="run_podsandbox"',
        OPERATION_BOUNDS,
        [0.5],
      ),
      'kubelet_runtime_operations_total{operation_type="run_podsandbox"} 1',
    ],
  },
  'a call that fails counts as a call and as an error': {
    observe: (registry) => observeRuntime(registry, clock),
    publish: () => assert.rejects(runtime.listContainers({ filter: undefined }, signal)),
    series: [
      ...histogramSeries(
        'kubelet_runtime_operations_duration_seconds',
        'operation_type="list_containers"',
        OPERATION_BOUNDS,
        [0.002],
      ),
      'kubelet_runtime_operations_errors_total{operation_type="list_containers"} 1',
      'kubelet_runtime_operations_total{operation_type="list_containers"} 1',
    ],
  },
  'a runtime without RuntimeConfig loses support': {
    observe: (registry) => observeRuntime(registry, clock),
    publish: () => assert.rejects(runtime.runtimeConfig({}, signal)),
    series: [
      'kubelet_cri_losing_support{version="1.37.0"} 1',
      ...histogramSeries(
        'kubelet_runtime_operations_duration_seconds',
        'operation_type="runtime_config"',
        OPERATION_BOUNDS,
        [0],
      ),
      'kubelet_runtime_operations_errors_total{operation_type="runtime_config"} 1',
      'kubelet_runtime_operations_total{operation_type="runtime_config"} 1',
    ],
  },
});

const types: Readonly<Record<string, string>> = {
  Version: 'version',
  PodSandboxStatus: 'podsandbox_status',
  UpdateContainerResources: 'update_container',
  ImageFsInfo: 'image_fs_info',
};
for (const [method, type] of Object.entries(types))
  test(`operationType() of ${method}`, () => assert.equal(operationType(method), type));
