import { errorText } from '../base/error-text.ts';
import type { Log } from '../base/log.ts';
import type { FileSystem } from '../host/file-system.ts';
import type { HttpHandler, Network } from '../host/network.ts';
import { metricsResponse } from '../kubelet/server/metrics-response.ts';
import { processMetrics } from '../kubelet/server/process-metrics.ts';
import type { RuntimeMetrics } from '../runtime/metrics/runtime-metrics.ts';
import { StartupError } from './embedded/startup-error.ts';
import type { MetricsAddress } from './runtime-config/runtime-configuration.ts';

/** containerd's path, and the one that Prometheus asks for by default. */
const PATHS = ['/v1/metrics', '/metrics'];
const SOCKET_MODE = 0o660;

export interface ServeMetricsDeps {
  readonly network: Pick<Network, 'serve' | 'serveTcp'>;
  readonly fs: Pick<FileSystem, 'readText' | 'readDirectory'>;
  readonly log: Log;
}

/** Serves metrics of the runtime and of this process until it is disposed of. Rejects with a `StartupError`. */
export async function serveRuntimeMetrics(
  address: MetricsAddress,
  metrics: RuntimeMetrics,
  { network, fs, log }: ServeMetricsDeps,
): Promise<AsyncDisposable> {
  const handler = metricsHandler(metrics, fs);
  const server = await listen(address, handler, network);
  log.info('serving metrics', { address: shown(address) });
  const stop = metrics.observeCalls();
  return {
    async [Symbol.asyncDispose]() {
      stop();
      await server.close();
    },
  };
}

async function listen(
  address: MetricsAddress,
  handler: HttpHandler,
  network: ServeMetricsDeps['network'],
): Promise<{ close(): Promise<void> }> {
  try {
    if (!('socketPath' in address)) return await network.serveTcp(address, handler);
    return await network.serve({ socketPath: address.socketPath, mode: SOCKET_MODE }, handler);
  } catch (error) {
    const message = `--metrics-listen: cannot serve metrics on ${shown(address)}: ${errorText(error)}`;
    throw new StartupError(message, { cause: error });
  }
}

function metricsHandler(metrics: RuntimeMetrics, fs: ServeMetricsDeps['fs']): HttpHandler {
  return async ({ method, path }) => {
    if (!PATHS.includes(path)) return { status: 404, headers: {}, body: '404 page not found\n' };
    if (method !== 'GET' && method !== 'HEAD') return { status: 405, headers: { allow: 'GET, HEAD' }, body: '' };
    return metricsResponse([...(await metrics.collect()), ...(await processMetrics(fs))]);
  };
}

function shown(address: MetricsAddress): string {
  if ('socketPath' in address) return `unix://${address.socketPath}`;
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}
