import { errorText } from '../base/error-text.ts';
import { runAllOrAbort } from '../base/run-all-or-abort.ts';
import { supervise } from '../base/supervise.ts';
import type { Host } from '../host/host.ts';
import type { NodeCache } from '../kubelet/node/node-cache.ts';
import { openServingCertificate, servingCertificateSettings } from './cluster/cluster-certificates.ts';
import type { NodeCluster } from './cluster/connect-cluster.ts';
import type { KubeletSettings } from './config/load-config.ts';
import { StartupError } from './embedded/startup-error.ts';
import { createKubeletServer, type KubeletServerParts, kubeletServerSettings } from './kubelet-server.ts';

export interface NodeApiParts
  extends Pick<
    KubeletServerParts,
    | 'log'
    | 'unhandled'
    | 'metrics'
    | 'view'
    | 'runtime'
    | 'stats'
    | 'syncLoopUnhealthyReason'
    | 'devicePluginUnhealthyReason'
    | 'process'
  > {
  readonly host: Host;
  /** Authenticates and authorizes clients, and signs the serving certificate; `undefined` for a standalone node. */
  readonly cluster: Pick<NodeCluster, 'apiServer' | 'reviews'> | undefined;
  readonly ownNode: NodeCache;
}

/**
 * Serves kubelet's API on :10250 until the signal aborts. Rejects with a `StartupError` when it cannot listen at first; a
 * later failure restarts it.
 */
export async function serveNodeApi(settings: KubeletSettings, parts: NodeApiParts, signal: AbortSignal): Promise<void> {
  const { enableServer, address, port, readOnlyPort = 0 } = settings.config;
  if (!enableServer && readOnlyPort === 0) return;
  let hasListened = false;
  const onListening = (): void => {
    hasListened = true;
  };
  const run = async (each: AbortSignal): Promise<void> => {
    try {
      await serveOnce(settings, parts, onListening, each);
    } catch (error) {
      if (hasListened || each.aborted) throw error;
      const listenAddress = `${address.includes(':') ? `[${address}]` : address}:${enableServer ? port : readOnlyPort}`;
      const message = `cannot serve the API of the node on ${listenAddress}: ${errorText(error)}`;
      throw new StartupError(message, { cause: error });
    }
  };
  const isFatal = (error: unknown): boolean => error instanceof StartupError;
  const { unhandled, host } = parts;
  await supervise({ name: 'kubelet API', run, isEndless: true, isFatal }, { clock: host.clock, unhandled }, signal);
}

async function serveOnce(
  settings: KubeletSettings,
  parts: NodeApiParts,
  onListening: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { host, log, cluster, ownNode, ...agent } = parts;
  const { fs, network, processes, clock, random, signingKeys } = host;
  const addresses = {
    current: () => ownNode.current?.status?.addresses ?? [],
    subscribe: (listener: () => void) => ownNode.subscribe(listener),
  };
  const certificate = settings.config.enableServer
    ? await openServingCertificate(servingCertificateSettings(settings), {
        fs,
        network,
        processes,
        clock,
        random,
        signingKeys,
        log,
        api: cluster?.apiServer,
        addresses,
      })
    : undefined;
  const server = createKubeletServer({
    ...agent,
    host,
    log,
    certificate,
    reviews: cluster?.reviews,
    settings: kubeletServerSettings(settings),
    onListening,
  });
  await runAllOrAbort([(each) => server.run(each), async (each) => certificate?.run(each)], signal);
}
