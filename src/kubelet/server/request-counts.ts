import type { Counter, MetricRegistry } from '../../base/metrics/metric-registry.ts';

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
  'run',
  'runningpods',
  'stats',
  'statusz',
]);
const LONG_RUNNING: ReadonlySet<string> = new Set(['exec', 'attach', 'debug']);

/** Counts requests by method and path, served or not. Unknown methods and paths count as `other`. */
export class RequestCounts {
  readonly #requests: Counter;

  constructor(metrics: MetricRegistry) {
    const help = '[ALPHA] Number of the http requests received since the server started';
    this.#requests = metrics.counter('kubelet_http_requests_total', help);
  }

  add(method: string, path: string, serverType: 'readonly' | 'readwrite' = 'readwrite'): void {
    const [, first = '', second] = path.split('/');
    const root = first === 'metrics' && second !== undefined ? `${first}/${second}` : first;
    const bucket = PATHS.has(root) ? root : 'other';
    this.#requests.increment({
      long_running: String(LONG_RUNNING.has(bucket)),
      method: METHODS.has(method) ? method : 'other',
      path: bucket,
      server_type: serverType,
    });
  }
}
