import { errorText } from '../base/error-text.ts';
import type { Log } from '../base/log.ts';
import { runAllOrAbort } from '../base/run-all-or-abort.ts';
import type { Host } from '../host/host.ts';
import type { NodeCache } from '../kubelet/node/node-cache.ts';
import { openServingCertificate, servingCertificateSettings } from './cluster/cluster-certificates.ts';
import type { NodeCluster } from './cluster/connect-cluster.ts';
import type { KubeletSettings } from './config/load-config.ts';
import { StartupError } from './embedded/startup-error.ts';
import { createKubeletServer, type KubeletServerParts, kubeletServerSettings } from './kubelet-server.ts';

export interface NodeApiParts extends Pick<KubeletServerParts, 'view' | 'runtime' | 'syncLoopUnhealthyReason'> {
  readonly host: Host;
  readonly log: Log;
  /** Authenticates and authorizes clients, and signs the serving certificate; `undefined` for a standalone node. */
  readonly cluster: Pick<NodeCluster, 'apiServer' | 'reviews'> | undefined;
  readonly ownNode: NodeCache;
}

/** Serves kubelet's API on :10250 until the signal aborts. Rejects with a `StartupError` when it cannot listen. */
export async function serveNodeApi(settings: KubeletSettings, parts: NodeApiParts, signal: AbortSignal): Promise<void> {
  const { enableServer, address, port } = settings.config;
  if (!enableServer) return;
  const { host, log, view, runtime, syncLoopUnhealthyReason, cluster, ownNode } = parts;
  const { fs, network, processes, clock, random, signingKeys } = host;
  const addresses = {
    current: () => ownNode.current?.status?.addresses ?? [],
    subscribe: (listener: () => void) => ownNode.subscribe(listener),
  };
  let isListening = false;
  try {
    const certificate = await openServingCertificate(servingCertificateSettings(settings), {
      fs,
      network,
      processes,
      clock,
      random,
      signingKeys,
      log,
      api: cluster?.apiServer,
      addresses,
    });
    const server = createKubeletServer({
      host,
      log,
      view,
      runtime,
      syncLoopUnhealthyReason,
      certificate,
      reviews: cluster?.reviews,
      settings: kubeletServerSettings(settings),
      onListening: () => {
        isListening = true;
      },
    });
    await runAllOrAbort([(each) => server.run(each), (each) => certificate.run(each)], signal);
  } catch (error) {
    if (isListening || signal.aborted) throw error;
    const listenAddress = `${address.includes(':') ? `[${address}]` : address}:${port}`;
    throw new StartupError(`cannot serve the API of the node on ${listenAddress}: ${errorText(error)}`, {
      cause: error,
    });
  }
}
