import { DEFAULT_BOUNDS, histogramSeries, testPublished } from '../../base/metrics/exposition.fixture.ts';
import { plegChannel } from '../pleg/pleg-channel.ts';
import { observePleg } from './pleg-metrics.ts';

const clock = { now: () => 1_700_000_000_500, monotonic: () => monotonicMs };
let monotonicMs = 10_000;

testPublished('PLEG', {
  'two relists: durations, and the interval between their starts': {
    observe: (registry) => observePleg(registry, clock),
    publish() {
      plegChannel.publish({ kind: 'relisted', tookMs: 20 });
      monotonicMs += 1_000;
      plegChannel.publish({ kind: 'relisted', tookMs: 500 });
    },
    series: [
      'kubelet_pleg_last_seen_seconds 1.7e+09',
      ...histogramSeries('kubelet_pleg_relist_duration_seconds', '', DEFAULT_BOUNDS, [0.02, 0.5]),
      ...histogramSeries('kubelet_pleg_relist_interval_seconds', '', DEFAULT_BOUNDS, [0.52]),
    ],
  },
  'an inspected pod': {
    observe: (registry) => observePleg(registry, clock),
    publish: () => plegChannel.publish({ kind: 'inspected', tookMs: 3 }),
    series: histogramSeries('kubelet_pleg_pod_relist_duration_seconds', '', DEFAULT_BOUNDS, [0.003]),
  },
  'connections to the events of the runtime': {
    observe: (registry) => observePleg(registry, clock),
    publish() {
      plegChannel.publish({ kind: 'connected' });
      plegChannel.publish({ kind: 'connectionFailed' });
      plegChannel.publish({ kind: 'connectionFailed' });
    },
    series: ['kubelet_evented_pleg_connection_error_count 2', 'kubelet_evented_pleg_connection_success_count 1'],
  },
  'an event with the time at which the runtime created it, and one without': {
    observe: (registry) => observePleg(registry, clock),
    publish() {
      plegChannel.publish({ kind: 'event', delayMs: 6 });
      plegChannel.publish({ kind: 'event', delayMs: undefined });
    },
    series: [
      ...histogramSeries('kubelet_evented_pleg_connection_latency_seconds', '', DEFAULT_BOUNDS, [0.006]),
      'kubelet_pleg_last_seen_seconds 1.7e+09',
    ],
  },
});
