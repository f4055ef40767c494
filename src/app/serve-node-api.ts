import { openServingCertificate, servingCertificateSettings } from './cluster/cluster-certificates.ts';
import type { NodeCluster } from './cluster/connect-cluster.ts';
import type { KubeletSettings } from './config/load-config.ts';
import { createKubeletServer, type KubeletServerParts, kubeletServerSettings } from './kubelet-server.ts';
import type { Log } from '../base/log.ts';
import { errorText } from '../base/error-text.ts';
import { runAllOrAbort } from '../base/run-all-or-abort.ts';
import type { Host } from '../host/host.ts';
import type { OwnNode } from '../kubelet/node/own-node.ts';
import { CommandError } from '../cli/options/command-error.ts';

export interface NodeApiParts extends Pick<KubeletServerParts, 'view' | 'runtime' | 'syncLoopFault'> {
  readonly host: Host;
  readonly log: Log;
  /** Absent: nobody can say who may do what, or sign a certificate. */
  readonly cluster: Pick<NodeCluster, 'apiServer' | 'reviews'> | undefined;
  readonly ownNode: OwnNode;
}

/** Serves the API of the node until the signal aborts. Rejects with a `CommandError` when it cannot begin. */
export async function serveNodeApi(settings: KubeletSettings, parts: NodeApiParts, signal: AbortSignal): Promise<void> {
  const { enableServer, address, port } = settings.config;
  if (!enableServer) return;
  const { host, log, view, runtime, syncLoopUnhealthyReason: syncLoopFault, cluster, ownNode } = parts;
  const addresses = {
    current: () => ownNode.current?.status?.addresses ?? [],
    subscribe: (listener: () => void) => ownNode.subscribe(listener),
  };
  let isListening = false;
  try {
    const ofCertificate = { ...host, log, api: cluster?.apiServer, addresses };
    const certificate = await openServingCertificate(servingCertificateSettings(settings), ofCertificate);
    const server = createKubeletServer({
      ...{ host, log, view, runtime, syncLoopUnhealthyReason: syncLoopFault, certificate, reviews: cluster?.reviews },
      settings: kubeletServerSettings(settings),
      onListening: () => {
        isListening = true;
      },
    });
    await runAllOrAbort([(each) => server.run(each), (each) => certificate.run(each)], signal);
  } catch (error) {
    if (isListening || signal.aborted) throw error;
    const place = `${address.includes(':') ? `[${address}]` : address}:${port}`;
    throw new CommandError(`cannot serve the API of the node on ${place}: ${errorText(error)}`, undefined, {
      cause: error,
    });
  }
}
