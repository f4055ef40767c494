import type { AgentParts, AgentSettings } from './agent.ts';
import { buildAgent } from './build-agent.ts';
import type { Log } from '../base/log.ts';
import { chooseRuntimeEvents } from '../cri/choose-runtime-events.ts';
import { type ConnectOptions, type CriConnection, connectCri } from '../cri/client.ts';
import type { Cri } from '../cri/services.ts';
import { unstickContainers } from '../cri/unstick-containers.ts';
import type { Host } from '../host/host.ts';
import type { ApiServer } from '../kubelet/api-client/api-server.ts';
import type { NodeSettings } from '../kubelet/node/node-settings.ts';
import type { PodSource } from '../kubelet/sources/pod-source.ts';
import type { BuiltAgent } from './start-local-agent.ts';

/** A runtime behind a socket, or in this process. */
export interface RuntimeConnection extends CriConnection {
  /** `unix://…`; absent for a runtime in this process. */
  readonly endpoint?: string;
}

export function connectEndpoint(endpoint: string, options: ConnectOptions): RuntimeConnection {
  const connection = connectCri(endpoint, options);
  return { ...connection, runtime: unstickContainers(connection.runtime, { endpoint, ...options }), endpoint };
}

export interface ConnectedAgentOptions {
  readonly host: Host;
  /** Closed with the agent. */
  readonly connection: RuntimeConnection;
  readonly sources: readonly PodSource[];
  /** The cluster that the node belongs to; absent: it stands alone. */
  readonly cluster?: Pick<AgentParts, 'eventApiServer' | 'nodeApiServer'> & { readonly apiServer: ApiServer };
  /** As what the machine is a node; absent: as none. */
  readonly node?: NodeSettings;
  readonly ownNode?: AgentParts['ownNode'];
  readonly onNetworkChange?: AgentParts['onNetworkChange'];
  readonly settings: AgentSettings;
  readonly log: Log;
  /** What has to be true of the runtime before the agent begins. */
  prepare(cri: Cri): Promise<unknown>;
}

/** An agent on a runtime. The connection is closed when that fails. */
export async function buildConnectedAgent(options: ConnectedAgentOptions, signal: AbortSignal): Promise<BuiltAgent> {
  const { host, connection: cri, sources, cluster, node, ownNode, onNetworkChange, settings, log } = options;
  try {
    await options.prepare(cri);
    const { endpoint, runtime } = cri;
    const runtimeEvents = await chooseRuntimeEvents({ ...host, endpoint, runtime }, signal);
    const ofNode = { ...cluster, ...(node && { node }), ownNode, onNetworkChange };
    const parts = { host, cri, runtimeEvents, sources, ...ofNode, settings, log };
    const agent = await buildAgent(parts, signal);
    return { agent, runtime, close: () => cri.close() };
  } catch (error) {
    cri.close();
    throw error;
  }
}
