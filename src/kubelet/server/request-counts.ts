import type { Metric } from './metrics-text.ts';

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

/** How many requests have come, by what they were for, be it served or not. Names that clients make up are not kept apart. */
export class RequestCounts {
  readonly #counts = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>();

  add(method: string, path: string): void {
    const [, first = '', second] = path.split('/');
    const root = first === 'metrics' && second !== undefined ? `${first}/${second}` : first;
    const bucket = PATHS.has(root) ? root : 'other';
    const labels = {
      long_running: String(LONG_RUNNING.has(bucket)),
      method: METHODS.has(method) ? method : 'other',
      path: bucket,
      server_type: 'readwrite',
    };
    const key = `${labels.method} ${bucket}`;
    const count = this.#counts.get(key) ?? { labels, value: 0 };
    count.value++;
    this.#counts.set(key, count);
  }

  metric(): Metric {
    return {
      name: 'kubelet_http_requests_total',
      type: 'counter',
      help: '[ALPHA] Number of the http requests received since the server started',
      samples: [...this.#counts.values()].map(({ labels, value }) => ({ labels, value })),
    };
  }
}
