/** Components that publish one kind of message, or a few. */
import { DEFAULT_BOUNDS, histogramSeries, testPublished } from '../../base/metrics/exposition.fixture.ts';
import { draChannel } from '../dra/dra-channel.ts';
import { evictionChannel } from '../eviction/eviction-channel.ts';
import { hookChannel } from '../hooks/hook-channel.ts';
import { rejectionChannel } from '../pod/rejection-channel.ts';
import { probeChannel } from '../probes/probe-channel.ts';
import { cgroupChannel } from '../resources/cgroup-channel.ts';
import { healthChannel } from '../server/health-channel.ts';
import { observeDra } from './dra-metrics.ts';
import { observeEvictions } from './eviction-metrics.ts';
import { observeHealth } from './health-metrics.ts';
import { observeCgroups, observeHooks } from './host-metrics.ts';
import { observeProbes } from './probe-metrics.ts';
import { observeRejections } from './rejection-metrics.ts';

const web = { namespace: 'default', pod: 'web', uid: 'u1' };
const other = { namespace: 'default', pod: 'other', uid: 'u2' };
const check = { kind: 'checked', probe: 'readiness', tookMs: 20 } as const;
/** What Prometheus' `ExponentialBucketsRange(0.1, 40, 15)` returns in Go. */
const DRA_BOUNDS =
  '0.1 0.1534127404634391 0.23535468936502524 0.36106407876409946 0.5539182980610752 0.849781240983936 1.303672689737678 1.9999999999999993 3.0682548092687805 4.7070937873005025 7.221281575281985 11.078365961221499 16.995624819678714 26.07345379475354 39.99999999999997'.split(
    ' ',
  );

testPublished('metrics', {
  evictions: {
    observe: observeEvictions,
    publish: () => evictionChannel.publish({ signal: 'memory.available' }),
    series: ['kubelet_evictions{eviction_signal="memory.available"} 1'],
  },
  'changes of cgroups': {
    observe: observeCgroups,
    publish: () => cgroupChannel.publish({ operation: 'create', tookMs: 2.5 }),
    series: histogramSeries(
      'kubelet_cgroup_manager_duration_seconds',
      'operation_type="create"',
      DEFAULT_BOUNDS,
      [0.0025],
    ),
  },
  'lifecycle hooks': {
    observe: observeHooks,
    publish() {
      for (const kind of ['httpFallback', 'sleepEndedEarly', 'sleepEndedEarly'] as const) hookChannel.publish({ kind });
    },
    series: ['kubelet_lifecycle_handler_http_fallbacks_total 1', 'kubelet_sleep_action_terminated_early_total 2'],
  },
  'rejected pods, by the reasons that kubelet shows': {
    observe: observeRejections,
    publish() {
      for (const reason of ['OutOfcpu', 'OutOfexample.com/gpu', 'Anything', 'NodeShutdown'])
        rejectionChannel.publish({ reason });
    },
    series: ['NodeShutdown', 'Other', 'OutOfExtendedResources', 'OutOfcpu'].map(
      (reason) => `kubelet_admission_rejections_total{reason="${reason}"} 1`,
    ),
  },
  'checks of the health of the agent: the last result, and how many had which': {
    observe: observeHealth,
    publish() {
      for (const isHealthy of [true, true, false]) healthChannel.publish({ name: 'syncloop', isHealthy });
    },
    series: [
      'kubernetes_healthcheck{name="syncloop",type="healthz"} 0',
      'kubernetes_healthchecks_total{name="syncloop",status="error",type="healthz"} 1',
      'kubernetes_healthchecks_total{name="syncloop",status="success",type="healthz"} 2',
    ],
  },
  'prepared claims': {
    observe: observeDra,
    publish: () => draChannel.publish({ operation: 'PrepareResources', isError: true, tookMs: 39_000 }),
    series: histogramSeries(
      'dra_operations_duration_seconds',
      'is_error="true",operation_name="PrepareResources"',
      DRA_BOUNDS,
      [39],
    ),
  },
  'probes: failed ones have no duration': {
    observe: observeProbes,
    publish() {
      const of = { ...web, container: 'app' };
      probeChannel.publish({ ...check, of, result: 'successful' });
      probeChannel.publish({ ...check, of, result: 'failed' });
    },
    series: [
      ...histogramSeries(
        'prober_probe_duration_seconds',
        'container="app",namespace="default",pod="web",probe_type="Readiness"',
        DEFAULT_BOUNDS,
        [0.02],
      ),
      ...['failed', 'successful'].map(
        (result) =>
          `prober_probe_total{container="app",namespace="default",pod="web",pod_uid="u1",probe_type="Readiness",result="${result}"} 1`,
      ),
    ],
  },
  'the series of a pod end with its probes': {
    observe: observeProbes,
    publish() {
      probeChannel.publish({ ...check, of: { ...web, container: 'app' }, result: 'successful' });
      probeChannel.publish({ ...check, of: { ...other, container: 'app' }, result: 'failed' });
      probeChannel.publish({ kind: 'forgotten', of: web });
    },
    series: [
      'prober_probe_total{container="app",namespace="default",pod="other",pod_uid="u2",probe_type="Readiness",result="failed"} 1',
    ],
  },
});
