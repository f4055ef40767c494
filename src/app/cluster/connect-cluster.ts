import type { ApiReviews } from '../../kubelet/api-client/api-reviews.ts';
import type { ApiServer } from '../../kubelet/api-client/api-server.ts';
import { withApiTimeouts } from '../../kubelet/api-client/api-timeouts.ts';
import { createApiSource } from '../../kubelet/sources/api-source.ts';
import type { PodSource } from '../../kubelet/sources/pod-source.ts';
import type { ClientOptions } from './api-server-client.ts';
import { type CertificateHost, type ClientCertificateSettings, connectAsNode } from './cluster-certificates.ts';

/** The connections of a node to its cluster. */
export interface NodeCluster {
  readonly apiServer: ApiServer;
  /** The same server for events, which have their own rate limit. */
  readonly eventApiServer: ApiServer;
  /** The same server for node status and lease, without a rate limit. */
  readonly nodeApiServer: ApiServer;
  /** Reviews the clients of the node's server. */
  readonly reviews: ApiReviews;
  /** The pods that are bound to this node. */
  readonly source: PodSource;
  /** Rotates the client certificate until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Connects to the cluster; requests the first certificate if the node has none. Rejects with a `KubeconfigError`. */
export async function connectCluster(
  settings: ClientCertificateSettings,
  options: ClientOptions,
  host: CertificateHost,
  signal: AbortSignal,
): Promise<NodeCluster> {
  const { apiServer, run, close } = await connectAsNode(settings, options, host, signal);
  const { clock, random, log } = host;
  const source = createApiSource(settings, { api: withApiTimeouts(apiServer, { clock, random }), clock, random, log });
  const unlimited = apiServer.atRate({ qps: 0, burst: 0 });
  return {
    apiServer,
    eventApiServer: unlimited,
    nodeApiServer: unlimited,
    reviews: apiServer,
    source,
    run,
    close,
  };
}
