import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import { ProxyError, proxyForUrl } from '../../base/proxy-for.ts';
import type { RateLimit } from '../../base/token-bucket.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Host } from '../../host/host.ts';
import type { ClientConfig, Pem } from '../../kubelet/api-client/client-config.ts';
import { createCredentials } from '../../kubelet/api-client/credentials.ts';
import { createHttpApiServer, type HttpApiServer } from '../../kubelet/api-client/http-api-server.ts';
import { parseKubeconfig } from './kubeconfig.ts';
import { KubeconfigError } from './kubeconfig-document.ts';

export interface ClientOptions {
  /** `nodelet/0.7.0 (linux/amd64) kubernetes/v1.36.4` */
  readonly userAgent: string;
  readonly rate: RateLimit;
  /** The environment of exec plugins. Its proxy is used if the kubeconfig has none. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export type ClientHost = Pick<Host, 'fs' | 'network' | 'processes' | 'clock' | 'random'>;

/** Creates a client of the kubeconfig's API server without sending a request. Rejects with a `KubeconfigError`. */
export async function connectApiServer(
  kubeconfig: string,
  options: ClientOptions,
  { log, ...host }: ClientHost & { readonly log: Log },
): Promise<HttpApiServer> {
  const config = await loadClientConfig(kubeconfig, options.environment, host.fs);
  const credentials = createCredentials(config, { ...host, log, environment: options.environment });
  return createHttpApiServer(config, { ...host, ...options, credentials });
}

/** Reads a kubeconfig and adds the proxy of the environment if it has none. Rejects with a `KubeconfigError`. */
export async function loadClientConfig(
  kubeconfig: string,
  environment: ClientOptions['environment'],
  fs: FileSystem,
): Promise<ClientConfig> {
  const { cluster, user } = await readKubeconfig(kubeconfig, fs);
  const proxy = cluster.proxy ?? proxyOf(cluster.server, environment, kubeconfig);
  return { cluster: { ...cluster, ...(proxy !== undefined && { proxy }) }, user };
}

function proxyOf(server: string, environment: ClientOptions['environment'], kubeconfig: string): string | undefined {
  try {
    return proxyForUrl(new URL(server), environment);
  } catch (error) {
    throw error instanceof ProxyError ? new KubeconfigError(kubeconfig, error.message, { cause: error }) : error;
  }
}

/** Reads a kubeconfig and checks that the files it refers to are readable. */
export async function readKubeconfig(path: string, fs: FileSystem): Promise<ClientConfig> {
  const content = await fs.readText(path).catch((error: unknown) => {
    throw new KubeconfigError(path, `cannot be read: ${errorText(error)}`, { cause: error });
  });
  const config = parseKubeconfig(content, path);
  const { cluster, user } = config;
  const files: readonly (readonly [field: string, pem: Pem | undefined])[] = [
    ['certificate-authority', cluster.authority],
    ['client-cert', user.certificate?.certificate],
    ['client-key', user.certificate?.key],
  ];
  for (const [field, pem] of files) {
    if (pem === undefined || !('file' in pem)) continue;
    await fs.readText(pem.file).catch((error: unknown) => {
      throw new KubeconfigError(path, `unable to read ${field} ${pem.file}: ${errorText(error)}`, { cause: error });
    });
  }
  return config;
}
