import { counter, gauge, histogram } from '../../base/metrics/declaration.ts';
import type { CounterFamily, GaugeFamily, HistogramFamily } from '../../base/metrics/metric-family.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import type { Clock } from '../../host/clock.ts';

const LABELS = ['method', 'path', 'server_type', 'long_running'] as const;
type Label = (typeof LABELS)[number];

/** The server of :10250, or that of `readOnlyPort`. */
export type ServerType = 'readonly' | 'readwrite';

const REQUESTS = counter(
  'kubelet_http_requests_total',
  'Number of the http requests received since the server started',
  { labels: LABELS },
);
const DURATION = histogram('kubelet_http_requests_duration_seconds', 'Duration in seconds to serve http requests', {
  labels: LABELS,
});
const IN_FLIGHT = gauge('kubelet_http_inflight_requests', 'Number of the inflight http requests', { labels: LABELS });
const WEB_SOCKETS = counter(
  'kubelet_websocket_streaming_requests_total',
  'Total number of WebSocket streaming requests (exec/attach/portforward) received by the kubelet.',
  { labels: ['subresource'] },
);

const METHODS: ReadonlySet<string> = new Set(['OPTIONS', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT']);
const PATHS: ReadonlySet<string> = new Set([
  'attach',
  'checkpoint',
  'configz',
  'containerLogs',
  'debug',
  'exec',
  'flagz',
  'healthz',
  'logs',
  'metrics',
  'metrics/cadvisor',
  'metrics/probes',
  'metrics/resource',
  'pods',
  'portForward',
  'pprof',
  'run',
  'runningpods',
  'stats',
  'statusz',
]);
/** kubelet also names `portforward`, which is no path of its server. */
const LONG_RUNNING: ReadonlySet<string> = new Set(['exec', 'attach', 'debug']);

/** Counts and measures the requests to the server. Unknown methods and paths count as `other`. */
export class RequestMetrics {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #requests: CounterFamily<Label>;
  readonly #duration: HistogramFamily<Label>;
  readonly #inFlight: GaugeFamily<Label>;
  readonly #webSockets: CounterFamily<'subresource'>;

  constructor(registry: MetricRegistry, clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#requests = registry.counter(REQUESTS);
    this.#duration = registry.histogram(DURATION);
    this.#inFlight = registry.gauge(IN_FLIGHT);
    this.#webSockets = registry.counter(WEB_SOCKETS);
  }

  /** A request begins; the returned function is called at its end. */
  begin(method: string, path: string, serverType: ServerType): () => void {
    const labels = labelsOf(method, path, serverType);
    const beganMs = this.#clock.monotonic();
    this.#requests.increment(labels);
    this.#inFlight.add(1, labels);
    return () => {
      this.#inFlight.add(-1, labels);
      this.#duration.observe((this.#clock.monotonic() - beganMs) / 1000, labels);
    };
  }

  /** A WebSocket was opened for exec, attach or port-forward. */
  onWebSocket(subresource: 'exec' | 'attach' | 'portforward'): void {
    this.#webSockets.increment({ subresource });
  }
}

function labelsOf(method: string, path: string, serverType: ServerType): Readonly<Record<Label, string>> {
  const [, first = '', second] = path.split('/');
  const root = first === 'metrics' && second !== undefined ? `${first}/${second}` : first;
  const bucket = PATHS.has(root) ? root : 'other';
  return {
    long_running: String(LONG_RUNNING.has(bucket)),
    method: METHODS.has(method) ? method : 'other',
    path: bucket,
    server_type: serverType,
  };
}
