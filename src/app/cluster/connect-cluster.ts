import type { ApiReviews } from '../../kubelet/api-client/api-reviews.ts';
import type { ApiServer } from '../../kubelet/api-client/api-server.ts';
import { boundApiServer } from '../../kubelet/api-client/api-timeouts.ts';
import { createApiSource } from '../../kubelet/sources/api-source.ts';
import type { PodSource } from '../../kubelet/sources/pod-source.ts';
import type { ClientOptions } from './api-server-client.ts';
import { type CertificateHost, type ClientCertificateSettings, connectAsNode } from './cluster-certificates.ts';

/** A cluster as one of its nodes sees it. */
export interface NodeCluster {
  readonly apiServer: ApiServer;
  /** The same, for events: they come at a rate of their own. */
  readonly eventApiServer: ApiServer;
  /** The same, for the signs of life: they come at long intervals and wait for nothing. */
  readonly nodeApiServer: ApiServer;
  /** The same, for who asks the node for something. */
  readonly reviews: ApiReviews;
  /** The pods that are bound to the node. */
  readonly source: PodSource;
  /** Keeps the node's certificate good until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Asks for nothing but a first certificate, where the node has none. Rejects with a `KubeconfigError`. */
export async function connectCluster(
  settings: ClientCertificateSettings,
  options: ClientOptions,
  host: CertificateHost,
  signal: AbortSignal,
): Promise<NodeCluster> {
  const { apiServer, run, close } = await connectAsNode(settings, options, host, signal);
  const source = createApiSource(settings, { ...host, api: boundApiServer(apiServer, host) });
  const unlimited = apiServer.atRate({ qps: 0, burst: 0 });
  const servers = { apiServer, eventApiServer: unlimited, nodeApiServer: unlimited, reviews: apiServer };
  return { ...servers, source, run, close };
}
