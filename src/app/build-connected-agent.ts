import type { Log } from '../base/log.ts';
import { chooseRuntimeEvents } from '../cri/choose-runtime-events.ts';
import type { RuntimeService } from '../cri/services.ts';
import type { Host } from '../host/host.ts';
import type { ApiServer } from '../kubelet/api-client/api-server.ts';
import type { NodeSettings } from '../kubelet/node/node-settings.ts';
import type { PodSource } from '../kubelet/sources/pod-source.ts';
import type { Agent, AgentParts, AgentSettings } from './agent.ts';
import { buildAgent } from './build-agent.ts';
import type { RuntimeConnection } from './start-runtime.ts';

export interface ConnectedAgentOptions {
  readonly host: Host;
  /** Closed with the agent. */
  readonly connection: RuntimeConnection;
  readonly sources: readonly PodSource[];
  /** The cluster of the node; absent: the agent is standalone. */
  readonly cluster?: Pick<AgentParts, 'eventApiServer' | 'nodeApiServer'> & { readonly apiServer: ApiServer };
  /** The node object to maintain; absent: none. */
  readonly node?: NodeSettings;
  readonly ownNode?: AgentParts['ownNode'];
  readonly startEvents?: AgentParts['startEvents'];
  readonly onNetworkChange?: AgentParts['onNetworkChange'];
  readonly serveDeviceRegistration?: AgentParts['serveDeviceRegistration'];
  readonly servePodResources?: AgentParts['servePodResources'];
  readonly settings: AgentSettings;
  readonly log: Log;
  readonly unhandled?: AgentParts['unhandled'];
}

/** An agent that does not run yet, with its connection to the runtime. */
export interface BuiltAgent {
  readonly agent: Agent;
  readonly runtime: Pick<RuntimeService, 'exec'>;
  /** Serves beside the agent until the signal aborts. Rejects, which stops the agent, only when a server cannot start. */
  runServers?(signal: AbortSignal): Promise<unknown>;
  /** Closes the connection. */
  close(): void;
}

/** Builds an agent on a connection, which is closed if that fails. */
export async function buildConnectedAgent(options: ConnectedAgentOptions, signal: AbortSignal): Promise<BuiltAgent> {
  const { connection, cluster, node, ...parts } = options;
  const { host } = parts;
  const { endpoint, runtime } = connection;
  try {
    const { clock, random } = host;
    const runtimeEvents = await chooseRuntimeEvents({ clock, random, endpoint, runtime }, signal);
    const agent = await buildAgent(
      { ...parts, cri: connection, runtimeEvents, ...cluster, ...(node && { node }) },
      signal,
    );
    return { agent, runtime, close: () => connection.close() };
  } catch (error) {
    connection.close();
    throw error;
  }
}
